// The order of `horizon` for one memory: of several that are made of blocks the one that costs least.
#pragma once

#include <vector>

#include "sched/orders/horizon/one_memory.hpp"
#include "sched/orders/horizon/plan_graph.hpp"

namespace vicinal::sched::orders::horizon {

struct Planned {
  std::vector<Number> order;  // of tasks of the plan graph
  Cost cost;
};

Planned best_order(const PlanGraph& graph, const Memory& memory);

}  // namespace vicinal::sched::orders::horizon
