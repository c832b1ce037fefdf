// Bottom levels: how long the longest path from a task to the end of the graph takes, the task
// included. A task with a larger one is more urgent; the largest is the critical path.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.hpp"
#include "vicinal/units.hpp"

namespace vicinal::graph {

// Of each task, in the order of submission. Dependencies are those of the data: a read comes after the last write
// before it, a write after the last write and all reads since; reads between two writes are concurrent. Accesses that
// commute are a write to all others and do not follow each other; what comes before them has behind it all of their
// durations, for they take turns. Scratch orders nothing. Tasks that reduce into a datum do not follow each other
// either, nor the readers before them: behind all these is a combination, then the accesses after them. A run may need
// more combinations of copies before that; every run has at least this combination. Besides, a task comes after those
// that it names as predecessors. One pass from the last task to the first, O(tasks + accesses + data). `durations`: one
// per task. `combinations`: one per datum, or none: then they take no time.
std::vector<Time> bottom_levels(const Graph& graph, std::vector<Time> durations,
                                std::span<const Time> combinations = {});

// As priorities: 0 for the smallest, one more for each larger one; equal levels have equal priorities. A
// task takes the shortest known time of its kernel; if no kernel's is known, its operations stand for it; if these
// are not known either, all tasks count the same.
void set_bottom_level_priorities(Graph& graph);

}  // namespace vicinal::graph
