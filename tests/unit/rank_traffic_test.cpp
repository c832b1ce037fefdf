#include "bounds/rank_traffic.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "vicinal/error.hpp"

namespace vicinal::bounds {
namespace {

// --- All tasks, one by one -----------------------------------------------------------------------

struct MatrixTile {
  char matrix;
  std::uint64_t row;
  std::uint64_t column;
  friend auto operator<=>(const MatrixTile&, const MatrixTile&) = default;
};

// Where which version is, found by running the tasks in their order.
class Simulation {
 public:
  using Owner = std::function<RankId(MatrixTile)>;
  using Size = std::function<Bytes(MatrixTile)>;
  Simulation(std::uint32_t ranks, Owner owner, Size size)
      : owner_(std::move(owner)), size_(std::move(size)) {
    traffic_.sent.resize(ranks);
    traffic_.received.resize(ranks);
  }
  // Runs on the owner of `written`, which it also reads.
  void task(const std::vector<MatrixTile>& read, MatrixTile written) {
    const RankId here = owner_(written);
    for (const MatrixTile& tile : read) {
      const RankId from = owner_(tile);
      if (from == here || !there_.emplace(tile, version_[tile], here.value).second) continue;
      for (Sent* sum : {&traffic_.sent[from.value], &traffic_.received[here.value]}) {
        ++sum->tiles;
        sum->bytes += size_(tile);
      }
    }
    ++version_[written];
  }
  const RankTraffic& traffic() const { return traffic_; }

 private:
  Owner owner_;
  Size size_;
  RankTraffic traffic_;
  std::map<MatrixTile, std::uint64_t> version_;
  std::set<std::tuple<MatrixTile, std::uint64_t, std::uint32_t>> there_;
};

constexpr Bytes kElement{8};

Simulation factorisation(TiledLength n, const Distribution& owners, std::uint32_t ranks) {
  return {ranks, [&owners](MatrixTile at) { return owners.owner(at.row, at.column); },
          [n](MatrixTile at) { return kElement * (n.of(at.row) * n.of(at.column)); }};
}

RankTraffic simulated_cholesky(TiledLength n, const Distribution& owners, std::uint32_t ranks) {
  Simulation run = factorisation(n, owners, ranks);
  const auto a = [](std::uint64_t i, std::uint64_t j) { return MatrixTile{'A', i, j}; };
  for (std::uint64_t k = 0; k < n.tiles(); ++k) {
    run.task({}, a(k, k));
    for (std::uint64_t i = k + 1; i < n.tiles(); ++i) run.task({a(k, k)}, a(i, k));
    for (std::uint64_t i = k + 1; i < n.tiles(); ++i) {
      run.task({a(i, k)}, a(i, i));
      for (std::uint64_t j = k + 1; j < i; ++j) run.task({a(i, k), a(j, k)}, a(i, j));
    }
  }
  return run.traffic();
}

RankTraffic simulated_lu(TiledLength n, const Distribution& owners, std::uint32_t ranks) {
  Simulation run = factorisation(n, owners, ranks);
  const auto a = [](std::uint64_t i, std::uint64_t j) { return MatrixTile{'A', i, j}; };
  for (std::uint64_t k = 0; k < n.tiles(); ++k) {
    run.task({}, a(k, k));
    for (std::uint64_t i = k + 1; i < n.tiles(); ++i) {
      run.task({a(k, k)}, a(k, i));
      run.task({a(k, k)}, a(i, k));
    }
    for (std::uint64_t i = k + 1; i < n.tiles(); ++i) {
      for (std::uint64_t j = k + 1; j < n.tiles(); ++j) run.task({a(i, k), a(k, j)}, a(i, j));
    }
  }
  return run.traffic();
}

RankTraffic simulated_product(const ProductLengths& of, const ProductOwners& owners,
                              std::uint32_t ranks) {
  Simulation run(
      ranks,
      [&](MatrixTile at) {
        const Distribution& rule = at.matrix == 'A'   ? owners.a
                                   : at.matrix == 'B' ? owners.b
                                                      : owners.c;
        return rule.owner(at.row, at.column);
      },
      [&](MatrixTile at) {
        return kElement * (at.matrix == 'A' ? of.rows.of(at.row) * of.inner.of(at.column)
                                            : of.inner.of(at.row) * of.columns.of(at.column));
      });
  for (std::uint64_t i = 0; i < of.rows.tiles(); ++i) {
    for (std::uint64_t j = 0; j < of.columns.tiles(); ++j) {
      for (std::uint64_t k = 0; k < of.inner.tiles(); ++k) {
        run.task({{'A', i, k}, {'B', k, j}}, {'C', i, j});
      }
    }
  }
  return run.traffic();
}

void expect_same(const RankTraffic& counted, const RankTraffic& simulated) {
  EXPECT_EQ(counted.sent, simulated.sent);
  EXPECT_EQ(counted.received, simulated.received);
}

// --- The same distributions for all --------------------------------------------------------------

Distribution at_random(std::uint32_t ranks, std::uint64_t seed) {
  return [ranks, seed](std::uint64_t row, std::uint64_t column) {
    std::mt19937_64 random(seed * 1000003 + row * 1009 + column);
    return RankId{static_cast<std::uint32_t>(random() % ranks)};
  };
}

struct Case {
  std::string name;
  Distribution owners;
  std::uint32_t ranks;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const Distribution& owners, std::uint32_t ranks) {
    all.push_back({owners.name(), owners, ranks});
  };
  for (const std::uint32_t ranks : {1U, 2U, 4U, 6U, 7U, 8U}) {
    add(BlockCyclic2D::nearest_square(ranks), ranks);
    add(GeneralizedBlockCyclic(ranks), ranks);
    if (SymmetricBlockCyclic::exists_for(ranks)) add(SymmetricBlockCyclic(ranks), ranks);
  }
  add(BlockCyclic2D(3, 2), 6);
  add(SymmetricBlockCyclic(10), 10);
  add(SymmetricBlockCyclic(15), 15);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    all.push_back({"at random, seed " + std::to_string(seed), at_random(5, seed), 5});
  }
  return all;
}

