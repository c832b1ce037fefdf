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

// Bytes that every schedule brings inside, where all tasks run, if so much fits there. While a task that is a cut runs, no
// other does. What the tasks behind it read up to the next one, unless they write it first, is either inside at that time,
// which of all is no more than the room, or comes in before the next one. Up to the first one it is what tasks read that lies
// outside at the start.
Bytes loads_between_cuts(const graph::Graph& graph, std::span<const DatumUse> data, Bytes room);

}  // namespace vicinal::bounds
