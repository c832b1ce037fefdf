// Resources whose capacities one rule sets by what is drawn on all of them: rates worked out by hand, and that rates found change
// by change are those found at once.
#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sim/fluid_network.hpp"
#include "support/random_runs.hpp"

namespace vicinal::sim::joint_rules {
namespace {

using ::testing::DoubleEq;
using vicinal::testing::for_each_seed;

// Kernels draw on the first resource, copies on the second. Copies have 12 bytes/ns, less the part of 8 bytes/ns that kernels
// demand; kernels have what copies leave of 20, 1 at least.
void share(std::span<const Drawn> drawn, std::span<double> capacities) {
  capacities[0] = std::max(1.0, 20 - drawn[1].copies);
  capacities[1] = 12 / (1 + drawn[0].kernels / 8);
}

Resource add_host(FluidNetwork& network) {
  return network.add_resources(2, share);
}

void start_kernel(FluidNetwork& network, std::uint64_t id, Resource host, double weight,
                  double ns = 1e6, double at = 0) {
  const Demand demand{host, weight};
  network.start(id, {.amount = ns, .demands = {&demand, 1}, .most = 1, .drawer = Drawer::kernel},
                at);
}

TEST(JointRules, KernelsAndCopiesFollowEachOther) {
  FluidNetwork network;
  const Resource host = add_host(network);
  const std::vector<Demand> path{{host + 1}};
  network.start(0, {.amount = 120, .demands = path}, 0);
  EXPECT_THAT(network.rate(0), DoubleEq(12e9));
  // 5 ns at 12 bytes/ns leave 60 bytes; beside a kernel that demands 24 the copy has 12 / 4 = 3, and the kernel 17 of its 24.
  start_kernel(network, 1, host, 24, 100, 5);
  EXPECT_THAT(network.rate(0), DoubleEq(3e9));
  EXPECT_THAT(network.rate(1), DoubleEq(17. / 24 * 1e9));
  // The copy ends at 25 ns; then 20 of 24 are the kernel's.
  FluidNetwork::End end;
  ASSERT_TRUE(network.take_end(1000, end));
  EXPECT_EQ(end.id, 0U);
  EXPECT_THAT(end.at, DoubleEq(25));
  EXPECT_THAT(network.rate(1), DoubleEq(20. / 24 * 1e9));
}

TEST(JointRules, ACopyBetweenTwoHostsCarriesWhatHappensOnOneToTheKernelsOfTheOther) {
  // It leaves 8 of 20 to a kernel of the second host that demands 32, so it has 12 / 5 itself, and the kernel 17.6. When a
  // kernel on the first demands 88, the copy has 1: the second's kernel has 19 of 32.
  FluidNetwork network;
  const Resource first = add_host(network);
  const Resource second = add_host(network);
  const std::vector<Demand> path{{first + 1}, {second + 1}};
  start_kernel(network, 0, second, 32);
  network.start(1, {.amount = 1e6, .demands = path}, 0);
  EXPECT_THAT(network.rate(1), DoubleEq(2.4e9));
  EXPECT_THAT(network.rate(0), DoubleEq(17.6 / 32 * 1e9));
  start_kernel(network, 2, first, 88, 10, 1);
  EXPECT_THAT(network.rate(1), DoubleEq(1e9));
  EXPECT_THAT(network.rate(0), DoubleEq(19. / 32 * 1e9));
  EXPECT_THAT(network.rate(2), DoubleEq(19. / 88 * 1e9));
  FluidNetwork::End end;
  ASSERT_TRUE(network.take_end(1000, end));
  EXPECT_EQ(end.id, 2U);
  EXPECT_THAT(network.rate(1), DoubleEq(2.4e9));
  EXPECT_THAT(network.rate(0), DoubleEq(17.6 / 32 * 1e9));
}

// Hosts with a NIC each.
struct Cluster {
  struct Flow {
    std::vector<Demand> demands;
    Drawer drawer = Drawer::copy;
  };
  explicit Cluster(std::uint32_t hosts) {
    for (std::uint32_t h = 0; h < hosts; ++h) {
      memory.push_back(add_host(network));
      nics.push_back(network.add_resource(BytesPerSecond{10e9}));
      nics.push_back(network.add_resource(BytesPerSecond{10e9}));
    }
  }
  void start(std::uint64_t id, const Flow& flow, double at) {
    const double most = flow.drawer == Drawer::kernel ? 1 : kNever;
    network.start(
        id, {.amount = 1e12, .demands = flow.demands, .most = most, .drawer = flow.drawer}, at);
  }
  FluidNetwork network;
  std::vector<Resource> memory;
  std::vector<Resource> nics;  // out and in of each host
};

Cluster::Flow random_flow(const Cluster& cluster, base::Random& random) {
  const auto hosts = cluster.memory.size();
  const std::size_t from = random.below(hosts);
  if (random.below(3) == 0) {
    return {{{cluster.memory[from], 1 + 10 * random.uniform()}}, Drawer::kernel};
  }
  const std::size_t to = (from + 1 + random.below(hosts - 1)) % hosts;
  return {{{cluster.nics[2 * from]},
           {cluster.nics[2 * to + 1]},
           {cluster.memory[from] + 1},
           {cluster.memory[to] + 1}}};
}

TEST(JointRules, RatesAfterManyChangesAreThoseOfAllFlowsAtOnce) {
  for_each_seed(4, [](base::Random& random, std::uint64_t /*seed*/) {
    const auto hosts = static_cast<std::uint32_t>(2 + random.below(40));
    const std::size_t most = 20 + random.below(300);
    Cluster cluster(hosts);
    std::map<std::uint64_t, Cluster::Flow> flows;
    for (std::uint64_t change = 0; change < 3 * most; ++change) {
      const auto at = static_cast<double>(change);
      if (flows.size() > most || (flows.size() > most / 2 && random.below(2) == 0)) {
        const auto gone = std::next(flows.begin(), static_cast<int>(random.below(flows.size())));
        cluster.network.cancel(gone->first, at);
        flows.erase(gone);
      } else {
        flows[change] = random_flow(cluster, random);
        cluster.start(change, flows[change], at);
      }
      if (change % 61 != 0 && change + 1 < 3 * most) continue;
      Cluster afresh(hosts);
      for (const auto& [id, flow] : flows) afresh.start(id, flow, 0);
      for (const auto& [id, flow] : flows) {
        const double rate = afresh.network.rate(id);
        ASSERT_NEAR(cluster.network.rate(id), rate, 1e-7 * rate) << "flow " << id;
      }
    }
  });
}

}  // namespace
}  // namespace vicinal::sim::joint_rules
