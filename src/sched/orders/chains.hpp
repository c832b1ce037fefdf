// Chains: tasks that change the same datum in turn and depend on nothing else, as products added up in a block of C.
#pragma once

#include <span>
#include <vector>

#include "sched/orders/task_inputs.hpp"

namespace vicinal::sched::orders {

// The paper's tasks are independent: it reverses packages, and merges them end to end. Of a chain that is
// reversed the first task comes last, and to put dependencies right task by task (dependency_order.hpp) would run the
// chain as a whole where that one stands. Which of its tasks stands where is nothing to the datum that they
// change, and little to what they read, if a package is reversed as a whole. Our own.
class Chains {
 public:
  explicit Chains(const graph::Graph& graph);
  // The tasks of a chain share the places that they have in the order, in the order of submission. O(n log n).
  void straighten(std::span<Number> order) const;

 private:
  std::vector<Number> datum_;  // by task: what it changes, or kNone
};

}  // namespace vicinal::sched::orders
