// A priority that all tasks have says as much as none.
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include <gtest/gtest.h>

#include "graphs/make_graph.hpp"
#include "play/play.hpp"
#include "sched/policy.hpp"
#include "support/tested.hpp"

namespace vicinal {
namespace {

std::tuple<std::int64_t, std::uint64_t> time_and_bytes(graph::Graph graph, int priority,
                                                       const machine::MachineModel& machine,
                                                       std::string_view policy) {
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) graph.set_priority(t, priority);
  Options options;
  options.policy = policy;
  const play::Played played = play::play(graph, machine, options);
  std::uint64_t bytes = 0;
  for (const LinkStatistics& link : played.last.links) bytes += link.bytes.value;
  return {(played.after.now - played.before.now).ns, bytes};
}

TEST(EqualPriorities, AreTheSameToEveryPolicyWhateverTheyAre) {
  const machine::MachineModel alike =
      machine::load_machine("v100p", {.gpus = 1, .gpu_memory = 120_MiB});
  const machine::MachineModel several =
      machine::load_machine("v100p", {.gpus = 4, .gpu_memory = 120_MiB});
  const machine::MachineModel cores = machine::load_machine("cpu-disk", {.ram = 100_MiB});
  for (const sched::PolicyEntry& policy : testing::tested_policies()) {
    for (const auto* machine : {&alike, &several, &cores}) {
      for (const std::string application : {"cholesky", "gemm2d", "random"}) {
        SCOPED_TRACE(std::string(policy.name) + ", " + application + " on " + machine->name);
        const graph::Graph graph = graphs::make_graph(
            {.application = application, .tiles = 10, .tile = 960, .tasks = 300, .bytes = 4_MiB});
        const auto without = time_and_bytes(graph, 0, *machine, policy.name);
        EXPECT_EQ(time_and_bytes(graph, 5, *machine, policy.name), without);
        EXPECT_EQ(time_and_bytes(graph, -3, *machine, policy.name), without);
      }
    }
  }
}

}  // namespace
}  // namespace vicinal
