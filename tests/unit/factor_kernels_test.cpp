// Solves with triangular factors, and factorisations of tiles: exact for integers, see integer_matrix.hpp;
// one against LAPACK.
#if VICINAL_HAVE_BLAS

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "linalg/generator.hpp"
#include "linalg/tile_grid.hpp"
#include "linalg/tile_kernels.hpp"
#include "support/lapack.hpp"
#include "support/tile_kernels.hpp"

namespace vicinal::linalg {
namespace {

using testing::orders;

template <typename T>
using Matrix = testing::IntegerMatrix<T>;

template <typename T>
class FactorKernels : public testing::TileKernelsFixture<T> {
 protected:
  using Factorise = int (*)(const Block<T>&, Products);

  // Factors that `make` makes come back from their product, which multiply(a) puts in their place.
  static void expect_factors_back(Factorise factorise, void (Matrix<T>::*make)(),
                                  void (*multiply)(const Matrix<T>&)) {
    for (const int n : orders()) {
      Matrix<T> a(n, n, n + n % 3);
      (a.*make)();
      const std::vector<T> factors = a.content();
      multiply(a);
      FactorKernels::expect_content(a, factors, std::to_string(n),
                                    [&](Products by) { EXPECT_EQ(factorise(a.block(), by), 0); });
    }
  }
  // The first minor that has no factors is that of order `minor`.
  static void expect_stop(Factorise factorise, Matrix<T>& a, int minor) {
    const std::vector<T> before = a.content();
    for (const Products by : FactorKernels::products()) {
      a.fill(before);
      EXPECT_EQ(factorise(a.block(), by), minor)
          << a.block().columns << ", " << static_cast<int>(by);
    }
  }
};
TYPED_TEST_SUITE(FactorKernels, testing::Precisions);

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

TYPED_TEST(FactorKernels, TrsmWithATransposedFactorGivesBackTheIntegersThatWereMultiplied) {
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
      this->expect_content(b, x, std::to_string(m) + " x " + std::to_string(n), [&](Products by) {
        trsm_right_lower_transposed(l.block(), b.block(), by);
      });
    }
  }
}

TYPED_TEST(FactorKernels, TrsmFromTheRightGivesBackTheIntegersThatWereMultiplied) {
  for (const int n : orders()) {
    for (const int m : {1, 7, 8, 9, 16, 23, 24, 25, 32, 33, 47, 48, 49, 64, 100}) {
      Matrix<TypeParam> u(n, n, n + n % 3);
      u.make_diagonal();
      poison(u, false, false);
      Matrix<TypeParam> b(m, n, m + n % 4);
      const std::vector<TypeParam> x = b.content();
      for (int j = n - 1; j >= 0; --j) {  // B <- X U, in place
        for (int i = 0; i < m; ++i) {
          TypeParam sum = 0;
          for (int p = 0; p <= j; ++p) sum += b(i, p) * u(p, j);
          b(i, j) = sum;
        }
      }
      this->expect_content(b, x, std::to_string(m) + " x " + std::to_string(n),
                           [&](Products by) { trsm_right_upper(u.block(), b.block(), by); });
    }
  }
}

TYPED_TEST(FactorKernels, TrsmFromTheLeftGivesBackTheIntegersThatWereMultiplied) {
  for (const int m : orders()) {
    for (const int n : {1, 7, 8, 33, 100}) {
      const Matrix<TypeParam> l(m, m, m + m % 3);
      poison(l, true, true);
      Matrix<TypeParam> b(m, n, m + n % 4);
      const std::vector<TypeParam> x = b.content();
      for (int j = 0; j < n; ++j) {  // B <- L X, in place
        for (int i = m - 1; i >= 0; --i) {
          for (int p = 0; p < i; ++p) b(i, j) += l(i, p) * b(p, j);
        }
      }
      this->expect_content(b, x, std::to_string(m) + " x " + std::to_string(n),
                           [&](Products by) { trsm_left_lower_unit(l.block(), b.block(), by); });
    }
  }
}

// Orders, and where in a matrix of that order the first pivot is that cannot be.
template <typename Test>
void for_each_bad(const Test& test) {
  for (const int n : {1, 30, 100, 257}) {
    for (const int bad : {0, n / 3, n / 2, n - 1}) test(n, bad);
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

TYPED_TEST(FactorKernels, PotrfGivesBackTheIntegersThatWereSquared) {
  this->expect_factors_back(potrf_lower<TypeParam>, &Matrix<TypeParam>::make_lower,
                            square<TypeParam>);
}

TYPED_TEST(FactorKernels, PotrfNamesTheFirstMinorThatIsNotPositive) {
  for_each_bad([this](int n, int bad) {
    Matrix<TypeParam> a(n, n, n);
    a.make_lower();
    square(a);
    a(bad, bad) = -1;
    this->expect_stop(potrf_lower<TypeParam>, a, bad + 1);
  });
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

TYPED_TEST(FactorKernels, GetrfGivesBackTheIntegersThatWereMultiplied) {
  this->expect_factors_back(getrf_without_pivoting<TypeParam>, &Matrix<TypeParam>::make_diagonal,
                            multiply_factors<TypeParam>);
}

TYPED_TEST(FactorKernels, GetrfNamesTheFirstSingularMinor) {
  for_each_bad([this](int n, int bad) {
    for (const double pivot : {0.0, std::nan("")}) {
      SCOPED_TRACE(pivot);
      Matrix<TypeParam> a(n, n, n);
      a.make_diagonal();
      a(bad, bad) = static_cast<TypeParam>(pivot);
      if (pivot == 0)
        multiply_factors(a);  // a NaN would be in all that follows, and is as it stands
      else if (bad > 0)
        continue;
      this->expect_stop(getrf_without_pivoting<TypeParam>, a, bad + 1);
    }
  });
}

TYPED_TEST(FactorKernels, GetrfGivesTheFactorsOfLapackWhereThatNeedNotPivot) {
  for (const int n : {1, 9, 64, 200}) {
    const auto order = static_cast<std::uint64_t>(n);
    auto a = testing::whole_matrix<TypeParam>(Generator::dominant(order, 3), order);
    std::vector<TypeParam> expected = a;
    std::vector<int> pivots(n);
    ASSERT_EQ(testing::lapack_getrf(n, expected.data(), pivots.data()), 0);
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

TYPED_TEST(FactorKernels, TileSolvesRefuseMoreColumnsThanTheyHaveRoomFor) {
  const Matrix<TypeParam> factor(kMostSolved + 1, kMostSolved + 1, kMostSolved + 1);
  const Matrix<TypeParam> b(2, kMostSolved + 1, 2);
  EXPECT_THROW(tile_solve_lower(factor.block(), b.block()), std::logic_error);
  EXPECT_THROW(tile_solve_upper(factor.block(), b.block()), std::logic_error);
}

}  // namespace
}  // namespace vicinal::linalg

#endif
