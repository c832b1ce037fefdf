// Flows that share resources: cases worked out by hand, and what must hold of all of them.
#include "sim/fluid_network.hpp"

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/flow_case.hpp"
#include "support/random_runs.hpp"

namespace vicinal::sim {

inline bool operator==(const FluidNetwork::End& a, const FluidNetwork::End& b) {
  return a.id == b.id && a.at == b.at;
}
inline void PrintTo(const FluidNetwork::End& end, std::ostream* out) {
  *out << "flow " << end.id << " at " << ::testing::PrintToString(end.at);
}

namespace {

using ::testing::ElementsAre;
using vicinal::testing::demands_of;
using vicinal::testing::FlowCase;
using vicinal::testing::for_each_seed;
using vicinal::testing::play;
using vicinal::testing::random_flow_case;
using vicinal::testing::random_weighted_case;

using Ends = std::vector<FluidNetwork::End>;

// Bandwidths in bytes per nanosecond: the numbers stay small. Powers of two, so that ends are exact.
FlowCase on_links(const std::vector<double>& bytes_per_ns, std::vector<FlowCase::Flow> flows) {
  FlowCase result;
  for (const double bandwidth : bytes_per_ns) result.bandwidths.push_back(bandwidth * 1e9);
  result.flows = std::move(flows);
  return result;
}

Ends played(const FlowCase& flows) {
  FluidNetwork network;
  return play(flows, network, [](double) {});
}

// --- by hand

TEST(FluidNetwork, OneFlowHasItsNarrowestLinkAlone) {
  // 1000 bytes at 2 bytes/ns from 10 ns on.
  EXPECT_THAT(played(on_links({4, 2, 8}, {{1000, {0, 1, 2}, 10}})),
              ElementsAre(FluidNetwork::End{0, 510}));
}

TEST(FluidNetwork, TwoFlowsOnOneLinkHaveHalfOfItEachUntilOneEnds) {
  // 2 bytes/ns for both: the first ends after 100 ns at 1 byte/ns; then the second has 2 bytes/ns for
  // its other 200 bytes.
  EXPECT_THAT(played(on_links({2}, {{100, {0}, 0}, {300, {0}, 0}})),
              ElementsAre(FluidNetwork::End{0, 100}, FluidNetwork::End{1, 200}));
}

TEST(FluidNetwork, WhatAFlowCannotUseOfALinkGoesToTheOthers) {
  // Links of 2 and 8 bytes/ns. Flows 0 and 1 pass the first and get 1 each; flow 1 passes the second
  // too, and leaves 7 of it to flow 2.
  FluidNetwork network;
  const FlowCase flows = on_links({2, 8}, {{1000, {0}, 0}, {1000, {0, 1}, 0}, {700, {1}, 0}});
  std::vector<double> rates;
  const Ends ends = play(flows, network, [&](double) {
    if (network.flows() < 3) return;
    for (const std::uint64_t flow : {0U, 1U, 2U}) rates.push_back(network.rate(flow));
  });
  EXPECT_THAT(rates, ElementsAre(1e9, 1e9, 7e9));
  EXPECT_THAT(ends, ElementsAre(FluidNetwork::End{2, 100}, FluidNetwork::End{0, 1000},
                                FluidNetwork::End{1, 1000}));
}

TEST(FluidNetwork, ALateFlowTakesItsShareFromThenOn) {
  // 4 bytes/ns. Flow 0 has 400 of its 800 bytes when flow 1 comes at 100 ns; 2 bytes/ns each until
  // flow 1's 200 are there, at 200 ns; flow 0's last 200 at 4 bytes/ns.
  EXPECT_THAT(played(on_links({4}, {{800, {0}, 0}, {200, {0}, 100}})),
              ElementsAre(FluidNetwork::End{1, 200}, FluidNetwork::End{0, 250}));
}

TEST(FluidNetwork, LinksThatALaterFlowJoinsBoundEachOtherOnlyThen) {
  // Links of 4 and 2 bytes/ns with flows 0 and 1 alone on them until 50 ns: 300 and 100 bytes are left.
  // Flow 2 passes both: 1 byte/ns for it and for flow 1, 3 for flow 0, until its 50 bytes are there at
  // 100 ns; then 150 bytes at 4 and 50 at 2.
  EXPECT_THAT(played(on_links({4, 2}, {{500, {0}, 0}, {200, {1}, 0}, {50, {0, 1}, 50}})),
              ElementsAre(FluidNetwork::End{2, 100}, FluidNetwork::End{1, 125},
                          FluidNetwork::End{0, 137.5}));
}

TEST(FluidNetwork, AFlowThatStartsAsAnotherEndsFindsTheLinkFree) {
  EXPECT_THAT(played(on_links({4}, {{400, {0}, 0}, {400, {0}, 100}})),
              ElementsAre(FluidNetwork::End{0, 100}, FluidNetwork::End{1, 200}));
}

TEST(FluidNetwork, AFlowWithoutBytesEndsAtOnceAndTakesNothing) {
  EXPECT_THAT(played(on_links({4}, {{400, {0}, 0}, {0, {0}, 50}})),
              ElementsAre(FluidNetwork::End{1, 50}, FluidNetwork::End{0, 100}));
}

TEST(FluidNetwork, AFlowWithoutResourcesEndsAtOnce) {
  EXPECT_THAT(played(on_links({4}, {{400, {0}, 0}, {1'000'000, {}, 50}})),
              ElementsAre(FluidNetwork::End{1, 50}, FluidNetwork::End{0, 100}));
}

TEST(FluidNetwork, EqualEndsComeInTheOrderOfTheStarts) {
  FluidNetwork network;
  const Resource link = network.add_resource(BytesPerSecond{4e9});
  const std::vector<Demand> demands{{link}};
  for (const std::uint64_t id : {7U, 3U, 5U, 1U}) network.start(id, {100, demands}, 0);
  Ends ends(4);
  for (FluidNetwork::End& end : ends) ASSERT_TRUE(network.take_end(100, end));
  EXPECT_THAT(ends, ElementsAre(FluidNetwork::End{7, 100}, FluidNetwork::End{3, 100},
                                FluidNetwork::End{5, 100}, FluidNetwork::End{1, 100}));
}

TEST(FluidNetwork, AResourcePassedTwiceIsUsedTwice) {
  EXPECT_THAT(played(on_links({4}, {{400, {0, 0}, 0}})), ElementsAre(FluidNetwork::End{0, 200}));
}

TEST(FluidNetwork, AFlowOfAGreaterWeightTakesThatMuchMoreAtTheSameRate) {
  // 8 bytes/ns: both have 1 unit/ns, of which one of the first takes 2 bytes, one of the second 6. At 100 ns the
  // second has ended, and the first has 4 units/ns for its other 400.
  FlowCase flows = on_links({8}, {{500, {0}, 0}, {100, {0}, 0}});
  flows.flows[0].weights = {2};
  flows.flows[1].weights = {6};
  EXPECT_THAT(played(flows), ElementsAre(FluidNetwork::End{1, 100}, FluidNetwork::End{0, 200}));
}

TEST(FluidNetwork, WeightsOfAFlowDifferFromLinkToLink) {
  // Links of 8 and 2 bytes/ns; a unit takes 4 of the first and 0.5 of the second: 2 units/ns by the first, 4 by
  // the second.
  FlowCase flows = on_links({8, 2}, {{600, {0, 1}, 0}});
  flows.flows[0].weights = {4, 0.5};
  EXPECT_THAT(played(flows), ElementsAre(FluidNetwork::End{0, 300}));
}

TEST(FluidNetwork, WhatASlowFlowDoesNotTakeGoesToTheOthers) {
  // 4 bytes/ns, of which the first takes 1 at most: 3 are left to the second, and nothing more comes to the
  // first when that has ended.
  FlowCase flows = on_links({4}, {{400, {0}, 0}, {300, {0}, 0}});
  flows.flows[0].most = 1;
  EXPECT_THAT(played(flows), ElementsAre(FluidNetwork::End{1, 100}, FluidNetwork::End{0, 400}));
}

TEST(FluidNetwork, AFlowOfItsOwnRateNeedsNoResource) {
  FlowCase flows = on_links({4}, {{400, {}, 10}});
  flows.flows[0].most = 2;
  EXPECT_THAT(played(flows), ElementsAre(FluidNetwork::End{0, 210}));
}

TEST(FluidNetwork, FlowsThatAnEndedOneHasJoinedDoNotMeetAnyMore) {
  // Links of 4 and 2 bytes/ns, joined by flow 1 until its 100 bytes are there at 100 ns, at 1 byte/ns. Flow 0 had 3
  // of the first and has 100 bytes left, at 4; flow 2 had 1 of the second and has 300 left, at 2. What starts on the
  // first at 200 ns has it alone.
  EXPECT_THAT(
      played(on_links({4, 2}, {{400, {0}, 0}, {100, {0, 1}, 0}, {400, {1}, 0}, {40, {0}, 200}})),
      ElementsAre(FluidNetwork::End{1, 100}, FluidNetwork::End{0, 125}, FluidNetwork::End{3, 210},
                  FluidNetwork::End{2, 250}));
}

TEST(FluidNetwork, EqualEndsOfFlowsThatDoNotMeetComeInTheOrderOfTheStarts) {
  EXPECT_THAT(
      played(on_links({1, 2, 4}, {{400, {2}, 0}, {100, {0}, 0}, {200, {1}, 0}})),
      ElementsAre(FluidNetwork::End{0, 100}, FluidNetwork::End{1, 100}, FluidNetwork::End{2, 100}));
}

TEST(FluidNetwork, AFlowThatIsCutOffLeavesItsShareToTheOthers) {
  // 4 bytes/ns for two flows; the second is cut off at 100 ns, when the first has 200 bytes left.
  FluidNetwork network;
  const std::vector<Demand> demands{{network.add_resource(BytesPerSecond{4e9})}};
  network.start(1, {400, demands}, 0);
  network.start(2, {400, demands}, 0);
  network.cancel(2, 100);
  EXPECT_EQ(network.flows(), 1U);
  EXPECT_EQ(network.next_end(), 150);
}

TEST(FluidNetwork, WeightsAndRatesThatCannotBeAreRefused) {
  FluidNetwork network;
  const Resource link = network.add_resource(BytesPerSecond{4e9});
  for (const double weight : {0.0, -1.0, 1e-9, 1e9, kNever}) {
    const std::vector<Demand> demands{{link, weight}};
    EXPECT_THROW(network.start(1, {100, demands}, 0), std::invalid_argument);
  }
  EXPECT_THROW(network.start(1, {100, {}, 0.0}, 0), std::invalid_argument);
  EXPECT_EQ(network.flows(), 0U);
}

TEST(FluidNetwork, AskingBeforeTheEndFindsNoneAndChangesNothing) {
  FluidNetwork network;
  const Resource link = network.add_resource(BytesPerSecond{3e9});
  const std::vector<Demand> demands{{link}};
  network.start(1, {1000, demands}, 0);
  const double end = network.next_end();
  FluidNetwork::End taken;
  for (double t = 0.1; t < end; t += 0.1) ASSERT_FALSE(network.take_end(t, taken));
  EXPECT_EQ(network.next_end(), end);
  ASSERT_TRUE(network.take_end(end, taken));
  EXPECT_EQ(taken, (FluidNetwork::End{1, end}));
  EXPECT_EQ(network.next_end(), kNever);
  EXPECT_FALSE(network.take_end(1e9, taken));
}

TEST(FluidNetwork, AResourceWithoutABandwidthIsRefused) {
  FluidNetwork network;
  for (const double bandwidth : {0.0, -1.0, kNever}) {
    EXPECT_THROW(network.add_resource(BytesPerSecond{bandwidth}), std::invalid_argument);
  }
}

// --- in all cases

constexpr std::uint64_t kCases = 300;
constexpr std::size_t kMostFlows = 30;
constexpr double kRounding = 1e-9;  // relative

// Without and with weights.
template <typename Check>
void for_each_case(Check check) {
  for_each_seed(kCases, [&](base::Random& random, std::uint64_t /*seed*/) {
    check(random_flow_case(random, kMostFlows), random);
    check(random_weighted_case(random, kMostFlows), random);
  });
}

struct Use {
  double sum = 0;
  double most = 0;
};

// The active flows, by what the case says of them.
std::vector<std::size_t> active(const FlowCase& flows, const FluidNetwork& network) {
  std::vector<std::size_t> found;
  for (std::size_t f = 0; f < flows.flows.size(); ++f) {
    if (network.rate(f) > 0) found.push_back(f);
  }
  return found;
}

std::vector<Use> use_of_resources(const FlowCase& flows, const FluidNetwork& network) {
  std::vector<Use> uses(flows.bandwidths.size());
  for (const std::size_t f : active(flows, network)) {
    for (const Demand& demand : demands_of(flows.flows[f])) {
      uses[demand.resource].sum += demand.weight * network.rate(f);
      uses[demand.resource].most = std::max(uses[demand.resource].most, network.rate(f));
    }
  }
  return uses;
}

// It is as fast as it may be, or passes a resource that is full and of which no flow has more: the definition of
// max-min fair.
bool has_bottleneck(const FlowCase& flows, const std::vector<Use>& uses, std::size_t flow,
                    double rate) {
  if (rate >= flows.flows[flow].most * 1e9 * (1 - kRounding)) return true;
  return std::ranges::any_of(flows.flows[flow].path, [&](Resource r) {
    return uses[r].sum >= flows.bandwidths[r] * (1 - kRounding) &&
           rate >= uses[r].most * (1 - kRounding);
  });
}

TEST(FluidNetworkCases, RatesAreMaxMinFairAtEveryMoment) {
  for_each_case([](const FlowCase& flows, base::Random&) {
    FluidNetwork network;
    play(flows, network, [&](double at) {
      const std::vector<Use> uses = use_of_resources(flows, network);
      for (std::size_t r = 0; r < uses.size(); ++r) {
        EXPECT_LE(uses[r].sum, flows.bandwidths[r] * (1 + kRounding)) << "resource " << r;
      }
      const std::vector<std::size_t> running = active(flows, network);
      EXPECT_EQ(running.size(), network.flows());
      for (const std::size_t f : running) {
        EXPECT_LE(network.rate(f), flows.flows[f].most * 1e9 * (1 + kRounding)) << "flow " << f;
      }
      for (const std::size_t f : running) {
        EXPECT_TRUE(has_bottleneck(flows, uses, f, network.rate(f)))
            << "flow " << f << " before " << at << " ns";
      }
    });
  });
}

TEST(FluidNetworkCases, RatesOverTimeSumUpToTheBytes) {
  for_each_case([](const FlowCase& flows, base::Random&) {
    FluidNetwork network;
    std::vector<double> moved(flows.flows.size(), 0);
    double now = 0;
    play(flows, network, [&](double at) {
      for (const std::size_t f : active(flows, network)) {
        moved[f] += network.rate(f) * 1e-9 * (at - now);
      }
      now = at;
    });
    for (std::size_t f = 0; f < moved.size(); ++f) {
      const auto bytes = static_cast<double>(flows.flows[f].bytes);
      EXPECT_NEAR(moved[f], bytes, bytes * kRounding + 1e-3) << "flow " << f;
    }
  });
}

TEST(FluidNetworkCases, EveryFlowEndsOnceAndEndsAreInOrder) {
  for_each_case([](const FlowCase& flows, base::Random&) {
    const Ends ends = played(flows);
    ASSERT_EQ(ends.size(), flows.flows.size());
    std::vector<bool> ended(ends.size(), false);
    double last = 0;
    for (const FluidNetwork::End& end : ends) {
      EXPECT_FALSE(ended.at(end.id)) << "flow " << end.id;
      ended[end.id] = true;
      EXPECT_GE(end.at, last) << "flow " << end.id;
      EXPECT_GE(end.at, flows.flows[end.id].at) << "flow " << end.id;
      last = end.at;
    }
  });
}

// Bit for bit: a simulation says the same however its driver steps through time.
TEST(FluidNetworkCases, EndsDoNotDependOnTheTimesAtWhichOneAsks) {
  for_each_case([](const FlowCase& flows, base::Random& random) {
    FluidNetwork network;
    double now = 0;
    const Ends asked = play(flows, network, [&](double at) {
      FluidNetwork::End none;
      for (std::uint64_t steps = random.below(20); steps > 0; --steps) {
        now += (at - now) * random.uniform();
        if (now == at) break;
        EXPECT_FALSE(network.take_end(now, none));
      }
      now = at;
    });
    EXPECT_EQ(asked, played(flows));
  });
}

}  // namespace
}  // namespace vicinal::sim
