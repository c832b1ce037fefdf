#include "vicinal/distribution.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vicinal/error.hpp"
#include "vicinal/tiled_matrix.hpp"

namespace vicinal {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Owners = std::vector<std::vector<std::uint32_t>>;

static_assert(Triangle{} == Triangle::none,
              "what Distribution::automatic takes where none is given");

Owners owners_of(const Distribution& distribution, std::uint64_t rows, std::uint64_t columns) {
  Owners owners(rows);
  for (std::uint64_t m = 0; m < rows; ++m) {
    for (std::uint64_t n = 0; n < columns; ++n) {
      owners[m].push_back(distribution.owner(m, n, distribution.ranks()).value);
    }
  }
  return owners;
}

std::vector<std::uint64_t> tiles_by_rank(const Distribution& distribution, std::uint64_t rows,
                                         std::uint64_t columns) {
  std::vector<std::uint64_t> tiles(distribution.ranks());
  for (const auto& row : owners_of(distribution, rows, columns)) {
    for (const std::uint32_t rank : row) ++tiles[rank];
  }
  return tiles;
}

// The ranks of row i and of column i of the lower triangle of n x n tiles.
std::set<std::uint32_t> ranks_around(const Distribution& distribution, std::uint64_t i,
                                     std::uint64_t n) {
  std::set<std::uint32_t> ranks;
  for (std::uint64_t j = 0; j < n; ++j) {
    ranks.insert(distribution.owner(std::max(i, j), std::min(i, j)).value);
  }
  return ranks;
}

template <typename Make>
std::string message_of(const Make& make) {
  try {
    make();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

// --- 2D block-cyclic -----------------------------------------------------------------------------

TEST(BlockCyclic2D, RanksAreNumberedRowByRow) {
  const Owners expected{{0, 1, 2, 3, 0}, {4, 5, 6, 7, 4}, {0, 1, 2, 3, 0}};
  EXPECT_EQ(owners_of(BlockCyclic2D(2, 4), 3, 5), expected);
}

TEST(BlockCyclic2D, TheGridIsTheNearestToASquareAndNotHigherThanWide) {
  const auto grid = [](std::uint32_t ranks) {
    const BlockCyclic2D nearest = BlockCyclic2D::nearest_square(ranks);
    return std::pair(nearest.rows(), nearest.columns());
  };
  EXPECT_EQ(grid(1), std::pair(1U, 1U));
  EXPECT_EQ(grid(2), std::pair(1U, 2U));
  EXPECT_EQ(grid(4), std::pair(2U, 2U));
  EXPECT_EQ(grid(7), std::pair(1U, 7U));
  EXPECT_EQ(grid(8), std::pair(2U, 4U));
  EXPECT_EQ(grid(12), std::pair(3U, 4U));
  EXPECT_EQ(grid(4294967295U), std::pair(65535U, 65537U));
}

TEST(BlockCyclic2D, HoldsForTheGreatestMatricesAndGrids) {
  const BlockCyclic2D grid(65535, 65537);
  EXPECT_EQ(grid.owner(UINT64_MAX, UINT64_MAX).value,
            UINT64_MAX % 65535 * 65537 + UINT64_MAX % 65537);
  EXPECT_EQ(grid.owner(65534, 65536), RankId{4294967294U});
}

TEST(BlockCyclic2D, AGridWithoutRanksOrWithTooManyIsRefused) {
  EXPECT_THAT(message_of([] { BlockCyclic2D(0, 4); }), HasSubstr("0 x 4 ranks"));
  EXPECT_THAT(message_of([] { BlockCyclic2D(4, 0); }), HasSubstr("at least one row and column"));
  EXPECT_THAT(message_of([] { BlockCyclic2D(65536, 65536); }), HasSubstr("at most 4294967295"));
  EXPECT_THAT(message_of([] { BlockCyclic2D::nearest_square(0); }), HasSubstr("over 0 ranks"));
}

// --- Symmetric block-cyclic ----------------------------------------------------------------------

// r = 3, 3 ranks, one diagonal, s = 1: positions 0, 1, 2 belong to the pairs {0,1}, {1,2}, {2,0}, ranks 0, 2, 1.
TEST(SymmetricBlockCyclic, ThreeRanksByHand) {
  const Owners expected{
      {0, 0, 1, 0},
      {0, 2, 2, 0},
      {1, 2, 1, 1},
      {0, 0, 1, 0},
  };
  EXPECT_EQ(owners_of(SymmetricBlockCyclic(3), 4, 4), expected);
}

// r = 4, pairs {1,0} {2,0} {2,1} {3,0} {3,1} {3,2} are ranks 0 to 5; h = 2, three diagonals:
//   v = 0: s = 1: {0,1} {1,2} {2,3} {3,0}
//   v = 1: w = 0: first half s = 2: {0,2} {1,3}; second half s = 1: {2,3} {3,0}
//   v = 2: w = 1: first half s = 1: {0,1} {1,2}; second half s = 2: {2,0} {3,1}
// Copies (0,0) (1,0) (1,1) (2,0) of the pattern have v = 0, 1, 2, 3 mod 3.
TEST(SymmetricBlockCyclic, DiagonalsOfAnEvenPatternByHand) {
  const SymmetricBlockCyclic six(6);
  EXPECT_TRUE(six.is_extended());
  EXPECT_EQ(six.pattern(), 4U);
  const auto diagonal = [&](std::uint64_t row, std::uint64_t column) {
    std::vector<std::uint32_t> ranks;
    for (std::uint64_t d = 0; d < 4; ++d)
      ranks.push_back(six.owner(row * 4 + d, column * 4 + d).value);
    return ranks;
  };
  EXPECT_THAT(diagonal(0, 0), ElementsAre(0, 2, 5, 3));
  EXPECT_THAT(diagonal(1, 0), ElementsAre(1, 4, 5, 3));
  EXPECT_THAT(diagonal(1, 1), ElementsAre(0, 2, 1, 4));
  EXPECT_THAT(diagonal(2, 0), ElementsAre(0, 2, 5, 3));
  EXPECT_EQ(six.owner(3, 1), RankId{4});
  EXPECT_EQ(six.owner(9, 7), RankId{4});  // (1, 3) of the pattern
}

// r = 4, 8 ranks: six of pairs, and ranks 6 and 7 on the diagonal.
TEST(SymmetricBlockCyclic, TheBasicVersionHasRanksForTheDiagonal) {
  const Owners expected{{6, 0, 1, 3}, {0, 7, 2, 4}, {1, 2, 6, 5}, {3, 4, 5, 7}};
  EXPECT_FALSE(SymmetricBlockCyclic(8).is_extended());
  EXPECT_EQ(owners_of(SymmetricBlockCyclic(8), 4, 4), expected);
}

TEST(SymmetricBlockCyclic, ExistsForTheseNumbers) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t n = 0; n <= 60; ++n) {
    if (SymmetricBlockCyclic::exists_for(n)) ranks.push_back(n);
  }
  EXPECT_THAT(ranks, ElementsAre(1, 2, 3, 6, 8, 10, 15, 18, 21, 28, 32, 36, 45, 50, 55));
  // The greatest r for which r (r - 1) / 2 and r^2 / 2 have 32 bits.
  EXPECT_EQ(SymmetricBlockCyclic(92682U / 2 * 92681U).pattern(), 92682U);
  EXPECT_EQ(SymmetricBlockCyclic(92680U / 2 * 92680U).pattern(), 92680U);
}

TEST(SymmetricBlockCyclic, OtherNumbersAreRefusedWithTheNearestOnes) {
  EXPECT_THAT(message_of([] { SymmetricBlockCyclic(7); }),
              AllOf(HasSubstr("over 7 ranks"), HasSubstr("use 6 or 8 ranks"),
                    HasSubstr("Distribution::automatic(7)")));
  EXPECT_THAT(message_of([] { SymmetricBlockCyclic(4); }), HasSubstr("use 3 or 6 ranks"));
  EXPECT_THAT(message_of([] { SymmetricBlockCyclic(UINT32_MAX); }),
              HasSubstr("use 4294930221 ranks"));
  EXPECT_THAT(message_of([] { SymmetricBlockCyclic(0); }), HasSubstr("over 0 ranks"));
}

TEST(SymmetricBlockCyclic, RowAndColumnShareFewRanksAndEveryRankHasTiles) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 6U, 8U, 10U, 15U, 18U, 21U, 28U, 32U}) {
    SCOPED_TRACE(ranks);
    const SymmetricBlockCyclic rule(ranks);
    const std::uint64_t n = std::uint64_t{rule.pattern()} * 6;
    const std::size_t around = rule.pattern() - (rule.is_extended() ? 1 : 0);
    std::set<std::uint32_t> seen;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::set<std::uint32_t> here = ranks_around(rule, i, n);
      EXPECT_EQ(here.size(), around) << i;
      seen.insert(here.begin(), here.end());
      for (std::uint64_t j = 0; j < i; ++j) EXPECT_EQ(rule.owner(i, j), rule.owner(j, i));
    }
    EXPECT_EQ(seen.size(), ranks);
    EXPECT_EQ(*seen.rbegin(), ranks - 1);
  }
}

