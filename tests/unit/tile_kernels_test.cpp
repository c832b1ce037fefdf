// All operands hold small integers, and the diagonals of factors powers of two: then every sum,
// product and quotient is exact in float and double, in whatever order, and so must the results be.
#if VICINAL_HAVE_BLAS

#include "linalg/tile_kernels.hpp"

#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "linalg/openblas.hpp"
#include "linalg/tile_gemm.hpp"
#include "support/integer_matrix.hpp"

namespace vicinal::linalg {
namespace {

using testing::orders;
using testing::same;
using testing::shapes;
template <typename T>
using Matrix = testing::IntegerMatrix<T>;

template <typename T>
class TileKernels : public ::testing::Test {
 protected:
  TileKernels() { prepare_openblas(); }

  // Whoever can multiply here.
  static std::vector<Products> products() {
    if (fastest_products() == Products::openblas) return {Products::openblas};
    return {Products::own, Products::openblas};
  }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(TileKernels, Precisions);

TYPED_TEST(TileKernels, GemmIsExactForIntegersOfAllShapes) {
  for (const auto& [m, n, k] : shapes()) {
    const Matrix<TypeParam> a(m, k, m + k % 3);
    const Matrix<TypeParam> b(n, k, n + m % 5);
    Matrix<TypeParam> c(m, n, m + n % 4);
    const std::vector<TypeParam> before = c.content();
    for (int p = 0; p < k; ++p) {
      for (int j = 0; j < n; ++j) {
        for (int i = 0; i < m; ++i) c(i, j) -= a(i, p) * b(j, p);
      }
    }
    const std::vector<TypeParam> expected = c.content();
    for (const Products by : this->products()) {
      c.fill(before);
      gemm_transposed(a.block(), b.block(), c.block(), by);
      ASSERT_TRUE(same(c.content(), expected))
          << m << " x " << n << " x " << k << ", " << static_cast<int>(by);
    }
  }
}

TYPED_TEST(TileKernels, SyrkIsExactForIntegersAndLeavesTheUpperTriangle) {
  for (const int n : orders()) {
    const int k = 1 + n % 70;
    const Matrix<TypeParam> a(n, k, n + n % 5);
    Matrix<TypeParam> c(n, n, n + n % 3);
    const std::vector<TypeParam> before = c.content();
    for (int p = 0; p < k; ++p) {
      for (int j = 0; j < n; ++j) {
        for (int i = j; i < n; ++i) c(i, j) -= a(i, p) * a(j, p);
      }
    }
    const std::vector<TypeParam> expected = c.content();
    for (const Products by : this->products()) {
      c.fill(before);
      syrk_lower(a.block(), c.block(), by);
      ASSERT_TRUE(same(c.content(), expected)) << n << " x " << k << ", " << static_cast<int>(by);
    }
  }
}

TYPED_TEST(TileKernels, TrsmGivesBackTheIntegersThatWereMultiplied) {
  for (const int n : orders()) {
    for (const int m : {1, 7, 8, 9, 16, 23, 24, 25, 32, 33, 47, 48, 49, 64, 100}) {
      Matrix<TypeParam> l(n, n, n + n % 3);
      l.make_lower();
      Matrix<TypeParam> b(m, n, m + n % 4);
      const std::vector<TypeParam> x = b.content();
      for (int j = n - 1; j >= 0; --j) {  // B <- X L^T, in place
        for (int i = 0; i < m; ++i) {
          TypeParam sum = 0;
          for (int p = 0; p <= j; ++p) sum += b(i, p) * l(j, p);
          b(i, j) = sum;
        }
      }
      const std::vector<TypeParam> before = b.content();
      for (const Products by : this->products()) {
        b.fill(before);
        trsm_right_lower_transposed(l.block(), b.block(), by);
        ASSERT_TRUE(same(b.content(), x)) << m << " x " << n << ", " << static_cast<int>(by);
      }
    }
  }
}

// A <- L L^T, the lower triangle, in place.
template <typename T>
void square(const Matrix<T>& l) {
  const int n = l.block().columns;
  for (int j = n - 1; j >= 0; --j) {
    for (int i = n - 1; i >= j; --i) {
      T sum = 0;
      for (int p = 0; p <= j; ++p) sum += l(i, p) * l(j, p);
      l(i, j) = sum;
    }
  }
}

TYPED_TEST(TileKernels, PotrfGivesBackTheIntegersThatWereSquared) {
  for (const int n : orders()) {
    Matrix<TypeParam> a(n, n, n + n % 3);
    a.make_lower();
    const std::vector<TypeParam> l = a.content();
    square(a);
    const std::vector<TypeParam> before = a.content();
    for (const Products by : this->products()) {
      a.fill(before);
      EXPECT_EQ(potrf_lower(a.block(), by), 0);
      ASSERT_TRUE(same(a.content(), l)) << n << ", " << static_cast<int>(by);
    }
  }
}

TYPED_TEST(TileKernels, PotrfNamesTheFirstMinorThatIsNotPositive) {
  for (const int n : {1, 30, 100, 257}) {
    for (const int bad : {0, n / 3, n / 2, n - 1}) {
      Matrix<TypeParam> a(n, n, n);
      a.make_lower();
      square(a);
      a(bad, bad) = -1;
      const std::vector<TypeParam> before = a.content();
      for (const Products by : this->products()) {
        a.fill(before);
        EXPECT_EQ(potrf_lower(a.block(), by), bad + 1) << n << ", " << static_cast<int>(by);
      }
    }
  }
}

// The sequential OpenBLAS of Debian is not safe by itself: see openblas.cpp. Without the work
// buffers that prepare_openblas puts in, this fails in most runs.
TYPED_TEST(TileKernels, AreRightWhenManyThreadsCallThem) {
  constexpr int kThreads = 8;
  constexpr int kOrder = 96;
  Matrix<TypeParam> l(kOrder, kOrder, kOrder);
  l.make_lower();
  for (int j = 0; j < kOrder; ++j) {
    for (int i = j + 1; i < kOrder; ++i) l(i, j) /= 64;  // else what it solves for overflows
  }
  const Matrix<TypeParam> b(kOrder, kOrder, kOrder);
  for (const Products by : this->products()) {
    const auto product = [&](std::vector<TypeParam> c) {
      const Block<TypeParam> block{c.data(), kOrder, kOrder, kOrder};
      gemm_transposed(b.block(), b.block(), block, by);
      syrk_lower(b.block(), block, by);
      trsm_right_lower_transposed(l.block(), block, by);
      return c;
    };
    const std::vector<TypeParam> start = b.content();
    const std::vector<TypeParam> expected = product(start);
    const int repetitions = by == Products::openblas ? 500 : 50;
    std::vector<int> wrong(kThreads, 0);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < repetitions; ++i) wrong[t] += same(product(start), expected) ? 0 : 1;
      });
    }
    for (auto& thread : threads) thread.join();
    for (int t = 0; t < kThreads; ++t) EXPECT_EQ(wrong[t], 0) << t << ", " << static_cast<int>(by);
  }
}

