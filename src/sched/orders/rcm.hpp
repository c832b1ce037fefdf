// Reverse Cuthill-McKee: tasks that share data stand close to each other in the order.
//
// The paper, section 3 (after Cuthill and McKee, 1969): breadth first through the graph of tasks, whose edges
// weigh what two tasks share, then reversed. The adaptation to weights is not in the paper. Here, as in its
// authors' program, a search starts at the task with the least weight on all its edges, and appends the
// neighbours of a task by rising weight of the edge to it (classically: by rising degree). Each component starts
// likewise. Ties go to the lowest number. The reversal is of the whole list.
#pragma once

#include "sched/orders/task_inputs.hpp"

namespace vicinal::sched::orders {

// Weights are in bytes; the paper's data have one size. O(sum over data of readers^2 * log(tasks)).
Order rcm_order(const TaskInputs& inputs);

}  // namespace vicinal::sched::orders