// The rule holds wherever a tile is, also where I (I + 1) / 2 has no 64 bits: by I modulo twice the number of diagonals.
TEST(SymmetricBlockCyclic, DiagonalsAreTheSameFarAway) {
  for (const std::uint32_t ranks : {3U, 6U, 10U, 15U, 28U}) {
    SCOPED_TRACE(ranks);
    const SymmetricBlockCyclic rule(ranks);
    const std::uint64_t r = rule.pattern();
    const std::uint64_t period = r * 2 * (r % 2 != 0 ? (r - 1) / 2 : r - 1);
    const std::uint64_t far = UINT64_MAX / period * period - period;
    for (std::uint64_t i = 0; i < period; ++i) {
      EXPECT_EQ(rule.owner(far + i, i % r), rule.owner(period + i, i % r));
      EXPECT_EQ(rule.owner(far + i, far + i), rule.owner(i, i));
    }
  }
}

// Each diagonal position goes round all diagonals in (the number of diagonals) copies, so each rank has as many.
TEST(SymmetricBlockCyclic, ManyCopiesGiveEachRankAsManyTiles) {
  for (const std::uint32_t ranks : {3U, 6U, 10U, 15U, 21U, 28U, 8U, 18U}) {
    SCOPED_TRACE(ranks);
    const SymmetricBlockCyclic rule(ranks);
    std::vector<std::uint64_t> tiles(ranks);
    const std::uint64_t n = std::uint64_t{rule.pattern()} * 30;
    for (std::uint64_t i = 0; i < n; ++i) {
      for (std::uint64_t j = 0; j <= i; ++j) ++tiles[rule.owner(i, j).value];
    }
    const std::uint64_t mean = n * (n + 1) / 2 / ranks;
    const auto [least, most] = std::ranges::minmax(tiles);
    EXPECT_GE(least, mean * 95 / 100);
    EXPECT_LE(most, mean * 105 / 100);
  }
}

