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
using vicinal::testing::FlowCase;
using vicinal::testing::for_each_seed;
using vicinal::testing::play;
using vicinal::testing::random_flow_case;

using Ends = std::vector<FluidNetwork::End>;
using Path = std::vector<FluidNetwork::Resource>;

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
  const FluidNetwork::Resource link = network.add_resource(BytesPerSecond{4e9});
  for (const std::uint64_t id : {7U, 3U, 5U, 1U}) network.start(id, Bytes{100}, {{link}}, 0);
  Ends ends(4);
  for (FluidNetwork::End& end : ends) ASSERT_TRUE(network.take_end(100, end));
  EXPECT_THAT(ends, ElementsAre(FluidNetwork::End{7, 100}, FluidNetwork::End{3, 100},
                                FluidNetwork::End{5, 100}, FluidNetwork::End{1, 100}));
}

TEST(FluidNetwork, AResourcePassedTwiceIsUsedTwice) {
  EXPECT_THAT(played(on_links({4}, {{400, {0, 0}, 0}})), ElementsAre(FluidNetwork::End{0, 200}));
}

TEST(FluidNetwork, AskingBeforeTheEndFindsNoneAndChangesNothing) {
  FluidNetwork network;
  const FluidNetwork::Resource link = network.add_resource(BytesPerSecond{3e9});
  network.start(1, Bytes{1000}, {{link}}, 0);
  const double end = network.next_end();
  FluidNetwork::End taken;
  for (double t = 0.1; t < end; t += 0.1) ASSERT_FALSE(network.take_end(t, taken));
  EXPECT_EQ(network.next_end(), end);
  ASSERT_TRUE(network.take_end(end, taken));
  EXPECT_EQ(taken, (FluidNetwork::End{1, end}));
  EXPECT_EQ(network.next_end(), FluidNetwork::kNever);
  EXPECT_FALSE(network.take_end(1e9, taken));
}

TEST(FluidNetwork, AResourceWithoutABandwidthIsRefused) {
  FluidNetwork network;
  for (const double bandwidth : {0.0, -1.0, FluidNetwork::kNever}) {
    EXPECT_THROW(network.add_resource(BytesPerSecond{bandwidth}), std::invalid_argument);
  }
}

// --- in all cases

constexpr std::uint64_t kCases = 300;
constexpr std::size_t kMostFlows = 30;
constexpr double kRounding = 1e-9;  // relative

template <typename Check>
void for_each_case(Check check) {
  for_each_seed(kCases, [&](base::Random& random, std::uint64_t /*seed*/) {
    check(random_flow_case(random, kMostFlows), random);
  });
}

struct Use {
  double sum = 0;
  double most = 0;
};

// The flows in course, by what the case says of them.
std::vector<std::size_t> in_course(const FlowCase& flows, const FluidNetwork& network) {
  std::vector<std::size_t> found;
  for (std::size_t f = 0; f < flows.flows.size(); ++f) {
    if (network.rate(f) > 0) found.push_back(f);
  }
  return found;
}

std::vector<Use> use_of_resources(const FlowCase& flows, const FluidNetwork& network) {
  std::vector<Use> uses(flows.bandwidths.size());
  for (const std::size_t f : in_course(flows, network)) {
    for (const FluidNetwork::Resource r : flows.flows[f].path) {
      uses[r].sum += network.rate(f);
      uses[r].most = std::max(uses[r].most, network.rate(f));
    }
  }
  return uses;
}

// It passes a resource that is full and of which no flow has more: the definition of max-min fair.
bool has_bottleneck(const FlowCase& flows, const std::vector<Use>& uses, std::size_t flow,
                    double rate) {
  return std::ranges::any_of(flows.flows[flow].path, [&](FluidNetwork::Resource r) {
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
      const std::vector<std::size_t> running = in_course(flows, network);
      EXPECT_EQ(running.size(), network.flows());
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
      for (const std::size_t f : in_course(flows, network)) {
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
