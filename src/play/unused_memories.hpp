// Memories of a machine in which no task of a graph fits: their workers stand still, and the run is a slow one without
// having failed.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "machine/machine_model.hpp"

namespace vicinal::play {

// A sentence for those of the same limit: the memory, its bytes, and the smallest working set of the tasks that its
// workers could run but for that. None where no task fits anywhere: then the run is refused.
std::vector<std::string> unused_memories(const graph::Graph& graph,
                                         const machine::MachineModel& machine);

}  // namespace vicinal::play