// Tiles per side, also with a last tile that is shorter: (10 n - 3) elements in tiles of 10.
std::vector<TiledLength> lengths() {
  return {{0, 10}, {1, 10}, {10, 10}, {17, 10}, {70, 10}, {127, 10}};
}

TEST(RankTraffic, OfCholeskyIsWhatItsTasksCause) {
  for (const Case& of : cases()) {
    for (const TiledLength& n : lengths()) {
      SCOPED_TRACE(of.name + ", elements: " + std::to_string(n.elements));
      expect_same(cholesky_traffic(n, kElement, of.owners, of.ranks),
                  simulated_cholesky(n, of.owners, of.ranks));
    }
  }
}

TEST(RankTraffic, OfLuIsWhatItsTasksCause) {
  for (const Case& of : cases()) {
    for (const TiledLength& n : lengths()) {
      SCOPED_TRACE(of.name + ", elements: " + std::to_string(n.elements));
      expect_same(lu_traffic(n, kElement, of.owners, of.ranks),
                  simulated_lu(n, of.owners, of.ranks));
    }
  }
}

TEST(RankTraffic, OfProductsIsWhatTheirTasksCause) {
  const ProductLengths of_lengths{.rows = {57, 10}, .columns = {80, 10}, .inner = {34, 10}};
  const ProductLengths one_step{.rows = {57, 10}, .columns = {80, 10}, .inner = {34, 34}};
  for (const Case& of : cases()) {
    for (const ProductLengths& shape : {of_lengths, one_step}) {
      SCOPED_TRACE(of.name);
      const ProductOwners same{of.owners, of.owners, of.owners};
      expect_same(product_traffic(shape, kElement, same, of.ranks),
                  simulated_product(shape, same, of.ranks));
      const ProductOwners mixed{at_random(of.ranks, 4), BlockCyclic2D(1, of.ranks), of.owners};
      expect_same(product_traffic(shape, kElement, mixed, of.ranks),
                  simulated_product(shape, mixed, of.ranks));
    }
  }
}

// --- By hand -------------------------------------------------------------------------------------

// 3 x 3 tiles on 2 x 2 ranks: 0 / 2 3 / 0 1 0. potrf(0) to 2; trsm(1,0), of 2, to 3 and 1; trsm(2,0), of 0, to 1
// (and 0 itself); potrf(1), of 3, to 1; trsm(2,1), of 1, to 0. Six tiles.
TEST(RankTraffic, OfASmallCholeskyByHand) {
  const RankTraffic traffic = cholesky_traffic({3, 1}, {1}, BlockCyclic2D(2, 2), 4);
  const auto tiles = [](const std::vector<Sent>& by_rank) {
    std::vector<std::uint64_t> counts;
    for (const Sent& of_rank : by_rank) counts.push_back(of_rank.tiles);
    return counts;
  };
  EXPECT_THAT(tiles(traffic.sent), ::testing::ElementsAre(2, 1, 2, 1));
  EXPECT_THAT(tiles(traffic.received), ::testing::ElementsAre(1, 3, 1, 1));
  EXPECT_EQ(traffic.total(), (Sent{6, {6}}));
}

// C of 4 x 4 tiles on 2 x 2 ranks and as many inner tiles: each of 16 tiles of A goes to one rank more, and so of B.
TEST(RankTraffic, OfASmallProductByHand) {
  const Distribution grid = BlockCyclic2D(2, 2);
  const TiledLength four{40, 10};
  const RankTraffic traffic = product_traffic({four, four, four}, kElement, {grid, grid, grid}, 4);
  EXPECT_EQ(traffic.total(), (Sent{32, {32 * 100 * 8}}));
  EXPECT_THAT(traffic.sent, ::testing::Each(Sent{8, {8 * 100 * 8}}));
}

