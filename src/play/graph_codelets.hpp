// The kernels of a graph as codelets of a simulated machine.
#pragma once

#include <vector>

#include "graph/graph.hpp"
#include "machine/machine_model.hpp"
#include "vicinal/codelet.hpp"

namespace vicinal::play {

// By number of the kernel: times on the kinds of processors, multiplied by `scale`, and demands.
std::vector<Codelet> codelets_of(const graph::Graph& graph, const machine::MachineModel& machine,
                                 double scale = 1);

}  // namespace vicinal::play
