// Where the tasks of a graph that reduce into a datum come to their end.
#pragma once

#include <cstddef>
#include <vector>

#include "graph/graph.hpp"

namespace vicinal::graph {

// Behind a run of tasks that reduce into a datum: before the next access that is no reduction, or at the end, the
// private copies are combined into the datum.
struct Combination {
  std::size_t reduction = 0;  // its number in Graph::reductions
  std::size_t before = 0;     // the task with that access; as many as there are tasks: at the end
  // There was content before the run. Else the datum begins with the neutral element.
  bool accumulates = false;
};

// In the order of `before`. The graph is sound (graph/sound.hpp). O(tasks + accesses + data); none without reductions.
std::vector<Combination> combinations_of(const Graph& graph);

}  // namespace vicinal::graph
