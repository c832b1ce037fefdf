// Kernels and copies that draw on one resource: rates worked out by hand, and what must hold of all of them. Amounts of
// kernels are nanoseconds at full speed, their weights bytes per nanosecond, as are capacities.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/fluid_network.hpp"
#include "support/flow_case.hpp"
#include "support/random_runs.hpp"

namespace vicinal::sim::kernel_flows {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using vicinal::testing::demands_of;
using vicinal::testing::FlowCase;
using vicinal::testing::for_each_seed;
using vicinal::testing::play;
using vicinal::testing::random_case_with_kernels;

using End = std::pair<std::uint64_t, double>;  // of a flow, by its number; in ns
using Ends = std::vector<End>;

Ends played(const FlowCase& flows, FluidNetwork& network) {
  Ends ends;
  for (const auto& [id, at] : play(flows, network, [](double) {})) ends.emplace_back(id, at);
  return ends;
}

class KernelFlows : public ::testing::Test {
 protected:
  Resource resource(double bytes_per_ns) {
    return network.add_resource(BytesPerSecond{bytes_per_ns * 1e9});
  }
  void kernel(std::uint64_t id, double ns, std::vector<Demand> demands, double at = 0) {
    network.start(id, {.amount = ns, .demands = demands, .most = 1, .drawer = Drawer::kernel}, at);
  }
  void copy(std::uint64_t id, double bytes, std::vector<Demand> demands, double at = 0) {
    network.start(id, {.amount = bytes, .demands = demands}, at);
  }
  double rate(std::uint64_t id) const { return network.rate(id) * 1e-9; }
  Ends run() {
    Ends ends;
    FluidNetwork::End end;
    while (network.next_end() < kNever && network.take_end(network.next_end(), end)) {
      ends.emplace_back(end.id, end.at);
    }
    return ends;
  }
  FluidNetwork network;
};

TEST_F(KernelFlows, AKernelThatHasAllThatItDemandsTakesItsTime) {
  const Resource memory = resource(8);
  kernel(0, 100, {{memory, 3}});
  kernel(1, 70, {{memory, 5}}, 10);
  EXPECT_THAT(run(), ElementsAre(End{1, 80}, End{0, 100}));
}

TEST_F(KernelFlows, TwoKernelsOfOneMemoryAreSlowedDownAlike) {
  // They demand 8 and 24 bytes/ns of 16, so both run at half their speed, with 4 and 12. At 100 ns kernel 1 has run its 50
  // ns; kernel 0 has 50 of its 100 left, alone at full speed.
  const Resource memory = resource(16);
  kernel(0, 100, {{memory, 8}});
  kernel(1, 50, {{memory, 24}});
  EXPECT_EQ(rate(0), 0.5);
  EXPECT_EQ(rate(1), 0.5);
  EXPECT_THAT(run(), ElementsAre(End{1, 100}, End{0, 150}));
}

TEST_F(KernelFlows, ACopyBesideAKernelHasAnEqualPart) {
  // 4 of 8 bytes/ns each: the kernel at half its speed until the copy's 400 bytes are there at 100 ns; then 50 ns more.
  const Resource memory = resource(8);
  kernel(0, 100, {{memory, 8}});
  copy(1, 400, {{memory}});
  EXPECT_THAT(run(), ElementsAre(End{1, 100}, End{0, 150}));
}

TEST_F(KernelFlows, TwoKernelsAndACopyHaveAThirdEach) {
  // Of 12 bytes/ns 4 are kept for the copy; the kernels demand 16 and have 8: half their speed.
  const Resource memory = resource(12);
  kernel(0, 100, {{memory, 10}});
  kernel(1, 100, {{memory, 6}});
  copy(2, 1000, {{memory}});
  EXPECT_THAT(rate(0), DoubleEq(0.5));
  EXPECT_THAT(rate(1), DoubleEq(0.5));
  EXPECT_THAT(rate(2), DoubleEq(4));
}

TEST_F(KernelFlows, WhatAKernelDoesNotDrawIsTheCopys) {
  const Resource memory = resource(8);
  kernel(0, 100, {{memory, 2}});
  copy(1, 600, {{memory}});
  EXPECT_EQ(rate(1), 6);
  EXPECT_THAT(run(), ElementsAre(End{0, 100}, End{1, 100}));
}

TEST_F(KernelFlows, WhatACopyDoesNotTakeIsTheKernels) {
  // The copy's link has 2 bytes/ns, so 6 of 8 are left to the kernel.
  const Resource memory = resource(8);
  const Resource link = resource(2);
  kernel(0, 75, {{memory, 8}});
  copy(1, 200, {{link}, {memory}});
  EXPECT_EQ(rate(0), 0.75);
  EXPECT_EQ(rate(1), 2);
  EXPECT_THAT(run(), ElementsAre(End{0, 100}, End{1, 100}));
}

TEST_F(KernelFlows, AKernelOfTwoMemoriesRunsAtThePaceOfTheShorter) {
  // Of the second it has 4 of 8 bytes/ns, so it draws 2 of the 4 of the first that it demands, and leaves 6 to the copy.
  const Resource first = resource(8);
  const Resource second = resource(4);
  kernel(0, 100, {{first, 4}, {second, 8}});
  copy(1, 1000, {{first}});
  EXPECT_EQ(rate(0), 0.5);
  EXPECT_EQ(rate(1), 6);
}

TEST_F(KernelFlows, CopiesAmongThemselvesShareByBytesAsEver) {
  // 6 of 8 bytes/ns beside the kernel; one has a link of 1.
  const Resource memory = resource(8);
  const Resource link = resource(1);
  kernel(0, 1000, {{memory, 2}});
  copy(1, 100, {{memory}, {link}});
  copy(2, 500, {{memory}});
  EXPECT_EQ(rate(1), 1);
  EXPECT_EQ(rate(2), 5);
}

// --- capacities that depend on who draws

TEST_F(KernelFlows, ACapacityThatFallsWithTheKernelsThatDraw) {
  // 8 bytes/ns for one kernel, 6 for two. Each demands 6: kernel 0 runs at full speed to 50 ns, both at half of it until
  // kernel 1 has run 25 ns at 100 ns; then kernel 0 has 25 ns left, at full speed.
  const Resource memory = network.add_resource([](Drawing drawing) {
    const double all = drawing.kernels > 1 ? 6 : 8;
    return Capacity{.all = all, .for_copies = 0, .for_kernels = all};
  });
  kernel(0, 100, {{memory, 6}});
  kernel(1, 25, {{memory, 6}}, 50);
  EXPECT_THAT(run(), ElementsAre(End{1, 100}, End{0, 125}));
}

TEST_F(KernelFlows, ARuleIsAskedForCopiesAloneToo) {
  const Resource network_card = network.add_resource([](Drawing drawing) {
    EXPECT_EQ(drawing.kernels, 0U);
    const double all = drawing.copies > 1 ? 6 : 8;
    return Capacity{.all = all, .for_copies = all, .for_kernels = all};
  });
  copy(0, 550, {{network_card}});
  copy(1, 150, {{network_card}}, 50);  // 3 bytes/ns each until 100 ns
  EXPECT_THAT(run(), ElementsAre(End{0, 100}, End{1, 100}));
}

TEST_F(KernelFlows, KernelsHaveNothingWhileCopiesTakeAllThatIsKeptForThem) {
  const Resource memory = network.add_resource(
      [](Drawing) { return Capacity{.all = 8, .for_copies = 8, .for_kernels = 8}; });
  kernel(0, 100, {{memory, 8}});
  copy(1, 400, {{memory}}, 20);
  EXPECT_EQ(rate(0), 0);
  EXPECT_THAT(run(), ElementsAre(End{1, 70}, End{0, 150}));
}

TEST_F(KernelFlows, CopiesTakeFirstOfWhatKernelsCannotUse) {
  // Four processors, two of them in kernels; the copy takes two and a half: the other two, and a quarter of each.
  const Resource processors = network.add_resource([](Drawing drawing) {
    return Capacity{.all = 4, .for_copies = 4, .for_kernels = double(drawing.kernels)};
  });
  const Resource link = resource(2.5);
  kernel(0, 100, {{processors}});
  kernel(2, 100, {{processors}});
  copy(1, 100, {{processors}, {link}});
  EXPECT_EQ(rate(0), 0.75);
  EXPECT_EQ(rate(2), 0.75);
  EXPECT_EQ(rate(1), 2.5);
}

// The model of Swartvagher's thesis, chapter 5: of n cores that compute and a message, with all that a core draws alone
// (4), a message alone (8), what the memory has (16, and 1 less for each core beyond four), and the part of a message
// that is kept for it (a quarter). Nothing is left to compute but the formula.
TEST_F(KernelFlows, TheFormulaOfComputationsAndAMessage) {
  constexpr double kCore = 4;
  constexpr double kMessage = 8;
  constexpr double kKept = 0.25;
  const auto total = [](double cores) { return 16 - std::max(0.0, cores - 4); };
  for (std::uint32_t n = 1; n <= 8; ++n) {
    FluidNetwork flows;
    const Resource memory = flows.add_resource([&](Drawing drawing) {
      const double all = total(drawing.kernels);
      return Capacity{.all = all, .for_copies = kKept * kMessage, .for_kernels = all};
    });
    const Resource card = flows.add_resource(BytesPerSecond{kMessage * 1e9});
    const Demand of_core{memory, kCore};
    const Demand of_message[] = {{memory}, {card}};
    for (std::uint32_t core = 0; core < n; ++core) {
      flows.start(core, {1000, {&of_core, 1}, 1, Drawer::kernel}, 0);
    }
    flows.start(n, {1000, of_message}, 0);
    const bool fits = n * kCore + kKept * kMessage < total(n);
    const double computing = fits ? n * kCore : total(n) - kKept * kMessage;
    const double message = fits ? std::min(total(n) - computing, kMessage) : kKept * kMessage;
    for (std::uint32_t core = 0; core < n; ++core) {
      EXPECT_NEAR(flows.rate(core) * 1e-9 * kCore, computing / n, 1e-12) << n << " cores";
    }
    EXPECT_NEAR(flows.rate(n) * 1e-9, message, 1e-12) << n << " cores";
  }
}

// --- in all cases

constexpr std::uint64_t kCases = 200;
constexpr std::size_t kMostFlows = 20;
constexpr double kRounding = 1e-9;  // relative

// `rate` says which flows are active; an active flow may have the rate 0.
TEST(KernelFlowCases, NothingDrawsMoreThanThereIsAndNoCopyWaitsForNothing) {
  for_each_seed(kCases, [](base::Random& random, std::uint64_t /*seed*/) {
    const FlowCase flows = random_case_with_kernels(random, kMostFlows);
    FluidNetwork network;
    play(flows, network, [&](double at) {
      std::vector<double> used(flows.bandwidths.size());
      for (std::size_t f = 0; f < flows.flows.size(); ++f) {
        for (const Demand& demand : demands_of(flows.flows[f])) {
          used[demand.resource] += demand.weight * network.rate(f);
        }
      }
      for (std::size_t r = 0; r < used.size(); ++r) {
        EXPECT_LE(used[r], flows.bandwidths[r] * (1 + kRounding)) << "resource " << r;
      }
      for (std::size_t f = 0; f < flows.flows.size(); ++f) {
        const FlowCase::Flow& flow = flows.flows[f];
        const double rate = network.rate(f);
        if (rate == 0) continue;
        EXPECT_LE(rate, flow.most * 1e9 * (1 + kRounding)) << "flow " << f;
        if (flow.drawer == Drawer::kernel || rate >= flow.most * 1e9 * (1 - kRounding)) continue;
        EXPECT_TRUE(std::ranges::any_of(
            flow.path,
            [&](Resource r) { return used[r] >= flows.bandwidths[r] * (1 - kRounding); }))
            << "flow " << f << " before " << at << " ns";
      }
    });
  });
}

TEST(KernelFlowCases, EveryFlowEndsAndAKernelNotBeforeItsTime) {
  for_each_seed(kCases, [](base::Random& random, std::uint64_t /*seed*/) {
    const FlowCase flows = random_case_with_kernels(random, kMostFlows);
    FluidNetwork network;
    const Ends ends = played(flows, network);
    ASSERT_EQ(ends.size(), flows.flows.size());
    for (const auto& [id, at] : ends) {
      const FlowCase::Flow& flow = flows.flows[id];
      if (flow.drawer == Drawer::copy) continue;
      const auto time = static_cast<double>(flow.bytes);
      EXPECT_GE(at - flow.at, time * (1 - kRounding)) << "flow " << id;
    }
  });
}

TEST(KernelFlowCases, EndsAreTheSameBitForBit) {
  for_each_seed(kCases, [](base::Random& random, std::uint64_t /*seed*/) {
    const FlowCase flows = random_case_with_kernels(random, kMostFlows);
    FluidNetwork first;
    FluidNetwork second;
    EXPECT_EQ(played(flows, first), played(flows, second));
  });
}

}  // namespace
}  // namespace vicinal::sim::kernel_flows
