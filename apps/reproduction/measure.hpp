// One simulation of a figure.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.hpp"
#include "machine/machine_model.hpp"
#include "reproduction/figure.hpp"
#include "reproduction/results.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/statistics.hpp"

namespace vicinal::reproduction {

machine::MachineModel machine_of(const Point& point);

// `graph` is that of the point, as its generator makes it; of a broadcast alone it is not looked at.
Measures measure(const Point& point, graph::Graph graph);

// Bytes that the links of the host have carried, and room in its memories, GPUs' if there are any.
void add_bytes(Measures& measures, const MachineDescription& machine, const Statistics& statistics);
double memory_of(const MachineDescription& machine);

// The order of a factorisation's run: `graph` is that of `view`'s application with so many tiles. Data are named by
// their row and column, "A7_3".
OrderedRun order_of(const OrderView& view, const OrderRun& run, Effort effort, graph::Graph graph);

}  // namespace vicinal::reproduction
