// An order of independent tasks, made fit for tasks that depend on each other.
#pragma once

#include <span>

#include "sched/orders/task_inputs.hpp"

namespace vicinal::sched::orders {

// `order` names each task of the graph once. The result keeps the graph's dependencies (those of
// graph::bottom_levels): next is always the task that stands first in `order` among those whose
// predecessors have come. An order that keeps them already stays as it is. Our own: the paper's tasks are
// independent. O((tasks + accesses) * log(tasks)).
Order respecting_dependencies(std::span<const Number> order, const graph::Graph& graph);

}  // namespace vicinal::sched::orders