TYPED_TEST(TileKernels, NothingTimesNothingIsNothing) {
  Matrix<TypeParam> c(3, 4, 5);
  const std::vector<TypeParam> before = c.content();
  for (const Products by : this->products()) {
    const Block<TypeParam> whole = c.block();
    gemm_transposed(whole.part(0, 0, 3, 0), whole.part(0, 0, 3, 0), whole.part(0, 0, 3, 3), by);
    gemm_transposed(whole.part(0, 0, 0, 2), whole.part(0, 0, 3, 2), whole.part(0, 0, 0, 3), by);
    gemm_transposed(whole.part(0, 0, 3, 2), whole.part(0, 0, 0, 2), whole.part(0, 0, 3, 0), by);
    EXPECT_TRUE(same(c.content(), before)) << static_cast<int>(by);
  }
}

TYPED_TEST(TileKernels, TileSolveRefusesMoreColumnsThanItHasRoomFor) {
  const Matrix<TypeParam> l(kMostSolved + 1, kMostSolved + 1, kMostSolved + 1);
  const Matrix<TypeParam> b(2, kMostSolved + 1, 2);
  EXPECT_THROW(tile_solve(l.block(), b.block()), std::logic_error);
}

}  // namespace
}  // namespace vicinal::linalg

#endif
