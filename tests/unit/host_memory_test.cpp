// The memory of simulated hosts against the contention model, for the machines of its thesis, and where data lie.
#include "sim/host_memory.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/contention_tables.hpp"
#include "support/small_runs.hpp"
#include "vicinal/error.hpp"

namespace vicinal::sim::host_memory {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using vicinal::testing::contention_model;
using vicinal::testing::contention_tables;
using vicinal::testing::ContentionTable;
using vicinal::testing::message_of;

constexpr std::uint64_t kTransfer = 1000;

// Kernels on the first cores that demand what a core can have, on one node, beside receives on another.
class Host : private Actor {
 public:
  explicit Host(const ContentionModel& model, std::vector<BytesPerSecond> links = {})
      : memory(world, model, links), place_(world.enter(*this)) {}
  void kernel(std::uint32_t core, BytesPerSecond demand, std::uint32_t node, double seconds) {
    base::SureVector<Demand> demands;
    std::vector<double> bytes(memory.nodes());
    bytes[node] = 1;
    const double most = memory.add_kernel(core, demand, bytes, demands);
    world.start(
        place_, core,
        {.amount = seconds * 1e9, .demands = demands, .most = most, .drawer = Drawer::kernel});
  }
  void transfer(std::uint32_t node, double bytes, std::uint64_t id = kTransfer,
                HostMemory::Lane lane = HostMemory::kReceives) {
    base::SureVector<Demand> demands;
    memory.add_transfer(lane, node, demands);
    world.start(place_, id, {.amount = bytes, .demands = demands});
  }
  double end_of(std::uint64_t flow) {  // in seconds
    while (!ends_.contains(flow) && world.step()) {
    }
    return ends_[flow];
  }

  World world;
  HostMemory memory;

