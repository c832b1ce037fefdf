// Tasks that a policy is told of before they are pushed, as the runtime does for one that plans.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/deferred_graph.hpp"
#include "graph/task.hpp"
#include "sched/policy.hpp"

namespace vicinal::testing {

// `first`: how many it was told of before.
inline void make_known(sched::Policy& policy, const std::vector<graph::Task*>& tasks,
                       std::uint64_t first = 0) {
  if (!policy.traits().plans) return;
  std::vector<engine::DeferredTask> list;
  for (graph::Task* const task : tasks) list.push_back({.task = task, .after = {}});
  const engine::DeferredGraph known(list, engine::DeferredGraph::Predecessors::left_out);
  policy.plan({known.graph, known.tasks, known.data, first});
}

}  // namespace vicinal::testing
