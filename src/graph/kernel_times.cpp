#include "graph/kernel_times.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/legible.hpp"
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

KernelSeconds kernel_seconds(const Graph& graph, const machine::MachineModel& machine) {
  const Application& application = graph.application();
  KernelSeconds all(graph.kernels().size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    const Graph::Kernel& kernel = graph.kernels()[k];
    bool runs = false;
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      const auto processor = static_cast<ProcessorKind>(kind);
      if (!has(machine.description, processor)) continue;
      if (kernel.cores_only && processor != ProcessorKind::cpu) continue;
      double seconds = kernel.seconds[kind];
      if (seconds <= 0) {
        seconds = machine
                      .seconds(kernel.name, application.precision, kernel.flops, processor,
                               application.name)
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
                      base::legible_name(kernel.name), machine.name));
    }
  }
  return all;
}

Graph with_varied_times(Graph graph, const machine::MachineModel& machine, double share,
                        std::uint64_t seed) {
  const KernelSeconds seconds = kernel_seconds(graph, machine);
  base::Random random(seed);
  std::vector<Graph::Kernel> kernels;
  kernels.reserve(graph.tasks().size() + 2 * graph.reductions().size());
  const auto add_varied = [&](Graph::Number number) {
    Graph::Kernel& kernel = kernels.emplace_back(graph.kernels()[number]);
    const double factor = 1 + share * (2 * random.uniform() - 1);
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      kernel.seconds[kind] = seconds[number][kind] * factor;
    }
  };
  for (const Graph::Task& task : graph.tasks()) add_varied(task.kernel);
  for (const Graph::Reduction& reduction : graph.reductions()) {
    add_varied(reduction.neutral);
    add_varied(reduction.combine);
  }
  graph.set_kernels(std::move(kernels));
  return graph;
}

}  // namespace vicinal::graph
