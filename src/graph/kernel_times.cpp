#include "graph/kernel_times.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/random.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graph {

namespace {

bool has(const MachineDescription& machine, ProcessorKind kind) {
  for (const WorkerDescription& worker : machine.workers) {
    if (worker.kind == kind) return true;
  }
  return false;
}

}  // namespace

KernelSeconds kernel_seconds(const TaskGraph& graph, const machine::MachineModel& machine) {
  KernelSeconds all(graph.kernels.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    const GraphKernel& kernel = graph.kernels[k];
    bool runs = false;
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      const auto processor = static_cast<ProcessorKind>(kind);
      if (!has(machine.description, processor)) continue;
      double seconds = kernel.seconds[kind];
      if (seconds <= 0) {
        seconds = machine.seconds(kernel.name, graph.precision, kernel.flops, processor, graph.name)
                      .value_or(0);
      }
      all[k][kind] = seconds;
      runs |= seconds > 0;
    }
    if (!runs) {
      throw UsageError(
          fmt::format("kernel {}: neither the graph nor machine {} says how long it "
                      "takes on a processor of the machine; give it \"seconds\", or "
                      "the machine file a speed for it",
                      kernel.name, machine.name));
    }
  }
  return all;
}

TaskGraph with_varied_times(TaskGraph graph, const machine::MachineModel& machine, double share,
                            std::uint64_t seed) {
  const KernelSeconds seconds = kernel_seconds(graph, machine);
  base::Random random(seed);
  std::vector<GraphKernel> kernels;
  kernels.reserve(graph.tasks.size());
  for (GraphTask& task : graph.tasks) {
    GraphKernel& kernel = kernels.emplace_back(graph.kernels[task.kernel]);
    const double factor = 1 + share * (2 * random.uniform() - 1);
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      kernel.seconds[kind] = seconds[task.kernel][kind] * factor;
    }
    task.kernel = static_cast<std::uint32_t>(kernels.size() - 1);
  }
  graph.kernels = std::move(kernels);
  return graph;
}

}  // namespace vicinal::graph