 private:
  void happened(std::uint64_t /*token*/) override {}
  void flow_ended(std::uint64_t token) override { ends_[token] = world.now().seconds(); }
  const World::Place place_;
  std::map<std::uint64_t, double> ends_;
};

void expect_near(double simulated, BytesPerSecond predicted, const std::string& what) {
  EXPECT_NEAR(simulated, predicted.value, 1e-3 * predicted.value) << what;
}

struct Case {
  ContentionTable table;
  std::uint32_t cores = 0;
  std::uint32_t kernels_on = 0;
  std::uint32_t received_on = 0;
  BytesPerSecond core() const {
    const bool is_local = kernels_on < table.model.numa_nodes_per_socket;
    return (is_local ? table.model.local : table.model.remote).core;
  }
};

double simulated_transfer(const Case& what) {
  Host host(what.table.model);
  for (std::uint32_t core = 0; core < what.cores; ++core) {
    host.kernel(core, what.core(), what.kernels_on, 1e6);
  }
  host.transfer(what.received_on, 1e9);
  return 1e9 / host.end_of(kTransfer);
}

double simulated_computations(const Case& what, bool is_alone) {
  Host host(what.table.model);
  if (!is_alone) host.transfer(what.received_on, 1e15);
  for (std::uint32_t core = 0; core < what.cores; ++core) {
    host.kernel(core, what.core(), what.kernels_on, 1);
  }
  return what.cores * what.core().value / host.end_of(0);
}

TEST(HostMemory, KernelsBesideAReceiveHaveWhatTheModelSaysOnAllMachinesPlacementsAndCores) {
  for (const ContentionTable& table : contention_tables()) {
    const std::uint32_t nodes = table.model.sockets * table.model.numa_nodes_per_socket;
    for (std::uint32_t place = 0; place < nodes * nodes; ++place) {
      for (std::uint32_t cores = 1; cores <= table.model.cores_per_socket; ++cores) {
        const Case what{table, cores, place / nodes, place % nodes};
        const ContentionShares shares =
            predict_contention(table.model, cores, what.kernels_on, what.received_on);
        const std::string name = table.machine + ", " + std::to_string(cores) + " cores, " +
                                 std::to_string(place / nodes) + " and " +
                                 std::to_string(place % nodes);
        expect_near(simulated_transfer(what), shares.transfer, name + ": transfer");
        expect_near(simulated_computations(what, true), shares.alone, name + ": alone");
        expect_near(simulated_computations(what, false), shares.computations,
                    name + ": computations");
      }
    }
  }
}

TEST(HostMemory, WhatAloneHasItsBandwidthTakesItsTimeToTheNanosecond) {
  Host host(contention_model("henri"));
  for (std::uint32_t core = 0; core < 10; ++core) host.kernel(core, BytesPerSecond{4.4e9}, 0, 1);
  EXPECT_EQ(host.end_of(9), 1);
}

// 17.5 cores' worth, by 7 kernels of 2.5.
TEST(HostMemory, KernelsCountByWhatTheyDemand) {
  const ContentionModel model = contention_model("henri");
  Host host(model);
  for (std::uint32_t core = 0; core < 7; ++core) {
    host.kernel(core, BytesPerSecond{2.5 * model.local.core.value}, 0, 1e6);
  }
  host.transfer(0, 1e9);
  expect_near(1e9 / host.end_of(kTransfer), predict_contention(model.local, 17.5).transfer, "17.5");
}

TEST(HostMemory, AKernelOfTwoNodesDrawsOnBothByItsBytes) {
  const ContentionModel model = contention_model("henri");
  Host host(model);
  base::SureVector<Demand> demands;
  const std::vector<double> bytes{1, 1};
  EXPECT_EQ(host.memory.add_kernel(0, model.remote.core, bytes, demands), 1);
  ASSERT_EQ(demands.size(), 2U);
  EXPECT_EQ(demands[0].weight, demands[1].weight);
  EXPECT_DOUBLE_EQ(demands[0].weight, model.remote.core.value / 2e9);
}

TEST(HostMemory, RemoteKernelsBesideLocalOnesAreNotFasterThanThese) {
  const ContentionModel model = contention_model("henri");
  Host host(model);
  for (std::uint32_t core = 0; core < 18; ++core) host.kernel(core, model.local.core, 0, 1);
  for (std::uint32_t core = 18; core < 20; ++core) host.kernel(core, model.local.core, 0, 1);
  const double remote = host.end_of(19);
  const double local = host.end_of(0);
  EXPECT_GE(remote, local);
  EXPECT_NEAR(remote, local, 1e-3 * local);
  expect_near(20 * model.local.core.value / local, predict_contention(model.local, 20).alone, "20");
}

TEST(HostMemory, SeveralLanesKeepTheirPartEach) {
  // 18 cores leave the NIC 0.915 of what it has alone, and a link of 4 GB/s as well.
  const ContentionModel model = contention_model("henri");
  Host host(model, {BytesPerSecond{4e9}});
  for (std::uint32_t core = 0; core < 18; ++core) host.kernel(core, model.local.core, 0, 1e6);
  host.transfer(0, 1e12);
  host.transfer(0, 1e9, kTransfer + 1, HostMemory::kFirstLink);
  expect_near(1e9 / host.end_of(kTransfer + 1), BytesPerSecond{0.915 * 4e9}, "link");
}

TEST(NumaHomes, DataLieWhereTheyAreFirstUsedAndStayThere) {
  NumaHomes homes(4);
  EXPECT_EQ(homes.home_of(7, 3), 3U);
  EXPECT_EQ(homes.home_of(7, 1), 3U);
  EXPECT_EQ(homes.receive(7), 0U);
  EXPECT_EQ(homes.home_of(7, 1), 0U);
  homes.follow(numa_rules_of("spread", "home", 4));
  EXPECT_EQ(homes.home_of(9, 3), 1U);
  EXPECT_EQ(homes.receive(10), 2U);
  homes.follow(numa_rules_of("2", "spread", 4));
  EXPECT_EQ(homes.home_of(11, 0), 2U);
  EXPECT_EQ(homes.receive(12), 0U);
  EXPECT_EQ(homes.receive(12), 1U);
}

TEST(NumaHomes, WhatIsNoRuleIsRefusedNamingTheOption) {
  const auto why = [](const char* placement, const char* receive) {
    return message_of<UsageError>([&] { numa_rules_of(placement, receive, 2); });
  };
  EXPECT_THAT(why("nearest", "0"), AllOf(HasSubstr("numa_placement"), HasSubstr("nearest")));
  EXPECT_THAT(why("first", "first"), AllOf(HasSubstr("receive_numa"), HasSubstr("home")));
  EXPECT_THAT(why("2", "0"), AllOf(HasSubstr("numa_placement"), HasSubstr("0 to 1")));
  EXPECT_THAT(why("first", "-1"), HasSubstr("receive_numa"));
}

}  // namespace
}  // namespace vicinal::sim::host_memory
