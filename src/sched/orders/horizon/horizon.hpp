// The plan of `horizon`: of several orders that are made of blocks, dealt to as many memories as help, the one that ends
// first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/orders/horizon/memories.hpp"
#include "sched/orders/horizon/plan_graph.hpp"

namespace vicinal::sched::orders::horizon {

struct Planned {
  std::vector<Placed> order;
  Cost cost;
  std::uint64_t reserve =
      0;  // bytes of each memory that the plan leaves to copies which run ahead of the tasks
  bool one_by_one = false;  // the copies of a task are to wait for the end of the task before
};

// Of a memory, bytes that are left to copies which run ahead of the tasks: room for a few of the data, but a small part at
// most. `largest`: bytes of the largest datum.
std::uint64_t room_ahead(std::uint64_t memory, std::uint64_t largest);

// The same for an order that is given, each task behind its predecessors: a half or less where the loads that the room costs
// take longer than the time that it gains.
std::uint64_t best_room_ahead(const PlanGraph& graph, std::span<const Placed> order,
                              const Memories& memories);

// It uses the first of the memories alone where more do not help.
Planned best_plan(const PlanGraph& graph, const Memories& memories);

}  // namespace vicinal::sched::orders::horizon
