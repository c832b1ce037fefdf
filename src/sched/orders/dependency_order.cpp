#include "sched/orders/dependency_order.hpp"

#include <functional>
#include <queue>
#include <stdexcept>
#include <string>

#include "vicinal/access.hpp"

namespace vicinal::sched::orders {

namespace {

struct Successors {
  std::vector<std::vector<Number>> of;  // may name a task more than once
  std::vector<std::uint32_t> blocked;   // by task: how often it is named

  explicit Successors(std::size_t tasks) : of(tasks), blocked(tasks) {}
  void add(Number before, Number after) {
    if (before == after) return;  // a task that names a datum twice does not follow itself
    of[before].push_back(after);
    ++blocked[after];
  }
};

// Tasks that reduce work on copies while others read; not the other way round, for then they have been combined.
bool goes_with(AccessMode before, AccessMode mode) {
  if (before == AccessMode::R && mode == AccessMode::reduction) return true;
  return !is_exclusive(mode) && mode == before;
}

Successors successors_in(const graph::Graph& graph) {
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

std::vector<Number> positions(std::span<const Number> order, std::size_t tasks) {
  const auto none = static_cast<Number>(tasks);
  std::vector<Number> positions(tasks, none);
  for (Number i = 0; i < order.size(); ++i) {
    if (order[i] >= tasks || positions[order[i]] != none) {
      throw std::invalid_argument("place " + std::to_string(i) + " of the order holds task " +
                                  std::to_string(order[i]) + ": name each of the graph's " +
                                  std::to_string(tasks) + " tasks once");
    }
    positions[order[i]] = i;
  }
  if (order.size() != tasks) {
    throw std::invalid_argument("the order names " + std::to_string(order.size()) +
                                " tasks: name each of the graph's " + std::to_string(tasks) +
                                " once");
  }
  return positions;
}

}  // namespace

Order respecting_dependencies(std::span<const Number> order, const graph::Graph& graph) {
  const std::vector<Number> position = positions(order, graph.tasks().size());
  Successors successors = successors_in(graph);
  std::priority_queue<Number, std::vector<Number>, std::greater<>> ready;  // positions
  for (const Number task : order) {
    if (successors.blocked[task] == 0) ready.push(position[task]);
  }
  Order result;
  result.reserve(order.size());
  while (!ready.empty()) {
    const Number task = order[ready.top()];
    ready.pop();
    result.push_back(task);
    for (const Number after : successors.of[task]) {
      if (--successors.blocked[after] == 0) ready.push(position[after]);
    }
  }
  return result;
}

}  // namespace vicinal::sched::orders
