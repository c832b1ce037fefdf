// Simulation: what a task takes of which nobody has said it.
#pragma once

#include "graph/task.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::engine {

// Fills in the times, by kind of processor, that neither the task nor its codelet says: its operations (`flops`, or the
// codelet's) at the speeds of the machine; if after that no worker of the machine could run it, its bytes at the rates
// of kSimulatedMemory. Likewise the task's demand of memory, which is 0 without a value from anywhere. The task has its accesses.
void estimate_time(graph::TaskExtension& extension, const graph::Task& task,
                   const MachineDescription& machine, double flops);

// What a kernel may draw on memory: 0, or from 1e3 to 1e15 bytes per second.
bool is_demand(BytesPerSecond demand);
// Seconds that a byte takes at most on all segments together on which kernels draw; 0: kernels draw on none.
double seconds_per_byte(const MachineDescription& machine);
// What a task takes at most beside others that draw on the same segments. Throws UsageError that names the codelet if it
// demands what cannot be.
Time longest_time(const graph::Task& task, double seconds_per_byte);

}  // namespace vicinal::engine
