// Which memory runs which block, and when: blocks whose predecessors have been dealt go, one after the other, where they can
// begin first, copies counted.
#pragma once

#include <span>
#include <vector>

#include "sched/orders/horizon/blocks.hpp"
#include "sched/orders/horizon/memories.hpp"
#include "sched/orders/horizon/plan_graph.hpp"

namespace vicinal::sched::orders::horizon {

// The tasks by their start as it is predicted, each behind its predecessors. A block that waits for tasks of another one may
// begin before that has ended, as its own first tasks may.
std::vector<Placed> deal(const PlanGraph& graph, const Blocks& blocks, const Memories& memories);

}  // namespace vicinal::sched::orders::horizon
