#include "play/graph_codelets.hpp"

#include <algorithm>

#include "base/legible.hpp"
#include "graph/kernel_times.hpp"

namespace vicinal::play {

std::vector<Codelet> codelets_of(const graph::Graph& graph, const machine::MachineModel& machine,
                                 double scale) {
  const graph::KernelSeconds seconds = graph::kernel_seconds(graph, machine);
  std::vector<Codelet> codelets(graph.kernels().size());
  for (std::size_t k = 0; k < codelets.size(); ++k) {
    const graph::Graph::Kernel& kernel = graph.kernels()[k];
    codelets[k].name = base::legible_name(kernel.name);
    codelets[k].flops = kernel.flops;
    codelets[k].synchronous = kernel.synchronous || machine.is_synchronous(kernel.name);
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      if (seconds[k][kind] <= 0) continue;
      // Not less than a nanosecond, which says that it can run there.
      codelets[k].expected[kind] =
          std::max(Time{1}, Time::from_seconds(seconds[k][kind] * scale + 0.5e-9));
      const graph::Application& application = graph.application();
      codelets[k].demands[kind] = machine.demand(
          kernel.name, application.precision, static_cast<ProcessorKind>(kind), application.name);
    }
  }
  return codelets;
}

}  // namespace vicinal::play
