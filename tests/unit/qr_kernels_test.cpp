// The kernels of QR by tiles against reflectors made and applied one by one, in double.
#if VICINAL_HAVE_BLAS

#include "linalg/qr_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "linalg/openblas.hpp"
#include "support/kernel_tile.hpp"

namespace vicinal::linalg {
namespace {

template <typename T>
using Tile = testing::KernelTile<T>;
using Columns = std::vector<std::vector<double>>;

// The columns of `above` over those of `below`; `triangles`: of which the elements below the diagonal are zeroes.
template <typename T>
Columns stacked(const Tile<T>& above, const Tile<T>& below, bool above_triangle,
                bool below_triangle) {
  Columns columns;
  for (int j = 0; j < above.columns(); ++j) {
    std::vector<double> column = above_triangle ? above.upper(j) : above.column(j);
    const std::vector<double> rest = below_triangle ? below.upper(j) : below.column(j);
    column.insert(column.end(), rest.begin(), rest.end());
    columns.push_back(column);
  }
  return columns;
}

template <typename T>
Columns columns_of(const Tile<T>& tile) {
  Columns columns;
  for (int j = 0; j < tile.columns(); ++j) columns.push_back(tile.column(j));
  return columns;
}

// (I - 2 v v^T / v^T v) x
void reflect_plainly(const std::vector<double>& v, std::vector<double>& x) {
  double product = 0;
  double square = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    product += v[i] * x[i];
    square += v[i] * v[i];
  }
  if (square == 0) return;
  for (std::size_t i = 0; i < v.size(); ++i) x[i] -= 2 * product / square * v[i];
}

// A <- R, C <- Q^T C, with the sign that LAPACK gives R: against that of the element it takes the place of.
void factor_plainly(Columns& a, std::size_t reflectors, Columns& c) {
  for (std::size_t k = 0; k < reflectors; ++k) {
    std::vector<double> v(a[k].size(), 0.0);
    double square = 0;
    for (std::size_t i = k; i < v.size(); ++i) {
      v[i] = a[k][i];
      square += v[i] * v[i];
    }
    const double below = square - v[k] * v[k];
    if (below == 0) continue;
    v[k] += std::copysign(std::sqrt(square), v[k]);
    for (std::size_t j = k; j < a.size(); ++j) reflect_plainly(v, a[j]);
    for (std::vector<double>& column : c) reflect_plainly(v, column);
  }
}

// Of elements of size 1 in columns of a few hundred.
template <typename T>
constexpr double kCloseForQr = 2e3 * std::numeric_limits<T>::epsilon();

// Rows from the one of `first` on.
template <typename T>
void expect_columns(const Tile<T>& found, const Columns& wanted, std::size_t first, bool upper) {
  for (int j = 0; j < found.columns(); ++j) {
    const int rows = upper ? std::min(j + 1, found.rows()) : found.rows();
    for (int i = 0; i < rows; ++i) {
      ASSERT_NEAR(static_cast<double>(found.at(i, j)),
                  wanted[std::size_t(j)][first + std::size_t(i)], kCloseForQr<T>)
          << i << ", " << j;
    }
  }
}

template <typename T>
class QrKernels : public ::testing::Test {
 protected:
  QrKernels() { prepare_openblas(); }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(QrKernels, Precisions);

TYPED_TEST(QrKernels, GeqrtAndOrmqrDoWhatTheReflectorsDoOneByOne) {
  for (const auto& [m, n, s, l] : std::vector<std::tuple<int, int, int, int>>{{1, 1, 1, 1},
                                                                              {2, 2, 2, 3},
                                                                              {8, 8, 1, 5},
                                                                              {9, 7, 4, 9},
                                                                              {7, 9, 4, 2},
                                                                              {33, 33, 8, 1},
                                                                              {64, 64, 32, 64},
                                                                              {100, 100, 32, 70},
                                                                              {130, 96, 96, 40}}) {
    SCOPED_TRACE(::testing::Message() << m << " x " << n << ", " << s << ", " << l);
    Tile<TypeParam> a(m, n, 1);
    Tile<TypeParam> c(m, l, 2);
    Tile<TypeParam> t(s, n, 3);  // what was there must not matter
    Columns r = columns_of(a);
    Columns of_c = columns_of(c);
    factor_plainly(r, std::size_t(std::min(m, n)), of_c);
    geqrt(a.block(), t.block());
    ormqr(a.block(), t.block(), c.block());
    expect_columns(a, r, 0, true);
    expect_columns(c, of_c, 0, false);
  }
}

TYPED_TEST(QrKernels, TpqrtAndTpmqrtDoWhatTheReflectorsDoOneByOne) {
  for (const Reflectors of : {Reflectors::of_square, Reflectors::of_two_triangles}) {
    const bool triangles = of == Reflectors::of_two_triangles;
    for (const auto& [m, b, s, l] : std::vector<std::tuple<int, int, int, int>>{{1, 1, 1, 1},
                                                                                {2, 2, 2, 3},
                                                                                {8, 8, 1, 5},
                                                                                {5, 9, 4, 9},
                                                                                {12, 9, 4, 2},
                                                                                {33, 33, 8, 33},
                                                                                {64, 64, 32, 10},
                                                                                {100, 100, 32, 70},
                                                                                {96, 96, 96, 40}}) {
      SCOPED_TRACE(::testing::Message() << m << " below " << b << ", " << s << ", " << l
                                        << (triangles ? " of two" : ""));
      Tile<TypeParam> r(b, b, 1);
      Tile<TypeParam> a(m, b, 2);
      Tile<TypeParam> t(s, b, 3);
      Tile<TypeParam> c(b, l, 4);
      Tile<TypeParam> d(m, l, 5);
      const Tile<TypeParam> r_before = r;
      const Tile<TypeParam> a_before = a;
      Columns of_r = stacked(r, a, true, triangles);
      Columns of_c = stacked(c, d, false, false);
      factor_plainly(of_r, std::size_t(b), of_c);
      tpqrt(of, r.block(), a.block(), t.block());
      tpmqrt(of, a.block(), t.block(), c.block(), d.block());
      expect_columns(r, of_r, 0, true);
      expect_columns(c, of_c, 0, false);
      expect_columns(d, of_c, std::size_t(b), false);
      // What belongs to others.
      for (int j = 0; j < b; ++j) {
        for (int i = j + 1; i < b; ++i) ASSERT_EQ(r.at(i, j), r_before.at(i, j));
        for (int i = j + 1; i < m && triangles; ++i) ASSERT_EQ(a.at(i, j), a_before.at(i, j));
      }
    }
  }
}

TYPED_TEST(QrKernels, VectorsGoThereAndBack) {
  constexpr int kTile = 45;
  constexpr int kPanel = 8;
  for (const Reflectors of :
       {Reflectors::of_tile, Reflectors::of_square, Reflectors::of_two_triangles}) {
    SCOPED_TRACE(static_cast<int>(of));
    Tile<TypeParam> r(kTile, kTile, 1);
    Tile<TypeParam> v(kTile, kTile, 2);
    Tile<TypeParam> t(kPanel, kTile);
    Tile<TypeParam> c(kTile, 1, 3);
    Tile<TypeParam> d(kTile, 1, 4);
    std::vector<double> above = c.column(0);
    std::vector<double> below = d.column(0);
    if (of == Reflectors::of_tile) {
      geqrt(v.block(), t.block());
      ormqr(v.block(), t.block(), c.block());
    } else {
      tpqrt(of, r.block(), v.block(), t.block());
      tpmqrt(of, v.block(), t.block(), c.block(), d.block());
    }
    const std::vector<double> above_before = above;
    const std::vector<double> below_before = below;
    reflect(of, Factor::q_transposed, v.block(), t.block(), above.data(), below.data());
    for (int i = 0; i < kTile; ++i) {
      ASSERT_NEAR(above[std::size_t(i)], c.at(i, 0), kCloseForQr<TypeParam>) << i;
      ASSERT_NEAR(below[std::size_t(i)], d.at(i, 0), kCloseForQr<TypeParam>) << i;
    }
    reflect(of, Factor::q, v.block(), t.block(), above.data(), below.data());
    for (std::size_t i = 0; i < kTile; ++i) {
      ASSERT_NEAR(above[i], above_before[i], kCloseForQr<TypeParam>) << i;
      ASSERT_NEAR(below[i], below_before[i], kCloseForQr<TypeParam>) << i;
    }
  }
}

TYPED_TEST(QrKernels, ColumnsOfZeroesLeaveZeroesAndNoNaN) {
  constexpr int kTile = 24;
  Tile<TypeParam> r(kTile, kTile);
  Tile<TypeParam> a(kTile, kTile);
  Tile<TypeParam> t(8, kTile, 1);
  geqrt(r.block(), t.block());
  for (Tile<TypeParam>* tile : {&r, &t}) {
    EXPECT_TRUE(std::ranges::all_of(tile->values(), [](TypeParam x) { return x == 0; }));
  }
  for (const Reflectors of : {Reflectors::of_square, Reflectors::of_two_triangles}) {
    tpqrt(of, r.block(), a.block(), t.block());
    for (Tile<TypeParam>* tile : {&r, &a, &t}) {
      EXPECT_TRUE(std::ranges::all_of(tile->values(), [](TypeParam x) { return x == 0; }));
    }
  }
}

// Whose squares are infinite, or 0. A power of two changes no digit of anything.
TYPED_TEST(QrKernels, ColumnsOfVeryLargeAndVerySmallElementsHaveTheirNorms) {
  constexpr int kTile = 24;
  const int exponent = std::numeric_limits<TypeParam>::max_exponent * 3 / 4;
  for (const int scale : {exponent, -exponent}) {
    SCOPED_TRACE(scale);
    Tile<TypeParam> plain(kTile, kTile, 1);
    Tile<TypeParam> a = plain;
    for (TypeParam& x : a.values()) x = std::scalbn(x, scale);
    Tile<TypeParam> t(8, kTile);
    geqrt(plain.block(), t.block());
    geqrt(a.block(), t.block());
    for (int j = 0; j < kTile; ++j) {
      for (int i = 0; i <= j; ++i) {
        ASSERT_NEAR(std::scalbn(a.at(i, j), -scale), plain.at(i, j), kCloseForQr<TypeParam>) << i;
      }
    }
  }
}

}  // namespace
}  // namespace vicinal::linalg

#endif
