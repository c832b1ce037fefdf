// How long the tasks of a graph take on a machine.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph/graph.hpp"
#include "machine/machine_model.hpp"
#include "vicinal/codelet.hpp"

namespace vicinal::graph {

// Time of one task of each kernel on each kind of processor that the machine has, in seconds; 0: that
// kind cannot run it. From the graph, else from the machine. Throws UsageError for a kernel that
// nothing on the machine can run, with the remedy.
using KernelSeconds = std::vector<std::array<double, kProcessorKinds>>;
KernelSeconds kernel_seconds(const Graph& graph, const machine::MachineModel& machine);

// Each task's time, and those of each reduction's two kernels, by a factor of its own, drawn evenly from 1 - share to 1 + share, 0 <= share < 1: equal
// kernels are not equally long on any real machine. The same seed gives the same factors.
Graph with_varied_times(Graph graph, const machine::MachineModel& machine, double share,
                        std::uint64_t seed);

}  // namespace vicinal::graph
