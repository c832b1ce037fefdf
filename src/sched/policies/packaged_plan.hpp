// In which order, and on which memory node, tasks are to run: the orders of the paper (see orders/) on what is known.
//
// Tasks that the same nodes are to run are ordered together, for that many nodes, whose memory counts as that of the
// smallest of them:
//  - hfp makes a package per node and evens them out. Of chains.hpp's chains each package runs the first tasks first: on
//    one GPU of v100p gemm3d with 16 blocks a side gains 12 to 19 % in 100 to 250 MiB.
//  - mst and rcm, which the paper has for one memory, cut their order into parts of equal work, one per node.
//  - horizon makes one plan for all tasks, for the nodes that most of them run on.
// The longest package goes to the node with the least to do. The paper's tasks are independent; here the orders are
// made to keep the dependencies (dependency_order.hpp). And its machines have GPUs alone: here what an accelerator
// can run is planned for accelerators, and other nodes get what they take at run time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/nodes.hpp"
#include "sched/orders/task_inputs.hpp"
#include "sched/policies/followed_plan.hpp"
#include "sched/policy.hpp"

namespace vicinal::sched::packaged {

enum class Algorithm : std::uint8_t { hfp, mst, rcm, horizon };
enum class Balance : std::uint8_t { time, count, duration, none };

struct PlanRules {
  Algorithm algorithm = Algorithm::hfp;
  // Of hfp.
  bool flip = true;
  bool rounds_sizes = true;
  Balance balance = Balance::time;
};

struct Planned {
  graph::Task* task = nullptr;
  NodeIndex node = 0;
};

struct Plan {
  std::vector<Planned>
      tasks;    // each behind its predecessors; those of a node are in the node's order
  Bytes ahead;  // horizon: on each node, for copies that run ahead of the tasks
};

// Where the time of a task is not known, tasks count alike: as this.
inline constexpr Time kUnknownTime{1000};

// For the new tasks. `busy`: the work that each node already has. `followed`: its tasks go where the plan says, in
// the order of the plan, behind all other tasks; null: there is no such plan.
Plan plan(const KnownTasks& known, const PlanRules& rules, const Nodes& nodes,
          std::vector<Time> busy, FollowedPlan* followed = nullptr);

}  // namespace vicinal::sched::packaged
