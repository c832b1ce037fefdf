// The kernels of LU with incremental pivoting: what they have done, undone, gives back what was there.
#if VICINAL_HAVE_BLAS

#include "linalg/pivoting_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "linalg/openblas.hpp"
#include "support/kernel_tile.hpp"

namespace vicinal::linalg {
namespace {

template <typename T>
using Tile = testing::KernelTile<T>;

// A few hundred roundings of elements that grow by less than 100.
template <typename T>
constexpr double kClose = 3e4 * std::numeric_limits<T>::epsilon();

void expect_close(const std::vector<double>& found, const std::vector<double>& wanted, double by,
                  const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], wanted[i], by) << what << ", row " << i;
  }
}

template <typename T>
void expect_at_most_one(const std::vector<T>& multipliers) {
  EXPECT_TRUE(std::ranges::all_of(multipliers, [](T l) { return std::abs(l) <= 1; }));
}

template <typename T>
class PivotingKernels : public ::testing::Test {
 protected:
  PivotingKernels() { prepare_openblas(); }
};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PivotingKernels, Precisions);

TYPED_TEST(PivotingKernels, GetrfAndGessmUndoneGiveBackTheTiles) {
  for (const int b : {1, 2, 7, 8, 9, 33, 64, 100}) {
    Tile<TypeParam> a(b, b, 1);
    Tile<TypeParam> c(b, b, 2);
    for (int j = 0; j < b; ++j) a.at(j, j) = 0;
    if (b == 1) a.at(0, 0) = 2;
    Tile<TypeParam> a_before = a;
    Tile<TypeParam> c_before = c;
    std::vector<std::int32_t> pivots(std::size_t(b), -1);
    getrf_pivoting(a.block(), pivots.data());
    gessm(a.block(), pivots.data(), c.block());
    for (int j = 0; j < b; ++j) {
      std::vector<double> of_a = a.upper(j);
      std::vector<double> of_c = c.column(j);
      undo_gessm(a.block(), pivots.data(), of_a.data());
      undo_gessm(a.block(), pivots.data(), of_c.data());
      expect_close(of_a, a_before.column(j), kClose<TypeParam>, "A");
      expect_close(of_c, c_before.column(j), kClose<TypeParam>, "C");
      for (int i = j + 1; i < b; ++i) EXPECT_LE(std::abs(a.at(i, j)), TypeParam{1});
    }
  }
}

TYPED_TEST(PivotingKernels, TstrfAndSsssmUndoneGiveBackTheTiles) {
  for (const auto& [b, s] : std::vector<std::pair<int, int>>{
           {1, 1}, {8, 1}, {8, 8}, {33, 8}, {64, 32}, {100, 32}, {96, 100}}) {
    SCOPED_TRACE(::testing::Message() << b << ", " << s);
    Tile<TypeParam> u(b, b, 1);
    Tile<TypeParam> a(b, b, 2);
    Tile<TypeParam> l(std::min(s, b), b, 3);  // what was there must not matter
    Tile<TypeParam> c(b, b, 4);
    Tile<TypeParam> d(b, b, 5);
    Tile<TypeParam> u_before = u;
    Tile<TypeParam> a_before = a;
    Tile<TypeParam> c_before = c;
    Tile<TypeParam> d_before = d;
    std::vector<std::int32_t> pivots(std::size_t(b), -1);
    tstrf(u.block(), a.block(), l.block(), pivots.data());
    ssssm(a.block(), l.block(), pivots.data(), c.block(), d.block());
    expect_at_most_one(a.values());
    expect_at_most_one(l.values());
    if (b > 8) {
      EXPECT_GT(std::ranges::count_if(pivots, [](int p) { return p > 0; }), b / 2);
    }
    for (int j = 0; j < b; ++j) {
      std::vector<double> above = u.upper(j);
      std::vector<double> below(std::size_t(b), 0.0);
      undo_ssssm(a.block(), l.block(), pivots.data(), above.data(), below.data());
      expect_close(above, u_before.upper(j), kClose<TypeParam>, "U");
      expect_close(below, a_before.column(j), kClose<TypeParam>, "A");
      above = c.column(j);
      below = d.column(j);
      undo_ssssm(a.block(), l.block(), pivots.data(), above.data(), below.data());
      expect_close(above, c_before.column(j), kClose<TypeParam>, "C");
      expect_close(below, d_before.column(j), kClose<TypeParam>, "D");
      // What belongs to getrf.
      for (int i = j + 1; i < b; ++i) ASSERT_EQ(u.at(i, j), u_before.at(i, j));
    }
  }
}

TYPED_TEST(PivotingKernels, ColumnsOfZeroesLeaveZeroesAndNoNaN) {
  constexpr int kTile = 24;
  Tile<TypeParam> u(kTile, kTile);
  Tile<TypeParam> a(kTile, kTile);
  Tile<TypeParam> l(8, kTile, 1);
  std::vector<std::int32_t> pivots(kTile, -1);
  getrf_pivoting(u.block(), pivots.data());
  tstrf(u.block(), a.block(), l.block(), pivots.data());
  for (Tile<TypeParam>* tile : {&u, &a, &l}) {
    EXPECT_TRUE(std::ranges::all_of(tile->values(), [](TypeParam x) { return x == 0; }));
  }
}

TYPED_TEST(PivotingKernels, ATileBelowBringsThePivotsThatATileOfZeroesLacks) {
  constexpr int kTile = 20;
  Tile<TypeParam> u(kTile, kTile);
  Tile<TypeParam> a(kTile, kTile, 7);
  Tile<TypeParam> l(8, kTile);
  std::vector<std::int32_t> pivots(kTile, -1);
  getrf_pivoting(u.block(), pivots.data());
  tstrf(u.block(), a.block(), l.block(), pivots.data());
  for (int j = 0; j < kTile; ++j) EXPECT_NE(u.at(j, j), TypeParam{0});
}

}  // namespace
}  // namespace vicinal::linalg

#endif
