// A list schedule: a task goes, as soon as it is ready, to the memory where it starts first, as dmdas does in a run. This serves where
// memory is ample.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/orders/horizon/memories.hpp"
#include "sched/orders/horizon/plan_graph.hpp"

namespace vicinal::sched::orders::horizon {

// In the order in which workers take them, each behind its predecessors. Of the tasks that wait for one memory the most urgent goes
// first, of those alike the first. `urgency`: by task.
std::vector<Placed> list_schedule(const PlanGraph& graph, std::span<const std::int64_t> urgency,
                                  const Memories& memories);

}  // namespace vicinal::sched::orders::horizon
