// What is known of the tile Cholesky factorisation, right-looking, in place of the lower tiles of A;
// application.hpp describes it.
#pragma once

#include <cstdint>

namespace vicinal::linalg {

// n + n(n-1)/2 + n(n-1)/2 + n(n-1)(n-2)/6 tasks for n x n tiles.
constexpr std::uint64_t cholesky_tasks(std::uint64_t n) {
  return n + n * (n - 1) + (n < 2 ? 0 : n * (n - 1) * (n - 2) / 6);
}

// N^3/3 + N^2/2 + N/6, as LAPACK counts.
constexpr double cholesky_flops(std::uint64_t size) {
  const auto n = static_cast<double>(size);
  return n * n * n / 3 + n * n / 2 + n / 6;
}

// Bottom level of each task: the flops of the longest path from it to the end, itself included, in
// units of b^3/3 (potrf 1, trsm 3, syrk 3, gemm 6), for n x n tiles of b x b elements, m = n - 1.
// The longest path goes from column to column through gemm and trsm, 9 units each, into the last
// row, and ends with trsm(m,m-1), syrk(m,m-1), potrf(m), 7 units. From the recursion over the
// successors (checked in the tests), for i > j > k:
//   trsm(i,k)   = 9 (m - k) - 2, the same for all i
//   potrf(k)    = 1 + trsm(.,k), and potrf(m) = 1
//   syrk(i,k)   = 3 (i - k) + potrf(i)        the syrks of A_ii follow each other
//   gemm(i,j,k) = 6 (j - k) + trsm(i,j)       the gemms of A_ij follow each other
struct BottomLevels {
  std::int64_t n = 0;
  constexpr int trsm(std::int64_t k) const { return static_cast<int>(9 * (n - 1 - k) - 2); }
  constexpr int potrf(std::int64_t k) const { return k == n - 1 ? 1 : 1 + trsm(k); }
  constexpr int syrk(std::int64_t i, std::int64_t k) const {
    return static_cast<int>(3 * (i - k)) + potrf(i);
  }
  constexpr int gemm(std::int64_t j, std::int64_t k) const {
    return static_cast<int>(6 * (j - k)) + trsm(j);
  }
};

}  // namespace vicinal::linalg
