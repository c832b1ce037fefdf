// An order of few tasks, made better task by task: for graphs so small that blocks are coarse.
#pragma once

#include <functional>
#include <vector>

#include "sched/orders/horizon/plan_graph.hpp"

namespace vicinal::sched::orders::horizon {

// Tries so many moves: a task goes to another place, and takes along the tasks in between that must stay behind it, or
// before it. A move stays if the order is no worse then. `score`: less is better. The same arguments give the same order.
std::vector<Number> moved_about(const PlanGraph& graph, std::vector<Number> order,
                                std::size_t tries,
                                const std::function<double(const std::vector<Number>&)>& score);

}  // namespace vicinal::sched::orders::horizon
