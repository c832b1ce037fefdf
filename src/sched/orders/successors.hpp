// Which tasks of a graph follow which.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.hpp"
#include "sched/orders/task_inputs.hpp"

namespace vicinal::sched::orders {

struct Successors {
  std::vector<std::vector<Number>> of;  // by task; may name a task more than once
  std::vector<std::uint32_t> blocked;   // by task: how often it is named

  explicit Successors(std::size_t tasks) : of(tasks), blocked(tasks) {}
  void add(Number before, Number after) {
    if (before == after) return;  // a task that names a datum twice does not follow itself
    of[before].push_back(after);
    ++blocked[after];
  }
};

// The dependencies of graph::bottom_levels. O(tasks + accesses + dependencies).
Successors successors_of(const graph::Graph& graph);

}  // namespace vicinal::sched::orders
