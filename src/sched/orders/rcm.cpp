#include "sched/orders/rcm.hpp"

#include <algorithm>
#include <tuple>

namespace vicinal::sched::orders {

namespace {

// By rising weight of all edges of the task, then by number.
std::vector<Number> starts(const TaskInputs& inputs, const Readers& readers) {
  std::vector<std::uint64_t> weight(inputs.size());
  std::vector<Number> tasks;
  for (Number task = 0; task < inputs.size(); ++task) {
    for (const Number datum : inputs[task]) {
      weight[task] += inputs.bytes(datum) * (readers.count(datum) - 1);
    }
    tasks.push_back(task);
  }
  std::stable_sort(tasks.begin(), tasks.end(),
                   [&](Number a, Number b) { return weight[a] < weight[b]; });
  return tasks;
}

}  // namespace

Order rcm_order(const TaskInputs& inputs) {
  Readers readers(inputs);
  std::vector<bool> visited(inputs.size());
  Order order;
  order.reserve(inputs.size());
  const auto visit = [&](Number task) {
    visited[task] = true;
    order.push_back(task);
  };
  std::vector<Readers::Sharing> neighbours;
  for (const Number start : starts(inputs, readers)) {
    if (visited[start]) continue;
    std::size_t current = order.size();
    for (visit(start); current < order.size(); ++current) {
      neighbours.clear();
      for (const Readers::Sharing& sharing : readers.sharing(inputs[order[current]])) {
        if (!visited[sharing.reader]) neighbours.push_back(sharing);
      }
      std::sort(neighbours.begin(), neighbours.end(), [](const auto& a, const auto& b) {
        return std::tie(a.bytes, a.reader) < std::tie(b.bytes, b.reader);
      });
      for (const Readers::Sharing& sharing : neighbours) visit(sharing.reader);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace vicinal::sched::orders
