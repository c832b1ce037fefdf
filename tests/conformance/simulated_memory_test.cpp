// Memory-bound tasks of simulated ranks beside content that they receive, against the contention model; and that machines
// without a model, and tasks without a demand, know nothing of it.
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "machine/machine_model.hpp"
#include "support/contention_tables.hpp"
#include "support/small_runs.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/simulated_cluster.hpp"

namespace vicinal::simulated_memory {
namespace {

using ::testing::AllOf;
using testing::contention_model;
using ::testing::HasSubstr;
using testing::message_of;

// Two hosts, whose NIC gives more than their memory; almost nothing else takes time.
machine::ClusterModel two_hosts(const ContentionModel& model) {
  machine::ClusterModel cluster;
  cluster.name = "two";
  cluster.network = {.hosts = 2, .nic = BytesPerSecond{100e9}, .latency = Time{1000}};
  MachineDescription& host = cluster.host.description;
  host.nodes = {{kRam, "ram", NodeKind::ram, {}}};
  for (std::uint32_t w = 0; w < model.sockets * model.cores_per_socket; ++w) {
    host.workers.push_back({WorkerId{w}, ProcessorKind::cpu, kRam});
  }
  host.contention = model;
  return cluster;
}

Codelet lasting(const char* name, double seconds, BytesPerSecond demand = {}) {
  Codelet codelet{.name = name};
  codelet.expected[0] = Time::from_seconds(seconds);
  codelet.demands[0] = demand;
  return codelet;
}

struct Case {
  ContentionModel model;
  std::uint32_t cores = 0;
  std::uint32_t tasks_on = 0;     // NUMA node
  std::uint32_t received_on = 0;  // likewise
  bool demands = true;            // what a core alone has; else nothing
};
struct Ends {
  double receive = 0;
  double tasks = 0;
};

// One task on each of the first cores, and rank 0's content, which the last core reads when it has come.
Ends play(const Case& what, double task_seconds, Bytes received) {
  const SimulatedCluster cluster(two_hosts(what.model), 0, "auto");
  std::deque<Runtime> ranks;
  for (std::uint32_t r = 0; r < 2; ++r) {
    Options options{.policy = "eager"};
    options.numa_placement = std::to_string(what.tasks_on);
    options.receive_numa = std::to_string(what.received_on);
    ranks.emplace_back(cluster.host(), options, cluster.world(), cluster.rank(RankId{r}));
  }
  const bool is_local = what.tasks_on < what.model.numa_nodes_per_socket;
  const BytesPerSecond core = (is_local ? what.model.local : what.model.remote).core;
  const Codelet streams = lasting("stream", task_seconds, what.demands ? core : BytesPerSecond{});
  const Codelet reads = lasting("read", 1e-9);
  const WorkerId last{what.model.sockets * what.model.cores_per_socket - 1};
  std::vector<Handle> seen;
  for (Runtime& runtime : ranks) {
    const Handle content = runtime.register_simulated(RankId{0}, received, kRam, "content");
    seen.push_back(runtime.register_empty(RankId{1}, 1_KiB, "seen"));
    for (std::uint32_t worker = 0; worker < what.cores; ++worker) {
      const Handle own = runtime.register_empty(RankId{1}, 1_MiB, "own");
      runtime.submit({.codelet = &streams, .operands = {W(own)}, .worker = WorkerId{worker}});
    }
    runtime.submit({.codelet = &reads, .operands = {R(content), W(seen.back())}, .worker = last});
  }
  ranks[1].wait(seen[1]);
  Ends ends{.receive = cluster.world().now().seconds()};
  for (Runtime& runtime : ranks) runtime.wait();
  ends.tasks = cluster.world().now().seconds();
  return ends;
}

// By the model both are to end after 1 s.
TEST(SimulatedMemory, TasksBesideAReceiveSlowDownAsTheModelSaysOverAllPlacementsAndCores) {
  for (const char* const machine : {"henri", "henri-subnuma"}) {
    const ContentionModel model = contention_model(machine);
    const std::uint32_t nodes = model.sockets * model.numa_nodes_per_socket;
    for (std::uint32_t place = 0; place < nodes * nodes; ++place) {
      for (std::uint32_t cores = 1; cores <= model.cores_per_socket; ++cores) {
        const Case what{model, cores, place / nodes, place % nodes};
        const bool is_local = what.tasks_on < model.numa_nodes_per_socket;
        const double core = (is_local ? model.local : model.remote).core.value;
        const ContentionShares shares =
            predict_contention(model, cores, what.tasks_on, what.received_on);
        const auto bytes = static_cast<std::uint64_t>(shares.transfer.value);
        const Ends ends = play(what, shares.computations.value / (cores * core), Bytes{bytes});
        EXPECT_NEAR(ends.receive, 1, 0.05) << machine << ", place " << place << ", " << cores;
        EXPECT_NEAR(ends.tasks, 1, 0.05) << machine << ", place " << place << ", " << cores;
      }
    }
  }
}

// The NIC's 100 GB/s, as without a model.
TEST(SimulatedMemory, WhereNoTaskHasADemandTheModelChangesNothing) {
  const ContentionModel model = contention_model("henri");
  const Ends ends = play({model, 18, 0, 0, false}, 2, Bytes{1'000'000'000});
  EXPECT_NEAR(ends.receive, 1e9 / 100e9, 1e-5);
  EXPECT_EQ(ends.tasks, 2);
}

// A copy to a GPU beside memory-bound tasks on the cores: both as the model says.
TEST(SimulatedMemory, CopiesToAGpuShareMemoryWithTasks) {
  const ContentionModel model = contention_model("henri");
  MachineDescription machine = two_hosts(model).host.description;
  const NodeId gpu{1};
  machine.nodes.push_back({gpu, "gpu0", NodeKind::device, {}});
  machine.workers.push_back({WorkerId{36}, ProcessorKind::gpu, gpu});
  machine.links = {{kRam, gpu, model.local.transfer, {}}, {gpu, kRam, model.local.transfer, {}}};
  Options options{.policy = "eager"};
  options.numa_placement = "0";
  const ContentionShares shares = predict_contention(model.local, 18);
  Runtime runtime(machine, options);
  const Codelet streams = lasting(
      "stream", shares.computations.value / (18 * model.local.core.value), model.local.core);
  Codelet on_gpu{.name = "on_gpu"};
  on_gpu.expected.fill(Time{1});
  const Handle content = runtime.register_simulated(
      Bytes{static_cast<std::uint64_t>(shares.transfer.value)}, kRam, "content");
  const Handle seen = runtime.register_empty(1_KiB, "seen");
  for (std::uint32_t core = 0; core < 18; ++core) {
    const Handle own = runtime.register_empty(1_MiB, "own");
    runtime.submit({.codelet = &streams, .operands = {W(own)}, .worker = WorkerId{core}});
  }
  runtime.submit({.codelet = &on_gpu, .operands = {R(content), W(seen)}, .worker = WorkerId{36}});
  runtime.wait(seen);
  EXPECT_NEAR(runtime.statistics().now.seconds(), 1, 0.01);
  runtime.wait();
  EXPECT_NEAR(runtime.statistics().now.seconds(), 1, 0.01);
}

TEST(SimulatedMemory, FirstUseByAWorkerPlacesDataOnItsNode) {
  // Tasks of socket 1 on data of their own are local there: 18 on each socket have their bandwidth twice.
  const ContentionModel model = contention_model("henri");
  const MachineDescription machine = two_hosts(model).host.description;
  const Codelet streams = lasting("stream", 1, model.local.core);
  const auto end_with = [&](const std::string& placement) {
    Options options{.policy = "eager"};
    options.numa_placement = placement;
    Runtime runtime(machine, options);
    for (std::uint32_t core = 0; core < 36; ++core) {
      runtime.submit({.codelet = &streams,
                      .operands = {W(runtime.register_empty(1_MiB, "own"))},
                      .worker = WorkerId{core}});
    }
    runtime.wait();
    return runtime.statistics().now.seconds();
  };
  const double alone =
      18 * model.local.core.value / predict_contention(model.local, 18).alone.value;
  EXPECT_NEAR(end_with("first"), alone, 1e-3);
  EXPECT_GT(end_with("0"), 1.5 * alone);
}

TEST(SimulatedMemory, AModelThatCannotBeIsRefused) {
  const auto why = [](const ContentionModel& model) {
    MachineDescription machine = two_hosts(contention_model("henri")).host.description;
    machine.contention = model;
    return message_of<UsageError>([&] { const Runtime runtime(machine, {.policy = "eager"}); });
  };
  ContentionModel model = contention_model("henri");
  model.sockets = 0;
  EXPECT_THAT(why(model), AllOf(HasSubstr("contention"), HasSubstr("sockets")));
  model = contention_model("henri");
  model.remote.core = {};
  EXPECT_THAT(why(model), HasSubstr("contention"));
  model = contention_model("henri");
  model.local.least_share = 2;
  EXPECT_THAT(why(model), HasSubstr("least_share"));
}

}  // namespace
}  // namespace vicinal::simulated_memory
