#include "sched/orders/dependency_order.hpp"

#include <functional>
#include <queue>
#include <stdexcept>
#include <string>

#include "sched/orders/successors.hpp"

namespace vicinal::sched::orders {

namespace {

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
  Successors successors = successors_of(graph);
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
