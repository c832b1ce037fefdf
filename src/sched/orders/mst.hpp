// Maximum spanning tree: after each task comes one that shares most with a task before it.
//
// The paper, section 3 (after Yoo et al.): Prim's algorithm on the graph of tasks, whose edges weigh what two tasks
// share; the order is that of inclusion in the tree. Start and ties are not in the paper: the start is the
// task with the lowest number, ties go to the lowest number, and of tasks that share nothing with those before them,
// the one with the lowest number comes next (as if by an edge of weight 0).
#pragma once

#include "sched/orders/task_inputs.hpp"

namespace vicinal::sched::orders {

// Weights are in bytes; the paper's data have one size. O(s log s), s the sum over data of readers^2 (see
// Readers).
Order mst_order(const TaskInputs& inputs);

}  // namespace vicinal::sched::orders
