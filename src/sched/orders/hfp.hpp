// Hierarchical Fair Packing: tasks that share most of their inputs are merged into packages, small ones first.
//
// The paper, section 3, Algorithm 1, read as its authors' program does it:
//  - A round takes the packages with the fewest tasks. Of all pairs of one of them and any other package those that
//    share most bytes are merged, the partner's tasks behind its own. A package is merged once in a round at
//    most: that keeps packages equally large, where Algorithm 1 read literally lets the first one swallow its
//    neighbours one by one.
//  - First phase: only pairs whose inputs fit the memory together count. It ends when no such pair shares anything;
//    Algorithm 1 instead looks at the best partner alone, fitting or not, and merges also what shares nothing.
//  - Second phase: any pair. The order within a package may be reversed (flip.hpp). Smallest packages that share
//    nothing with any other are set aside, and come behind the rest at the end.
//  - For K memories merging stops at K packages ("mHFP", IPDPS 2022); what was set aside makes up for missing
//    packages, then goes behind the package with the fewest tasks. balance.hpp evens them out.
// Ties, which the paper leaves open: of a round's packages the one at the lowest place chooses first, and takes the
// partner at the lowest place. A package stands at the place of its first owner, at the start that of its task's number.
// (The policy numbers tasks by the data that they read, so that the order of submission decides little.)
//
// With n tasks, R readers of a datum: each merge looks at the sum of R over the package's data, and so does each
// package that had chosen one that is gone. O(n log n) such looks if packages double in each round, as in dense
// linear algebra; O(n^2) at worst, if one package takes all others one by one. Memory O(accesses).
#pragma once

#include "sched/orders/task_inputs.hpp"

namespace vicinal::sched::orders {

struct Packing {
  Bytes memory;           // of one device
  bool flip = true;       // see flip.hpp
  std::size_t count = 1;  // of memories: packages to end with, at least 1
  // Those that share most are so by rounded_sizes. By bytes, as in the paper, a round merges one pair where all data
  // have different sizes, and packages grow one by one.
  bool rounds_sizes = false;
};

// `count` packages, some of them empty if there are fewer tasks. Each task is in one of them.
// Throws std::invalid_argument for a count of 0.
std::vector<Order> hfp_packages(const TaskInputs& inputs, const Packing& packing);
// The packages at the end of the first phase, by place: each fits the memory, but for single tasks that do not.
// They are `count` or more, unless there are fewer tasks.
std::vector<Order> hfp_first_phase(const TaskInputs& inputs, const Packing& packing);
// For one memory.
Order hfp_order(const TaskInputs& inputs, Bytes memory, bool flip = true);
// Each package packed anew by itself, as for one memory: after balancing (the program's odd MULTIGPU values).
void repack(std::vector<Order>& packages, const TaskInputs& inputs, const Packing& packing);

}  // namespace vicinal::sched::orders
