// Tile Cholesky factorisation, A = L L^T, right-looking, in place of the lower tiles of A.
//
//   linalg::TileGrid grid{.size = 20000, .tile = 1000, .precision = linalg::Precision::f64};
//   auto matrix = linalg::TiledMatrix::empty(runtime, grid, "A");
//   linalg::fill(runtime, matrix, linalg::Generator(grid.size, 1));
//   linalg::CholeskyCodelets codelets = linalg::cholesky_codelets<double>(grid.tile);
//   linalg::submit_cholesky(runtime, matrix, codelets, {});
//   runtime.wait();
#pragma once

#include <cstdint>

#include "linalg/kernel_operands.hpp"
#include "linalg/tiled_matrix.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

// The four tile kernels: sequential, see tile_kernels.hpp. Must outlive the tasks.
//   potrf  RW A_kk                    L_kk with L_kk L_kk^T = A_kk; zeroes above the diagonal
//   trsm   R L_kk, RW A_ik            A_ik L_kk^-T
//   syrk   R L_ik, RW A_ii            A_ii - L_ik L_ik^T, lower triangle
//   gemm   R L_ik, R L_jk, RW A_ij    A_ij - L_ik L_jk^T
// Each takes TaskIndex for its parameter: potrf(k), trsm(i,k), syrk(i,k), gemm(i,j,k). potrf throws TaskError, naming tile and row, if a pivot
// is not positive: then A was not positive definite.
struct CholeskyCodelets {
  Codelet potrf;
  Codelet trsm;
  Codelet syrk;
  Codelet gemm;
};

// Instantiated for float and double. `tile` is for the flops of a task: b^3 times 1/3, 1, 1, 2 (the
// smaller tiles at the edge are counted as whole ones).
template <typename T>
CholeskyCodelets cholesky_codelets(std::uint64_t tile);
CholeskyCodelets cholesky_codelets(const TileGrid& grid);

struct CholeskyOptions {
  bool priorities = true;  // bottom levels; false: 0 for all
  bool names = false;      // "gemm(3,1,0)": some 100 bytes more per task
};

// Submits the tasks in the order of graphs/cholesky_order.hpp; returns their number. Waits for nothing
// but a full submission window.
std::uint64_t submit_cholesky(Runtime& runtime, const TiledMatrix& matrix,
                              const CholeskyCodelets& codelets, const CholeskyOptions& options);

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