// --- Generalized 2D block-cyclic -----------------------------------------------------------------

// 7 ranks: a = b = 3, c = 2. The grid is 0 1 2 / 3 4 5 / 6 - -; block 0 is filled with 1 2, block 1 with 4 5. Each stands
// twice in its band, then its first column.
TEST(GeneralizedBlockCyclic, SevenRanksByHand) {
  const Owners expected{
      {0, 1, 2, 0, 1, 2, 0, 0}, {3, 4, 5, 3, 4, 5, 3, 3}, {6, 1, 2, 6, 1, 2, 6, 6},
      {0, 1, 2, 0, 1, 2, 0, 0}, {3, 4, 5, 3, 4, 5, 3, 3}, {6, 4, 5, 6, 4, 5, 6, 6},
      {0, 1, 2, 0, 1, 2, 0, 0},
  };
  EXPECT_EQ(owners_of(GeneralizedBlockCyclic(7), 7, 8), expected);
}

TEST(GeneralizedBlockCyclic, IsTheGridWhereRanksFillOne) {
  for (const std::uint32_t ranks : {1U, 2U, 4U, 6U, 9U, 12U, 20U}) {
    const GeneralizedBlockCyclic rule(ranks);
    EXPECT_EQ(rule.empty(), 0U);
    EXPECT_EQ(owners_of(rule, 25, 25), owners_of(BlockCyclic2D::nearest_square(ranks), 25, 25));
  }
}

