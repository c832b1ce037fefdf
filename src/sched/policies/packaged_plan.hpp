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
  // horizon: on this node the copies of a task are to wait for the end of the task before.
  NodeIndex one_by_one = kNoNode;
};

// Where the time of a task is not known, tasks count alike: as this.
inline constexpr Time kUnknownTime{1000};

// What is there when the new tasks begin, as far as is known.
struct Past {
  struct Datum {
    std::uint64_t nodes = 0;         // that have its content, a bit each
    NodeIndex changed_in = kNoNode;  // the one that has it alone, and is not its home
    std::uint64_t last_use = 0;      // later ones are greater; 0: none is known
  };
  std::vector<Time> busy;   // by node: the work that it already has
  std::vector<Datum> data;  // by number; horizon alone wants them
};

// For the new tasks. `followed`: its tasks go where the plan says, in
// the order of the plan, behind all other tasks; null: there is no such plan.
Plan plan(const KnownTasks& known, const PlanRules& rules, const Nodes& nodes, Past past,
          FollowedPlan* followed = nullptr);

}  // namespace vicinal::sched::packaged
