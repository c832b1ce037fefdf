#include "sched/orders/successors.hpp"

#include "vicinal/access.hpp"

namespace vicinal::sched::orders {

namespace {

// Tasks that reduce work on copies while others read; not the other way round, for then they have been combined.
bool goes_with(AccessMode before, AccessMode mode) {
  if (before == AccessMode::R && mode == AccessMode::reduction) return true;
  return !is_exclusive(mode) && mode == before;
}

}  // namespace

Successors successors_of(const graph::Graph& graph) {
  // Per datum: the last group of tasks that do not exclude each other, or the last exclusive task; and the group before.
  struct Last {
    AccessMode mode = AccessMode::RW;
    std::vector<Number> group;
    std::vector<Number> before;
  };
  std::vector<Last> last(graph.data().size());
  Successors successors(graph.tasks().size());
  for (Number task = 0; task < graph.tasks().size(); ++task) {
    for (const auto& [datum, mode] : graph.accesses_of(graph.tasks()[task])) {
      if (mode == AccessMode::scratch) continue;
      Last& now = last[datum];
      if (!goes_with(now.mode, mode)) {
        now.before.swap(now.group);
        now.group.clear();
      }
      now.mode = mode;
      for (const Number before : now.before) successors.add(before, task);
      now.group.push_back(task);
    }
    for (const Number before : graph.predecessors_of(task)) successors.add(before, task);
  }
  return successors;
}

}  // namespace vicinal::sched::orders