// Of b (b - 1) x P positions each rank has b (b - 1); a row has a ranks, a column b, or b - 1.
TEST(GeneralizedBlockCyclic, APatternHasEachRankAsOftenAndFewRanksInEachRowAndColumn) {
  for (std::uint32_t ranks = 1; ranks <= 130; ++ranks) {
    SCOPED_TRACE(ranks);
    const GeneralizedBlockCyclic rule(ranks);
    const std::uint64_t a = rule.block_columns();
    const std::uint64_t b = rule.block_rows();
    const std::uint64_t rows = rule.empty() == 0 ? b : b * (b - 1);
    const std::uint64_t columns = rule.empty() == 0 ? a : ranks;
    EXPECT_THAT(tiles_by_rank(rule, rows, columns), Each(rows * columns / ranks));
    const Owners owners = owners_of(rule, rows, columns);
    for (const auto& row : owners) {
      EXPECT_EQ(std::set<std::uint32_t>(row.begin(), row.end()).size(), a);
    }
    std::size_t in_columns = 0;
    for (std::uint64_t n = 0; n < columns; ++n) {
      std::set<std::uint32_t> column;
      for (const auto& row : owners) column.insert(row[n]);
      in_columns += column.size();
    }
    const std::uint64_t c = rule.empty();
    const std::size_t expected = c == 0 ? a * b : b * b * (a - c) + (b - 1) * (b - 1) * c;
    EXPECT_EQ(in_columns, expected);
    // The pattern is repeated.
    EXPECT_EQ(rule.owner(rows + 1, columns + 1), rule.owner(1, 1));
  }
}

// Ranks of 7 by hand, as above: rank 6 has rows 2, 5, 8, ... and columns 0, 3, 6, 7, ...; rank 1 has rows 0, 2, 3, 6, 8, ...
// and columns 1, 4, 8, ...; rank 4 has rows 1, 4, 5, 7, ...
TEST(GeneralizedBlockCyclic, CountsRowsAndColumnsOfARank) {
  const GeneralizedBlockCyclic rule(7);
  EXPECT_EQ(rule.place(5, 3), (PlaceInRank{1, 1}));
  EXPECT_EQ(rule.place(8, 7), (PlaceInRank{2, 3}));
  EXPECT_EQ(rule.place(0, 1), (PlaceInRank{0, 0}));
  EXPECT_EQ(rule.place(2, 1), (PlaceInRank{1, 0}));
  EXPECT_EQ(rule.place(3, 4), (PlaceInRank{2, 1}));
  EXPECT_EQ(rule.place(6, 8), (PlaceInRank{3, 2}));
  EXPECT_EQ(rule.place(8, 8), (PlaceInRank{4, 2}));
  EXPECT_EQ(rule.place(1, 1), (PlaceInRank{0, 0}));
  EXPECT_EQ(rule.place(4, 1), (PlaceInRank{1, 0}));
  EXPECT_EQ(rule.place(5, 1), (PlaceInRank{2, 0}));
  EXPECT_EQ(rule.place(7, 1), (PlaceInRank{3, 0}));
}

