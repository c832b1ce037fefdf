// Graphs as data whose tasks reduce, commute and use scratch, played on simulated machines: no run beats its bounds.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "bounds/graph_bounds.hpp"
#include "graph/combinations.hpp"
#include "graph/kernel_times.hpp"
#include "graph/sound.hpp"
#include "machine/machine_model.hpp"
#include "play/play.hpp"
#include "reports/play_record.hpp"
#include "support/policy_names.hpp"
#include "support/random_runs.hpp"

namespace vicinal {
namespace {

using graph::Graph;

constexpr auto kCpu = static_cast<std::size_t>(ProcessorKind::cpu);
constexpr auto kGpu = static_cast<std::size_t>(ProcessorKind::gpu);

// Kernels: 0 to 2 of tasks, which run on all, on accelerators alone, on cores alone, as far as there are some; 3 sets
// the neutral element, on all; 4 combines on all, 5 on accelerators alone, 6 on cores alone.
class RandomGraph {
 public:
  RandomGraph(base::Random& random, bool has_cores) : random_(random) {
    graph_.application().precision = "float";
    for (int k = 0; k < 7; ++k) {
      Graph::Kernel kernel{.name = "k" + std::to_string(k)};
      const int where = k < 4 ? k % 3 : (k - 1) % 3;
      if (has_cores && where != 1) kernel.seconds[kCpu] = seconds();
      if (!has_cores || where != 2) kernel.seconds[kGpu] = seconds();
      graph_.add_kernel(kernel);
    }
    for (int d = 0; d < 6; ++d) {
      Graph::Datum datum{.bytes = {random_.below(5) == 0 ? 0 : (1 + random_.below(64)) << 14}};
      if (random_.below(3) != 0) datum.home = NodeKind::ram;
      has_content_.push_back(datum.home.has_value());
      const auto number = graph_.add_datum(datum, "d" + std::to_string(d));
      has_reduction_.push_back(random_.below(3) != 0);
      if (!has_reduction_.back()) continue;
      const auto combine = static_cast<Graph::Number>(4 + random_.below(3));
      graph_.add_reduction({.datum = number, .neutral = 3, .combine = combine});
    }
    room_ = graph_.add_datum({.bytes = {1 << 18}}, "room");
  }
  Graph finish() {
    const std::size_t tasks = 1 + random_.below(16);
    while (graph_.tasks().size() < tasks) add_task();
    graph::require_sound(graph_, "random");
    return graph_;
  }

 private:
  double seconds() { return 1e-5 * static_cast<double>(1 + random_.below(100)); }
  // Runs of tasks that reduce into the same data are what there is to see.
  AccessMode mode_of(Graph::Number datum) {
    if (has_reduction_[datum] && random_.below(4) != 0) return AccessMode::reduction;
    if (!has_content_[datum]) return AccessMode::W;
    constexpr std::array kModes{AccessMode::R, AccessMode::RW, AccessMode::W, AccessMode::commute};
    return kModes[random_.below(kModes.size())];
  }
  void add_task() {
    std::vector<Graph::Access> accesses;
    for (Graph::Number d = 0; d < room_; ++d) {
      if (random_.below(3) != 0) continue;
      accesses.push_back({d, mode_of(d)});
      has_content_[d] = true;
    }
    if (random_.below(4) == 0) accesses.push_back({room_, AccessMode::scratch});
    graph_.add_task(static_cast<Graph::Number>(random_.below(3)), accesses,
                    static_cast<int>(random_.below(5)));
  }

