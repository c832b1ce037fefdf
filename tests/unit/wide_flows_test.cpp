// Flows between many hosts: a network of many bottlenecks, where a change must cost what it changes and no more.
#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sim/fluid_network.hpp"
#include "support/max_min.hpp"
#include "support/random_runs.hpp"

namespace vicinal::sim {
namespace {

using vicinal::testing::DrawingFlow;
using vicinal::testing::for_each_seed;
using vicinal::testing::max_min_rates;

constexpr double kNic = 12.5;  // bytes per ns

// Each host keeps some flows in flight, to others that are drawn.
class Hosts {
 public:
  Hosts(base::Random& random, std::uint32_t hosts, std::uint32_t flows)
      : random_(random), hosts_(hosts), flows_(std::size_t{hosts} * flows) {
    for (std::uint32_t h = 0; h < 2 * hosts; ++h) add_link(kNic);
    carried_.resize(flows_.size(), 0);
    bytes_.resize(flows_.size(), 0);
  }
  Resource add_link(double bytes_per_ns) {
    capacities_.push_back(bytes_per_ns);
    return network.add_resource(BytesPerSecond{bytes_per_ns * 1e9});
  }
  void start_all() {
    for (std::uint32_t f = 0; f < flows_.size(); ++f) start(f, 0);
  }
  void start(std::uint32_t f, double at) {
    advance(at);
    const std::uint32_t from = f % hosts_;
    const auto to = static_cast<std::uint32_t>((from + 1 + random_.below(hosts_ - 1)) % hosts_);
    flows_[f] = {.demands = {{from}, {hosts_ + to}}, .active = true};
    bytes_[f] = 1000 + static_cast<double>(random_.below(100'000));
    carried_[f] = 0;
    network.start(f, {.amount = bytes_[f], .demands = flows_[f].demands}, at);
  }
  std::uint32_t end_next() {
    FluidNetwork::End end;
    advance(network.next_end());
    EXPECT_TRUE(network.take_end(now_, end));
    const auto f = static_cast<std::uint32_t>(end.id);
    flows_[f].active = false;
    EXPECT_NEAR(carried_[f], bytes_[f], 1e-9 * bytes_[f] + 1e-3) << "flow " << f;
    return f;
  }
  double now() const { return now_; }
  // Of every flow, as the textbook has them.
  void check_rates() {
    const std::vector<double> expected = max_min_rates(capacities_, flows_);
    for (std::uint32_t f = 0; f < flows_.size(); ++f) {
      if (!flows_[f].active) continue;
      EXPECT_NEAR(network.rate(f) * 1e-9, expected[f], 1e-9 * expected[f]) << "flow " << f;
    }
  }
  FluidNetwork network;

 private:
  void advance(double to) {
    for (std::uint32_t f = 0; f < flows_.size(); ++f) {
      if (flows_[f].active) carried_[f] += network.rate(f) * 1e-9 * (to - now_);
    }
    now_ = to;
  }
  base::Random& random_;
  std::uint32_t hosts_;
  std::vector<DrawingFlow> flows_;
  std::vector<double> capacities_;
  std::vector<double> carried_;
  std::vector<double> bytes_;
  double now_ = 0;
};

TEST(WideFlows, HaveTheRatesOfThePlainReferenceAndBringAllTheirBytes) {
  for_each_seed(2, [](base::Random& random, std::uint64_t /*seed*/) {
    Hosts hosts(random, 40, 3);
    hosts.start_all();
    for (int change = 0; change < 60; ++change) {
      hosts.check_rates();
      const std::uint32_t ended = hosts.end_next();
      hosts.check_rates();
      if (change < 40) hosts.start(ended, hosts.now());
      if (::testing::Test::HasFailure()) return;
    }
    while (hosts.network.flows() > 0 && !::testing::Test::HasFailure()) hosts.end_next();
  });
}

// Many flows of one bottleneck are a group again, and what comes then is as right.
TEST(WideFlows, KeepTheirRatesWhenOneBottleneckTakesAll) {
  base::Random random(1);
  FluidNetwork network;
  std::vector<double> capacities(101, 1);
  capacities[100] = 80;
  for (const double capacity : capacities) network.add_resource(BytesPerSecond{capacity * 1e9});
  std::vector<DrawingFlow> flows(100);
  const auto check = [&] {
    const std::vector<double> expected = max_min_rates(capacities, flows);
    for (std::uint32_t f = 0; f < flows.size(); ++f) {
      if (!flows[f].active) continue;
      EXPECT_NEAR(network.rate(f) * 1e-9, expected[f], 1e-9) << "flow " << f;
    }
  };
  // Up to 80 flows each has its own link as bottleneck, then all have the last one.
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    flows[f] = {.demands = {{f}, {100}}, .active = true};
    network.start(f, {.amount = 1e3 * (1 + random.uniform()), .demands = flows[f].demands}, 0);
    check();
  }
  while (network.flows() > 0) {
    FluidNetwork::End end;
    ASSERT_TRUE(network.take_end(network.next_end(), end));
    flows[end.id].active = false;
    check();
  }
}

// What cannot be wide: the kernel draws on a resource with a rule, and the copy that passes this and two hosts' links
// joins both.
TEST(WideFlows, GiveWayToKernelsThatTheyAreJoinedWith) {
  base::Random random(2);
  Hosts hosts(random, 40, 3);
  hosts.start_all();
  const Resource memory = hosts.network.add_resource(
      [](Drawing) { return Capacity{.all = 8, .for_copies = 2, .for_kernels = 8}; });
  constexpr std::uint64_t kKernel = 1000;
  constexpr std::uint64_t kCopy = 1001;
  const std::vector<Demand> of_kernel{{memory, 10}};
  hosts.network.start(
      kKernel, {.amount = 1e9, .demands = of_kernel, .most = 1, .drawer = Drawer::kernel}, 0);
  // 10 of 8: at 0.8 of its speed.
  EXPECT_DOUBLE_EQ(hosts.network.rate(kKernel), 0.8e9);
  const std::vector<Demand> of_copy{{memory}, {0}, {41}};
  hosts.network.start(kCopy, {.amount = 100, .demands = of_copy}, 0);
  // 2 are kept for the copy, of host 0's 12.5 it has a quarter at least: the kernel has 6 of 10.
  EXPECT_DOUBLE_EQ(hosts.network.rate(kCopy), 2e9);
  EXPECT_DOUBLE_EQ(hosts.network.rate(kKernel), 0.6e9);
  hosts.network.cancel(kCopy, 0);
  EXPECT_DOUBLE_EQ(hosts.network.rate(kKernel), 0.8e9);
  hosts.check_rates();
  for (int change = 0; change < 10; ++change) {
    hosts.start(hosts.end_next(), hosts.now());
    hosts.check_rates();
  }
}

// The same changes give the same ends, bit for bit.
TEST(WideFlows, EndAtTheSameTimesInEveryRun) {
  const auto ends = [] {
    base::Random random(3);
    Hosts hosts(random, 60, 4);
    hosts.start_all();
    std::vector<double> at;
    for (int change = 0; change < 60; ++change) {
      hosts.start(hosts.end_next(), hosts.now());
      at.push_back(hosts.now());
    }
    return at;
  };
  EXPECT_EQ(ends(), ends());
}

}  // namespace
}  // namespace vicinal::sim