// No two tiles of a rank have one place, and no place is left out.
TEST(GeneralizedBlockCyclic, ARankHasATileAtEachPlace) {
  for (const std::uint32_t ranks : {3U, 5U, 7U, 8U, 10U, 11U, 13U, 23U, 31U}) {
    SCOPED_TRACE(ranks);
    const GeneralizedBlockCyclic rule(ranks);
    const std::uint64_t rows = std::uint64_t{rule.block_rows()} * (rule.block_rows() - 1) * 2;
    const std::uint64_t columns = std::uint64_t{ranks} * 2;
    std::vector<std::set<std::pair<std::uint64_t, std::uint64_t>>> places(ranks);
    std::vector<PlaceInRank> last(ranks);
    for (std::uint64_t m = 0; m < rows; ++m) {
      for (std::uint64_t n = 0; n < columns; ++n) {
        const std::uint32_t rank = rule.owner(m, n).value;
        const PlaceInRank place = rule.place(m, n);
        EXPECT_TRUE(places[rank].emplace(place.row, place.column).second);
        last[rank] = {std::max(last[rank].row, place.row),
                      std::max(last[rank].column, place.column)};
      }
    }
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(places[rank].size(), (last[rank].row + 1) * (last[rank].column + 1));
    }
  }
}

TEST(GeneralizedBlockCyclic, HoldsForTheGreatestNumbers) {
  const GeneralizedBlockCyclic rule(UINT32_MAX);
  EXPECT_EQ(rule.block_columns(), 65536U);
  EXPECT_EQ(rule.block_rows(), 65536U);
  EXPECT_EQ(rule.empty(), 1U);
  EXPECT_LT(rule.owner(UINT64_MAX, UINT64_MAX).value, UINT32_MAX);
  EXPECT_THAT(message_of([] { GeneralizedBlockCyclic(0); }), HasSubstr("over 0 ranks"));
}

// --- Any distribution ----------------------------------------------------------------------------

TEST(Distribution, GivesAllTilesToRank0WithoutARule) {
  const Distribution one;
  EXPECT_EQ(one.owner(17, 4), RankId{0});
  EXPECT_EQ(one.ranks(), 1U);
}

TEST(Distribution, TakesEachRuleAndFunctionsOfThePrograms) {
  const Distribution grid = BlockCyclic2D(2, 4);
  const Distribution symmetric = SymmetricBlockCyclic(3);
  const Distribution general = GeneralizedBlockCyclic(7);
  std::uint64_t border = 10;
  const Distribution own = [border](std::uint64_t row, std::uint64_t /*column*/) {
    return RankId{row < border ? 0U : 1U};
  };
  EXPECT_EQ(grid.owner(1, 2), RankId{6});
  EXPECT_EQ(symmetric.owner(2, 0), RankId{1});
  EXPECT_EQ(general.owner(5, 1), RankId{4});
  EXPECT_EQ(own.owner(9, 30), RankId{0});
  EXPECT_EQ(own.owner(10, 0), RankId{1});
  EXPECT_EQ(grid.ranks(), 8U);
  EXPECT_EQ(symmetric.ranks(), 3U);
  EXPECT_EQ(general.ranks(), 7U);
  EXPECT_EQ(own.ranks(), 0U);
  Distribution copy = own;
  EXPECT_EQ(copy.owner(10, 0), RankId{1});
  copy = grid;
  EXPECT_EQ(copy.name(), "2D block-cyclic, 2 x 4");
  EXPECT_EQ(symmetric.name(), "extended symmetric block-cyclic, 3 ranks");
  EXPECT_EQ(Distribution(SymmetricBlockCyclic(8)).name(), "basic symmetric block-cyclic, 8 ranks");
  EXPECT_EQ(general.name(), "generalized 2D block-cyclic, 7 ranks");
  EXPECT_EQ(own.name(), "a function of the program");
}