  base::Random& random_;
  Graph graph_;
  std::vector<bool> has_content_;
  std::vector<bool> has_reduction_;
  Graph::Number room_ = 0;
};

class GraphsThatReduce : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Every, GraphsThatReduce,
                         ::testing::ValuesIn(testing::policy_names_of_each_way()),
                         [](const auto& instance) { return instance.param; });

TEST_P(GraphsThatReduce, AreNotPlayedFasterOrWithFewerBytesThanTheirBoundsSay) {
  std::size_t reductions = 0;
  testing::for_each_seed(60, [&](base::Random& random, std::uint64_t seed) {
    const auto cores = static_cast<std::uint32_t>(random.below(3));
    const std::string name = cores > 0 ? "idgraf" : random.below(2) == 0 ? "v100p" : "v100";
    const machine::MachineModel machine =
        machine::load_machine(name, {.gpus = static_cast<std::uint32_t>(1 + random.below(4)),
                                     .cpu_workers = cores,
                                     .gpu_memory = Bytes{random.below(2) == 0 ? 16_MiB : 500_MiB}});
    const Graph graph = RandomGraph(random, cores > 0).finish();
    reductions += graph::combinations_of(graph).size();
    const reports::RunBounds bounds = reports::play_bounds(graph, machine);
    Options options{.policy = GetParam()};
    options.seed = seed;
    options.models = "none";
    const play::Played played = play::play(graph, machine, options);
    const reports::RunRecord record = reports::play_record(graph, machine, options, bounds);
    const auto known =
        bounds::graph_bounds(graph, machine.description, graph::kernel_seconds(graph, machine));
    EXPECT_GE(played.after.now - played.before.now, known.time().value) << known.time().name;
    EXPECT_GE(record.bytes_in, bounds.bytes_in());
    EXPECT_GE(record.bytes_out, bounds.bytes_out());
    // Every task, and the last combination of each run of those that reduce.
    EXPECT_GE(played.after.tasks_done - played.before.tasks_done,
              graph.tasks().size() + graph::combinations_of(graph).size());
    // Nothing is left to be combined when the time is taken.
    EXPECT_EQ(played.last.tasks_done, played.after.tasks_done);
  });
  EXPECT_GT(reductions, 0U);
}

// One core: the bound on the work is the time. (An accelerator with two tasks in flight has two copies.)
TEST_P(GraphsThatReduce, TakeOnOneWorkerTheTimeThatTheBoundOfTheWorkSays) {
  machine::MachineModel machine = machine::load_machine("idgraf", {.gpus = 0, .cpu_workers = 1});
  machine.description.workers.front().task_overhead = {};
  machine.description.submit_overhead = {};
  for (const bool has_content : {false, true}) {
    Graph graph;
    graph.application().precision = "float";
    graph.add_datum(
        {.bytes = {}, .home = has_content ? std::optional(NodeKind::ram) : std::nullopt}, "sum");
    for (const double seconds : {5e-3, 2e-3, 1e-3}) {
      Graph::Kernel kernel{.name = "k" + std::to_string(graph.kernels().size())};
      kernel.seconds[kCpu] = seconds;
      graph.add_kernel(kernel);
    }
    graph.add_reduction({.datum = 0, .neutral = 1, .combine = 2});
    for (int t = 0; t < 3; ++t) graph.add_task(0, {{{0, AccessMode::reduction}}});
    Options options{.policy = GetParam()};
    options.models = "none";
    const play::Played played = play::play(graph, machine, options);
    const auto known =
        bounds::graph_bounds(graph, machine.description, graph::kernel_seconds(graph, machine));
    // 3 tasks of 5 ms, the neutral element of the copy, 2 ms, and of the sum if it has no content; 1 ms to combine.
    const std::int64_t expected = 15'000'000 + (has_content ? 2'000'000 : 4'000'000) + 1'000'000;
    EXPECT_EQ((played.after.now - played.before.now).ns, expected);
    EXPECT_EQ(known.work.value, bounds::rounded_down(static_cast<double>(expected) * 1e-9));
  }
}

// The sum stays where the last of the accelerators that worked has combined it.
TEST_P(GraphsThatReduce, MoveACopyFromEachAcceleratorThatReduced) {
  const machine::MachineModel machine = machine::load_machine("v100p", {.gpus = 4});
  constexpr Bytes kSum = 1_MiB;
  Graph graph;
  graph.application().precision = "float";
  graph.add_datum({.bytes = kSum}, "sum");
  for (const double seconds : {5e-2, 1e-6, 1e-6}) {
    Graph::Kernel kernel{.name = "k" + std::to_string(graph.kernels().size())};
    kernel.seconds[kGpu] = seconds;
    graph.add_kernel(kernel);
  }
  graph.add_reduction({.datum = 0, .neutral = 1, .combine = 2});
  for (int t = 0; t < 8; ++t) graph.add_task(0, {{{0, AccessMode::reduction}}});
  Options options{.policy = GetParam()};
  options.models = "none";
  const play::Played played = play::play(graph, machine, options);
  std::uint64_t used = 0;
  // Who ran one of the tasks worked for 50 ms at the least.
  for (const WorkerStatistics& worker : played.after.workers) {
    if (worker.busy >= Time{50'000'000}) ++used;
  }
  Bytes moved;
  for (const LinkStatistics& link : played.last.links) moved += link.bytes;
  EXPECT_GE(used, 1U);
  EXPECT_EQ(moved, kSum * (used - 1));
}

// What reads the sum is planned when the tasks before it have been: each iteration by itself, from where the one before it
// leaves the data.
TEST(Horizon, LeavesDataWhereTheIterationBeforeHadThem) {
  const machine::MachineModel machine = machine::load_machine("v100p", {.gpus = 2});
  constexpr Graph::Number kParts = 16;
  constexpr int kIterations = 10;
  Graph graph;
  graph.application().precision = "float";
  for (const double seconds : {2e-4, 1e-6, 1e-6, 1e-6}) {
    Graph::Kernel kernel{.name = "k" + std::to_string(graph.kernels().size())};
    kernel.seconds[kGpu] = seconds;
    graph.add_kernel(kernel);
  }
  for (Graph::Number part = 0; part < kParts; ++part) {
    graph.add_datum({.bytes = 4_MiB, .home = NodeKind::ram}, "part" + std::to_string(part));
  }
  const Graph::Number sum = graph.add_datum({.bytes = {8}}, "sum");
  const Graph::Number step = graph.add_datum({.bytes = {8}}, "step");
  graph.add_reduction({.datum = sum, .neutral = 1, .combine = 2});
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    for (Graph::Number part = 0; part < kParts; ++part) {
      graph.add_task(0, {{{part, AccessMode::RW}, {sum, AccessMode::reduction}}});
    }
    graph.add_task(3, {{{sum, AccessMode::RW}, {step, AccessMode::W}}});
  }
  Options options{.policy = "horizon"};
  options.models = "none";
  const play::Played played = play::play(graph, machine, options);
  Bytes moved;
  for (const LinkStatistics& link : played.last.links) moved += link.bytes;
  // Each part comes once and goes home once.
  EXPECT_LE(moved, 4_MiB * (2 * kParts + 2));
  for (const WorkerStatistics& worker : played.after.workers) EXPECT_GE(worker.tasks, 60U);
}

}  // namespace
}  // namespace vicinal
