#include "sched/orders/mst.hpp"

#include <algorithm>

namespace vicinal::sched::orders {

Order mst_order(const TaskInputs& inputs) {
  Readers readers(inputs);
  std::vector<std::uint64_t> edge(inputs.size());  // the heaviest to a task of the tree
  std::vector<Number> outside;                     // of the tree, rising
  for (Number task = 0; task < inputs.size(); ++task) outside.push_back(task);
  Order order;
  order.reserve(inputs.size());
  while (!outside.empty()) {
    // Of equal ones the first, which has the lowest number.
    const auto next = std::max_element(outside.begin(), outside.end(),
                                       [&](Number a, Number b) { return edge[a] < edge[b]; });
    order.push_back(*next);
    outside.erase(next);
    for (const auto& [task, bytes, weight] : readers.sharing(inputs[order.back()])) {
      edge[task] = std::max(edge[task], bytes);
    }
  }
  return order;
}

}  // namespace vicinal::sched::orders
