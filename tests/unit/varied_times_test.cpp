// graph::with_varied_times: equal kernels that are not equally long.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "graphs/linalg_graphs.hpp"
#include "machine/machine_model.hpp"
#include "play/play.hpp"

namespace vicinal {
namespace {

constexpr auto kGpu = static_cast<std::size_t>(ProcessorKind::gpu);

TEST(VariedTimes, AreWithinTheShareOfWhatTheMachineSaysEachByItself) {
  const graph::Graph graph = graphs::cholesky({.tiles = 8, .tile = 960});
  const machine::MachineModel machine = machine::load_machine("v100p", {.gpus = 1});
  const graph::Graph varied = graph::with_varied_times(graph, machine, 0.01, 1);
  ASSERT_EQ(varied.tasks().size(), graph.tasks().size());
  const graph::KernelSeconds before = graph::kernel_seconds(graph, machine);
  const graph::KernelSeconds after = graph::kernel_seconds(varied, machine);
  std::set<double> ratios;
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    const graph::Graph::Kernel& kernel = varied.kernels()[varied.tasks()[t].kernel];
    EXPECT_EQ(kernel.name, graph.kernels()[graph.tasks()[t].kernel].name);
    const double ratio =
        after[varied.tasks()[t].kernel][kGpu] / before[graph.tasks()[t].kernel][kGpu];
    EXPECT_LE(std::abs(ratio - 1), 0.01 + 1e-12);
    ratios.insert(ratio);
  }
  EXPECT_GT(ratios.size(), graph.tasks().size() / 2);
}

TEST(VariedTimes, AreTheSameForTheSameSeedAlone) {
  const graph::Graph graph = graphs::cholesky({.tiles = 4, .tile = 960});
  const machine::MachineModel machine = machine::load_machine("v100p", {.gpus = 1});
  const auto first_of = [&](std::uint64_t seed) {
    return graph::with_varied_times(graph, machine, 0.1, seed).kernels().front().seconds[kGpu];
  };
  EXPECT_EQ(first_of(7), first_of(7));
  EXPECT_NE(first_of(7), first_of(8));
}

// Ties that measured times would break are still ties: time and bytes are those of equal times, nearly.
TEST(VariedTimes, ByLessThanAPercentHardlyChangeAScheduleOfDarts) {
  const graph::Graph graph = graphs::cholesky({.tiles = 20, .tile = 960});
  const machine::MachineModel machine =
      machine::load_machine("v100p", {.gpus = 1, .gpu_memory = 300_MiB});
  const auto played = [&](const graph::Graph& one) {
    return play::play(one, machine, {.policy = "darts"});
  };
  const play::Played equal = played(graph);
  const play::Played varied = played(graph::with_varied_times(graph, machine, 0.004, 1));
  const auto ratio = [](auto a, auto b) { return static_cast<double>(a) / static_cast<double>(b); };
  EXPECT_NEAR(ratio(varied.after.now.ns, equal.after.now.ns), 1, 0.05);
  EXPECT_NEAR(ratio(varied.last.nodes[1].bytes_in.value, equal.last.nodes[1].bytes_in.value), 1,
              0.05);
}

}  // namespace
}  // namespace vicinal