TEST(Distribution, RefusesRanksThatAreNotThere) {
  const Distribution own = [](std::uint64_t row, std::uint64_t column) {
    return RankId{static_cast<std::uint32_t>(row + column)};
  };
  EXPECT_EQ(own.owner(1, 2, 4), RankId{3});
  EXPECT_THAT(message_of([&] { static_cast<void>(own.owner(2, 2, 4)); }),
              AllOf(HasSubstr("tile (2,2) belongs to rank 4"), HasSubstr("there are 4"),
                    HasSubstr("from 0 to 3")));
  const Distribution grid = BlockCyclic2D(2, 4);
  EXPECT_THAT(message_of([&] { static_cast<void>(grid.owner(1, 3, 7)); }),
              AllOf(HasSubstr("2D block-cyclic, 2 x 4"), HasSubstr("start 8 ranks"),
                    HasSubstr("Distribution::automatic(7)")));
  EXPECT_THAT(message_of([&] { static_cast<void>(grid.owner(0, 0, 0)); }),
              HasSubstr("there are 0: give at least one"));
  EXPECT_THAT(message_of([] { static_cast<void>(Distribution(Distribution::Function())); }),
              HasSubstr("empty function"));
}

// r = r (r - 1) / 2 or r^2 / 2 with r even for a triangle; else a + mean of b and b - 1 against P + Q. Of 8: 5.75 and 6.
TEST(Distribution, ChoosesWhatSendsLeast) {
  const auto chosen = [](std::uint32_t ranks, Triangle triangle) {
    return Distribution::automatic(ranks, triangle).name();
  };
  EXPECT_EQ(chosen(1, Triangle::none), "2D block-cyclic, 1 x 1");
  EXPECT_EQ(chosen(2, Triangle::none), "2D block-cyclic, 1 x 2");
  EXPECT_EQ(chosen(4, Triangle::none), "2D block-cyclic, 2 x 2");
  EXPECT_EQ(chosen(7, Triangle::none), "generalized 2D block-cyclic, 7 ranks");
  EXPECT_EQ(chosen(8, Triangle::none), "generalized 2D block-cyclic, 8 ranks");
  EXPECT_EQ(chosen(12, Triangle::none), "2D block-cyclic, 3 x 4");
  for (const Triangle triangle : {Triangle::lower, Triangle::upper}) {
    EXPECT_EQ(chosen(1, triangle), "2D block-cyclic, 1 x 1");
    EXPECT_EQ(chosen(2, triangle), "2D block-cyclic, 1 x 2");
    EXPECT_EQ(chosen(3, triangle), "extended symmetric block-cyclic, 3 ranks");
    EXPECT_EQ(chosen(4, triangle), "2D block-cyclic, 2 x 2");
    EXPECT_EQ(chosen(7, triangle), "generalized 2D block-cyclic, 7 ranks");
    EXPECT_EQ(chosen(8, triangle), "basic symmetric block-cyclic, 8 ranks");
    EXPECT_EQ(chosen(28, triangle), "extended symmetric block-cyclic, 28 ranks");
  }
  EXPECT_EQ(Distribution::automatic(4).name(), chosen(4, Triangle::none));
  EXPECT_THAT(message_of([] { Distribution::automatic(0); }), HasSubstr("over 0 ranks"));
}

