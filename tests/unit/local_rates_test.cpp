// Rates that are found anew where a change reaches: equal to those of a plain reference after every change.
#include "sim/local_rates.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/max_min.hpp"
#include "support/random_runs.hpp"

namespace vicinal::sim {
namespace {

using vicinal::testing::DrawingFlow;
using vicinal::testing::for_each_seed;
using vicinal::testing::max_min_rates;

class Beside {
 public:
  explicit Beside(const std::vector<double>& capacities) : capacities_(capacities) {
    for (const double capacity : capacities) rates_.add_resource(capacity);
  }
  void start(const std::vector<Demand>& demands, double most = kNever) {
    const auto free = std::ranges::find(flows_, false, &DrawingFlow::active);
    const auto f = static_cast<std::uint32_t>(free - flows_.begin());
    if (free == flows_.end()) flows_.emplace_back();
    flows_[f] = {demands, most, true};
    rates_.insert(f, demands, most);
    seen_.resize(flows_.size(), 0);
    check();
  }
  void end(std::uint32_t f) {
    flows_[f].active = false;
    rates_.erase(f);
    check();
  }
  std::size_t active() const {
    return static_cast<std::size_t>(std::ranges::count(flows_, true, &DrawingFlow::active));
  }
  bool is_active(std::uint32_t f) const { return flows_[f].active; }
  std::uint32_t slots() const { return static_cast<std::uint32_t>(flows_.size()); }
  double rate(std::uint32_t f) const { return rates_.rate(f); }
  std::size_t reached() const { return rates_.reached(); }

 private:
  // What is said to have changed is all that has.
  void check() {
    for (const std::uint32_t f : rates_.settle()) seen_[f] = rates_.rate(f);
    const std::vector<double> expected = max_min_rates(capacities_, flows_);
    for (std::size_t f = 0; f < flows_.size(); ++f) {
      if (!flows_[f].active) continue;
      EXPECT_NEAR(seen_[f], expected[f], 1e-9 * expected[f]) << "flow " << f;
    }
  }
  std::vector<double> capacities_;
  std::vector<DrawingFlow> flows_;
  std::vector<double> seen_;  // rates, as settle() has told them
  LocalRates rates_;
};

TEST(LocalRates, AChangeThatNobodyElseFeelsReachesNobodyElse) {
  // Two links of 6 with two flows each: 3 each. A fifth on the first link: 2 each there. Of the other link's flows none
  // is looked at.
  Beside rates({6, 6});
  for (const Resource link : {0U, 0U, 1U, 1U}) rates.start({{link}});
  rates.start({{0}});
  EXPECT_EQ(rates.rate(0), 2);
  EXPECT_EQ(rates.rate(2), 3);
  EXPECT_EQ(rates.reached(), 3U);
}

TEST(LocalRates, WhatASlowFlowLeavesIsGivenBackWhenItIsFaster) {
  // Flow 0 on a link of 2 and one of 10, where flow 1 is, too: 2 and 8. Flow 2 takes half of the first link: 1, and flow
  // 1 has 9. It ends: as before.
  Beside rates({2, 10});
  rates.start({{0}, {1}});
  rates.start({{1}});
  EXPECT_EQ(rates.rate(1), 8);
  rates.start({{0}});
  EXPECT_EQ(rates.rate(0), 1);
  EXPECT_EQ(rates.rate(1), 9);
  rates.end(2);
  EXPECT_EQ(rates.rate(0), 2);
  EXPECT_EQ(rates.rate(1), 8);
}

TEST(LocalRates, AFlowPassesOnWhatItsOwnRateLeaves) {
  Beside rates({8});
  rates.start({{0}}, 1);
  rates.start({{0}});
  EXPECT_EQ(rates.rate(1), 7);
  rates.end(1);
  rates.start({{0}});
  EXPECT_EQ(rates.rate(0), 1);
}

TEST(LocalRates, AreThoseOfAPlainReferenceWhateverComesAndGoes) {
  for_each_seed(30, [](base::Random& random, std::uint64_t seed) {
    const auto links = static_cast<std::uint32_t>(1 + random.below(20));
    const bool equal = random.below(3) == 0;     // many equal shares
    const bool weighted = random.below(2) == 0;  // weights, and rates of their own
    std::vector<double> capacities;
    for (std::uint32_t r = 0; r < links; ++r) {
      capacities.push_back(equal ? 12 : 1 + 20 * random.uniform());
    }
    Beside rates(capacities);
    const std::size_t most = 1 + random.below(40);
    for (int change = 0; change < 120; ++change) {
      if (rates.active() < most && random.below(2) == 0) {
        std::vector<Demand> demands;
        for (std::uint64_t i = 1 + random.below(4); i > 0; --i) {
          demands.push_back(
              {static_cast<Resource>(random.below(links)), weighted ? 0.2 + random.uniform() : 1});
        }
        rates.start(demands, weighted && random.below(3) == 0 ? 4 * random.uniform() : kNever);
      } else if (rates.slots() > 0) {
        const auto f = static_cast<std::uint32_t>(random.below(rates.slots()));
        if (rates.is_active(f)) rates.end(f);
      }
      if (::testing::Test::HasFailure()) {
        ADD_FAILURE() << "seed " << seed << ", change " << change;
        return;
      }
    }
  });
}

// Hosts send to others that are drawn; on some seeds through a tree.
TEST(LocalRates, OfHostsThatSendToEachOtherAreThoseOfAPlainReference) {
  for_each_seed(2, [](base::Random& random, std::uint64_t seed) {
    constexpr std::uint32_t kHosts = 40;
    constexpr std::uint32_t kLeaf = 8;
    const bool tree = seed % 2 == 0;
    std::vector<double> capacities(2 * kHosts, 12.5);
    capacities.resize(2 * kHosts + 2 * kHosts / kLeaf, 30);
    Beside rates(capacities);
    const auto draw = [&] { return static_cast<std::uint32_t>(random.below(kHosts)); };
    for (int change = 0; change < 300; ++change) {
      if (rates.active() < 120) {
        const std::uint32_t from = draw();
        const std::uint32_t to = draw();
        std::vector<Demand> demands{{from}, {kHosts + to}};
        if (tree && from / kLeaf != to / kLeaf) {
          demands.push_back({2 * kHosts + from / kLeaf});
          demands.push_back({2 * kHosts + kHosts / kLeaf + to / kLeaf});
        }
        rates.start(demands);
      } else {
        const auto f = static_cast<std::uint32_t>(random.below(rates.slots()));
        if (rates.is_active(f)) rates.end(f);
      }
      if (::testing::Test::HasFailure()) return;
    }
  });
}

}  // namespace
}  // namespace vicinal::sim
