// Loads between tasks that nothing can go around: where an iterative method computes a number of all that came before, on
// which all that follows depends.
#pragma once

#include <span>
#include <vector>

#include "bounds/crossing.hpp"
#include "graph/graph.hpp"
#include "vicinal/units.hpp"

namespace vicinal::bounds {

// By task: all tasks before it have ended when it runs, and none behind it has begun, whatever the schedule, by their data
// alone. O(accesses).
std::vector<bool> cuts_of(const graph::Graph& graph);

// Bytes that every schedule brings inside, where all tasks run and `room` bytes fit. While a cut runs, no other task does. Data
// that tasks read between two cuts, unless tasks between them write the data first, are inside at the first cut, as far as they
// fit, or come in before the second one. Before the first cut all of these data that lie outside at the start come in. Data whose
// home is inside have their place there, beside what is limited, and count nothing.
Bytes loads_between_cuts(const graph::Graph& graph, std::span<const DatumUse> data, Bytes room);

}  // namespace vicinal::bounds
