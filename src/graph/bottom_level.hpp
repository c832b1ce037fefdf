// Bottom levels: how long the longest path from a task to the end of the graph takes, the task
// included. A task with a larger one is more urgent; the largest is the critical path.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "graph/graph.hpp"
#include "vicinal/access.hpp"
#include "vicinal/units.hpp"

namespace vicinal::graph {

struct PlannedAccess {
  std::size_t data = 0;  // 0..data_count-1
  AccessMode mode = AccessMode::R;
};

struct PlannedTask {
  Time duration;
  std::span<const PlannedAccess> accesses;
};

// Of each task, in the order given, which is that of submission. Dependencies are those of the data:
// a read comes after the last write before it, a write after the last write and all reads since;
// reads between two writes are concurrent. One pass from the last task to the first,
// O(tasks + accesses + data_count). Dependencies declared without data are not known here.
std::vector<Time> bottom_levels(std::span<const PlannedTask> tasks, std::size_t data_count);

// The same of a graph, with the predecessors that its tasks name. `durations`: one per task.
std::vector<Time> bottom_levels(const Graph& graph, std::vector<Time> durations);

// As priorities: 0 for the smallest, one more for each larger one; equal levels have equal priorities. A
// task takes the shortest known time of its kernel; if no kernel's
// is known, its operations stand for it; if these are not known either, all tasks count the same.
void set_bottom_level_priorities(Graph& graph);

}  // namespace vicinal::graph