TEST(RankTraffic, OneRankSendsNothing) {
  EXPECT_EQ(cholesky_traffic({500, 10}, kElement, Distribution(), 1).total(), Sent{});
  EXPECT_EQ(lu_traffic({500, 10}, kElement, Distribution(), 1).total(), Sent{});
}

TEST(RankTraffic, TilesOfRanksThatAreNotThereAreRefused) {
  const Distribution grid = BlockCyclic2D(2, 2);
  EXPECT_THROW(cholesky_traffic({50, 10}, kElement, grid, 3), UsageError);
  EXPECT_THROW(lu_traffic({50, 10}, kElement, grid, 3), UsageError);
  EXPECT_THROW(product_traffic({{50, 10}, {50, 10}, {50, 10}}, kElement, {grid, grid, grid}, 3),
               UsageError);
}

// --- Formulas of the papers ----------------------------------------------------------------------

// Tiles sent, by N^2, of N = 300.
constexpr std::uint64_t kLarge = 300;

double per_square(const RankTraffic& traffic) {
  return static_cast<double>(traffic.total().tiles) / static_cast<double>(kLarge * kLarge);
}

double of_cholesky(const Distribution& owners) {
  return per_square(cholesky_traffic({kLarge, 1}, {1}, owners, owners.ranks()));
}

double of_lu(const Distribution& owners) {
  return per_square(lu_traffic({kLarge, 1}, {1}, owners, owners.ranks()));
}

TEST(RankTraffic, OfAGridTendsToItsFormula) {
  for (const std::uint32_t p : {2U, 3U, 4U, 5U}) {
    SCOPED_TRACE(p);
    EXPECT_NEAR(of_cholesky(BlockCyclic2D(p, p)), p - 1, 0.02 * p);
    EXPECT_NEAR(of_lu(BlockCyclic2D(p, p)), p - 1, 0.02 * p);
  }
  EXPECT_NEAR(of_cholesky(BlockCyclic2D(2, 4)), (2 + 4 - 2) / 2.0, 0.04);
  EXPECT_NEAR(of_cholesky(BlockCyclic2D(1, 7)), (1 + 7 - 2) / 2.0, 0.06);
}

TEST(RankTraffic, OfTheSymmetricDistributionTendsToItsFormula) {
  for (const std::uint32_t ranks : {3U, 6U, 10U, 15U, 21U, 28U, 36U, 45U}) {
    SCOPED_TRACE(ranks);
    const SymmetricBlockCyclic rule(ranks);
    EXPECT_NEAR(of_cholesky(rule), (rule.pattern() - 2) / 2.0, 0.01 * rule.pattern());
  }
  for (const std::uint32_t ranks : {8U, 18U, 32U, 50U}) {
    SCOPED_TRACE(ranks);
    const SymmetricBlockCyclic rule(ranks);
    EXPECT_NEAR(of_cholesky(rule), (rule.pattern() - 1) / 2.0, 0.01 * rule.pattern());
  }
}

// 36 = 6 x 6 = 9 * 8 / 2 ranks: 5 N^2 and 3.5 N^2, a factor of 1.43. With many ranks it tends to sqrt(2).
TEST(RankTraffic, TheSymmetricDistributionSendsLessByTheRootOfTwo) {
  const double gain = of_cholesky(BlockCyclic2D(6, 6)) / of_cholesky(SymmetricBlockCyclic(36));
  EXPECT_NEAR(gain, std::sqrt(2.0), 0.05);
}

// 7 ranks: a row of 3, columns of 3 and of 2: (3 + (9 + 2 * 4) / 7 - 2) / 2 N^2 = 1.714 N^2, instead of 3 N^2.
TEST(RankTraffic, TheGeneralizedDistributionSendsLittleForPrimeNumbers) {
  EXPECT_NEAR(of_lu(GeneralizedBlockCyclic(7)), (3 + 17.0 / 7 - 2) / 2, 0.03);
  EXPECT_NEAR(of_cholesky(GeneralizedBlockCyclic(7)), (3 + 17.0 / 7 - 2) / 2, 0.03);
  EXPECT_NEAR(of_lu(BlockCyclic2D::nearest_square(7)), 3, 0.06);
}

TEST(RankTraffic, AutomaticDistributionsNeverSendMoreThanTheGrid) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 13U, 15U, 24U, 32U}) {
    SCOPED_TRACE(ranks);
    const double grid = of_cholesky(BlockCyclic2D::nearest_square(ranks));
    EXPECT_LE(of_cholesky(Distribution::automatic(ranks, Triangle{1})), grid + 1e-9);
    EXPECT_LE(of_lu(Distribution::automatic(ranks)),
              of_lu(BlockCyclic2D::nearest_square(ranks)) + 1e-9);
  }
}

}  // namespace
}  // namespace vicinal::bounds
