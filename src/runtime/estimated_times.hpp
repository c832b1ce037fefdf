// Simulation: what a task takes of which nobody has said it.
#pragma once

#include "graph/task.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::runtime {

// Fills in the times, by kind of processor, that neither the task nor its codelet says: its operations (`flops`, or the
// codelet's) at the speeds of the machine; if after that no worker of the machine could run it, its bytes at the rates
// of kSimulatedMemory. Likewise what it demands of memory, which is 0 if nobody says it. The task has its accesses.
void estimate_time(graph::TaskExtension& extension, const graph::Task& task,
                   const MachineDescription& machine, double flops);

}  // namespace vicinal::runtime
