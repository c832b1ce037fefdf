// Exact, as in tile_kernels_test.cpp; whole factorisations against rounding errors.
#if VICINAL_HAVE_BLAS

#include "linalg/lu_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "linalg/generator.hpp"
#include "linalg/openblas.hpp"
#include "linalg/tile_grid.hpp"
#include "support/integer_matrix.hpp"

extern "C" {
void sgetrf_(const int* m, const int* n, float* a, const int* lda, int* pivots, int* info);
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
}

namespace vicinal::linalg {
namespace {

using testing::orders;
using testing::same;
using testing::shapes;
template <typename T>
using Matrix = testing::IntegerMatrix<T>;

template <typename T>
class LuKernels : public ::testing::Test {
 protected:
  LuKernels() { prepare_openblas(); }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LuKernels, Precisions);

// C <- beta C + alpha A B
template <typename T>
void multiply(T alpha, const Matrix<T>& a, const Matrix<T>& b, T beta, const Matrix<T>& c) {
  for (int j = 0; j < c.block().columns; ++j) {
    for (int i = 0; i < c.block().rows; ++i) {
      T sum = 0;
      for (int p = 0; p < a.block().columns; ++p) sum += a(i, p) * b(p, j);
      c(i, j) = beta * c(i, j) + alpha * sum;
    }
  }
}

TYPED_TEST(LuKernels, GemmIsExactForIntegersOfAllShapes) {
  for (const auto& [m, n, k] : shapes()) {
    const Matrix<TypeParam> a(m, k, m + k % 3);
    const Matrix<TypeParam> b(k, n, k + m % 5);
    Matrix<TypeParam> c(m, n, m + n % 4);
    const std::vector<TypeParam> before = c.content();
    for (const TypeParam sign : {TypeParam{1}, TypeParam{-1}}) {
      c.fill(before);
      multiply(sign, a, b, TypeParam{1}, c);
      const std::vector<TypeParam> expected = c.content();
      c.fill(before);
      gemm(sign, a.block(), b.block(), TypeParam{1}, c.block());
      ASSERT_TRUE(same(c.content(), expected)) << m << " x " << n << " x " << k << ", " << sign;
    }
  }
}

TYPED_TEST(LuKernels, GemmThatOverwritesReadsNothing) {
  for (const auto& [m, n, k] :
       {testing::Shape{1, 1, 1}, {17, 5, 40}, {64, 64, 64}, {300, 90, 129}}) {
    const Matrix<TypeParam> a(m, k, m);
    const Matrix<TypeParam> b(k, n, k);
    Matrix<TypeParam> c(m, n, m);
    multiply(TypeParam{1}, a, b, TypeParam{0}, c);
    const std::vector<TypeParam> expected = c.content();
    c.fill(std::vector<TypeParam>(expected.size(), std::numeric_limits<TypeParam>::quiet_NaN()));
    gemm(TypeParam{1}, a.block(), b.block(), TypeParam{0}, c.block());
    ASSERT_TRUE(same(c.content(), expected)) << m << " x " << n << " x " << k;
  }
}

// What a kernel must not read: the other triangle, and the diagonal if that stands for ones.
template <typename T>
void poison(const Matrix<T>& a, bool upper, bool diagonal) {
  for (int j = 0; j < a.block().columns; ++j) {
    for (int i = 0; i < a.block().rows; ++i) {
      const bool unread = upper ? i < j : i > j;
      if (unread || (diagonal && i == j)) a(i, j) = std::numeric_limits<T>::quiet_NaN();
    }
  }
}

TYPED_TEST(LuKernels, TrsmFromTheLeftGivesBackTheIntegersThatWereMultiplied) {
  for (const int m : orders()) {
    for (const int n : {1, 7, 8, 33, 100}) {
      const Matrix<TypeParam> l(m, m, m + m % 3);
      poison(l, true, true);
      const Matrix<TypeParam> b(m, n, m + n % 4);
      const std::vector<TypeParam> x = b.content();
      for (int j = 0; j < n; ++j) {  // B <- L X, in place
        for (int i = m - 1; i >= 0; --i) {
          for (int p = 0; p < i; ++p) b(i, j) += l(i, p) * b(p, j);
        }
      }
      trsm_left_lower_unit(l.block(), b.block());
      ASSERT_TRUE(same(b.content(), x)) << m << " x " << n;
    }
  }
}

TYPED_TEST(LuKernels, TrsmFromTheRightGivesBackTheIntegersThatWereMultiplied) {
  for (const int n : orders()) {
    for (const int m : {1, 7, 8, 33, 100}) {
      Matrix<TypeParam> u(n, n, n + n % 3);
      u.make_diagonal();
      poison(u, false, false);
      const Matrix<TypeParam> b(m, n, m + n % 4);
      const std::vector<TypeParam> x = b.content();
      for (int j = n - 1; j >= 0; --j) {  // B <- X U, in place
        for (int i = 0; i < m; ++i) {
          TypeParam sum = 0;
          for (int p = 0; p <= j; ++p) sum += b(i, p) * u(p, j);
          b(i, j) = sum;
        }
      }
      trsm_right_upper(u.block(), b.block());
      ASSERT_TRUE(same(b.content(), x)) << m << " x " << n;
    }
  }
}

// A <- L U, in place.
template <typename T>
void multiply_factors(const Matrix<T>& a) {
  const int n = a.block().columns;
  for (int j = n - 1; j >= 0; --j) {
    for (int i = n - 1; i >= 0; --i) {
      T sum = i <= j ? a(i, j) : 0;  // of l_ii u_ij, l_ii being 1
      for (int p = 0; p < i && p <= j; ++p) sum += a(i, p) * a(p, j);
      a(i, j) = sum;
    }
  }
}

TYPED_TEST(LuKernels, GetrfGivesBackTheIntegersThatWereMultiplied) {
  for (const int n : orders()) {
    Matrix<TypeParam> a(n, n, n + n % 3);
    a.make_diagonal();
    const std::vector<TypeParam> factors = a.content();
    multiply_factors(a);
    EXPECT_EQ(getrf_without_pivoting(a.block()), 0);
    ASSERT_TRUE(same(a.content(), factors)) << n;
  }
}

TYPED_TEST(LuKernels, GetrfNamesTheFirstSingularMinor) {
  for (const int n : {1, 30, 100, 257}) {
    for (const int bad : {0, n / 3, n / 2, n - 1}) {
      for (const double pivot : {0.0, std::nan("")}) {
        Matrix<TypeParam> a(n, n, n);
        a.make_diagonal();
        a(bad, bad) = static_cast<TypeParam>(pivot);
        if (pivot == 0)
          multiply_factors(a);  // a NaN would be in all that follows, and is as it stands
        else if (bad > 0)
          continue;
        EXPECT_EQ(getrf_without_pivoting(a.block()), bad + 1) << n << ", " << pivot;
      }
    }
  }
}

int lapack_getrf(int n, float* a, int* pivots) {
  int info = 0;
  sgetrf_(&n, &n, a, &n, pivots, &info);
  return info;
}
int lapack_getrf(int n, double* a, int* pivots) {
  int info = 0;
  dgetrf_(&n, &n, a, &n, pivots, &info);
  return info;
}

TYPED_TEST(LuKernels, GetrfGivesTheFactorsOfLapackWhereThatNeedNotPivot) {
  for (const int n : {1, 9, 64, 200}) {
    const Generator generator = Generator::dominant(static_cast<std::uint64_t>(n), 3);
    std::vector<TypeParam> a;
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) a.push_back(static_cast<TypeParam>(generator.element(i, j)));
    }
    std::vector<TypeParam> expected = a;
    std::vector<int> pivots(n);
    ASSERT_EQ(lapack_getrf(n, expected.data(), pivots.data()), 0);
    for (int i = 0; i < n; ++i) ASSERT_EQ(pivots[i], i + 1) << "a row was exchanged";
    ASSERT_EQ(getrf_without_pivoting(Block<TypeParam>{a.data(), n, n, n}), 0);
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(a[i]) - expected[i]));
    }
    // Both differ from the exact ones by rounding: elements are of size 3 or less, the condition number is
    // below 3, at most 200 products are summed. 50 u leaves room.
    EXPECT_LE(largest, 50 * roundoff(kPrecisionOf<TypeParam>)) << n;
  }
}

TEST(Generator, DominantIsNotSymmetricAndRandomHasNoDiagonal) {
  const Generator dominant = Generator::dominant(1000, 42);
  EXPECT_NE(dominant.element(3, 900), dominant.element(900, 3));
  EXPECT_NEAR(dominant.element(5, 5), 3, 1 / std::sqrt(1000.0));
  const Generator random = Generator::random(0.5, 42);
  EXPECT_LE(std::abs(random.element(5, 5)), 0.5);
  EXPECT_NE(random.element(3, 900), random.element(900, 3));
  EXPECT_EQ(Generator::random(0, 42).element(3, 900), 0);
}

}  // namespace
}  // namespace vicinal::linalg

#endif
