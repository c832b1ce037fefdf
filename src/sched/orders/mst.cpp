#include "sched/orders/mst.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

namespace vicinal::sched::orders {

namespace {

// Of equal ones the first has the lowest number.
struct Edge {
  std::uint64_t weight = 0;
  Number task = 0;
  bool operator<(const Edge& other) const {
    return std::tie(weight, other.task) < std::tie(other.weight, task);
  }
};

}  // namespace

Order mst_order(const TaskInputs& inputs) {
  Readers readers(inputs);
  std::vector<std::uint64_t> heaviest(inputs.size());  // edge to a task of the tree
  std::vector<bool> in_tree(inputs.size());
  std::priority_queue<Edge> edges;  // also lighter ones to the same task
  for (Number task = 0; task < inputs.size(); ++task) edges.push({0, task});
  Order order;
  order.reserve(inputs.size());
  while (!edges.empty()) {
    const Number next = edges.top().task;
    edges.pop();
    if (in_tree[next]) continue;
    in_tree[next] = true;
    order.push_back(next);
    for (const Readers::Sharing& sharing : readers.sharing(inputs[next])) {
      std::uint64_t& edge = heaviest[sharing.reader];
      if (in_tree[sharing.reader] || sharing.bytes <= edge) continue;
      edge = sharing.bytes;
      edges.push({edge, sharing.reader});
    }
  }
  return order;
}

}  // namespace vicinal::sched::orders