TEST(Distribution, AutomaticOnesHaveTilesForEveryRankInBalance) {
  for (std::uint32_t ranks = 1; ranks <= 66; ++ranks) {
    SCOPED_TRACE(ranks);
    constexpr std::uint64_t kTiles = 200;
    for (const Triangle triangle : {Triangle::none, Triangle::lower}) {
      const Distribution rule = Distribution::automatic(ranks, triangle);
      EXPECT_EQ(rule.ranks(), ranks);
      std::vector<std::uint64_t> tiles(ranks);
      std::uint64_t all = 0;
      for (std::uint64_t i = 0; i < kTiles; ++i) {
        const std::uint64_t end = triangle == Triangle::none ? kTiles : i + 1;
        all += end;
        for (std::uint64_t j = 0; j < end; ++j) ++tiles[rule.owner(i, j, ranks).value];
      }
      const auto [least, most] = std::ranges::minmax(tiles);
      EXPECT_GE(least * ranks, all * 85 / 100) << rule.name();
      EXPECT_LE(most * ranks, all * 115 / 100) << rule.name();
    }
  }
}

// --- Two levels ----------------------------------------------------------------------------------

TEST(Distribution, DevicesOfAGridAreThoseOfBlockCyclic) {
  const Distribution grid = BlockCyclic2D(2, 3);
  for (const std::uint32_t devices : {1U, 2U, 4U, 6U}) {
    const BlockCyclic mapping{.devices = devices, .rows = 2, .columns = 3};
    for (std::uint64_t m = 0; m < 20; ++m) {
      for (std::uint64_t n = 0; n < 20; ++n) {
        EXPECT_EQ(grid.device(m, n, devices), mapping.device(m, n));
      }
    }
  }
  EXPECT_THAT(message_of([&] { static_cast<void>(grid.device(0, 0, 0)); }), HasSubstr("0 devices"));
}

// 6 devices in a column, as the paper deals the rows of a product: floor(m / P) mod 6; in a row: floor(n / Q) mod 6; and
// in 3 x 2, which is the rule.
TEST(Distribution, TheGridOfDevicesMayBeGiven) {
  const Distribution grid = BlockCyclic2D(2, 3);
  for (std::uint64_t m = 0; m < 30; ++m) {
    for (std::uint64_t n = 0; n < 30; ++n) {
      EXPECT_EQ(grid.device(m, n, 6, 1), m / 2 % 6);
      EXPECT_EQ(grid.device(m, n, 6, 6), n / 3 % 6);
      EXPECT_EQ(grid.device(m, n, 6, 2), m / 2 % 3 * 2 + n / 3 % 2);
      EXPECT_EQ(grid.device(m, n, 6), grid.device(m, n, 6, 2));
    }
  }
  EXPECT_THAT(message_of([&] { static_cast<void>(grid.device(0, 0, 6, 4)); }),
              HasSubstr("4 columns of devices, and there are 6"));
}

void expect_even_shares(const Distribution& rule, std::uint32_t devices, bool lower_alone) {
  SCOPED_TRACE(rule.name() + ", devices: " + std::to_string(devices));
  constexpr std::uint64_t kTiles = 240;
  std::vector<std::uint64_t> tiles(std::size_t{rule.ranks()} * devices);
  for (std::uint64_t i = 0; i < kTiles; ++i) {
    for (std::uint64_t j = 0; j < (lower_alone ? i + 1 : kTiles); ++j) {
      ++tiles[rule.owner(i, j).value * devices + rule.device(i, j, devices)];
    }
  }
  const std::uint64_t mean =
      std::accumulate(tiles.begin(), tiles.end(), std::uint64_t{0}) / tiles.size();
  const auto [least, most] = std::ranges::minmax(tiles);
  EXPECT_GE(least, mean * 90 / 100);
  EXPECT_LE(most, mean * 110 / 100);
}

TEST(Distribution, EachRankDealsItsTilesEvenly) {
  const std::array<Distribution, 4> rules{BlockCyclic2D(2, 2), SymmetricBlockCyclic(6),
                                          SymmetricBlockCyclic(8), GeneralizedBlockCyclic(7)};
  for (const Distribution& rule : rules) {
    for (const std::uint32_t devices : {2U, 3U, 4U}) {
      expect_even_shares(rule, devices, false);
      expect_even_shares(rule, devices, true);
    }
  }
}

}  // namespace
}  // namespace vicinal
