// What DARTS notes about each ready task and each piece of data, and the lists these hang in.
//
// The words are those of Gonthier et al. 2024, section 5 (Alg. 3); "node" stands for their GPU: a
// memory node with workers, all of them together. Nodes are numbered densely here, by NodeIndex.
//   main     readyTasks: ready and planned on no node
//   planned  plannedTasks of a node: chosen for it, may still be withdrawn
//   pulled   taskBuffer of a node and what runs there: popped by the engine and not ended
//   absent   dataNotInMem of a node: used by tasks of main, not present there, not planned to be
// A datum is *present* on a node if the replica is valid or requested there, or if a task pulled
// there uses it (the engine may request its copy later, when there is room).
// A task *misses* an operand that it reads and that is not present. Operands only written are never missed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/sure_memory.hpp"
#include "graph/handle.hpp"
#include "graph/task.hpp"
#include "memory/next_uses.hpp"
#include "sched/nodes.hpp"
#include "sched/priority_list.hpp"
#include "sched/records.hpp"

namespace vicinal::sched::darts {

struct DataRecord;
struct Speeds;
struct TaskRecord;

// One operand of one task; in a list of its datum while the task is in main or planned.
struct Use {
  DataRecord* data = nullptr;
  TaskRecord* task = nullptr;
  Use* previous = nullptr;
  Use* next = nullptr;
  bool reads = false;
};

struct DataOnNode;

// Of an absent datum among the others: see AbsentList, which alone changes it.
struct AbsentPlace {
  DataOnNode* above = nullptr;
  DataOnNode* before = nullptr;  // the topmost of those before it and below its place
  DataOnNode* behind = nullptr;
  DataOnNode* best = nullptr;  // of those below its place, and itself; nullptr: to be looked for
  std::uint32_t size = 1;      // of those
  std::uint32_t height = 0;
  bool changed = false;
};

// A datum as one node sees it. "Free" and "near" count tasks of main that the node can run and that
// miss none (S0) or one (S1) of their operands other than this datum.
struct DataOnNode {
  DataRecord* data = nullptr;
  AbsentPlace place;              // in the node's absent list
  std::int64_t free_ns = 0;       // of the free tasks
  std::int64_t left_ns = 0;       // of all tasks of main that read it and that the node can run
  std::int64_t transfer_ns = -1;  // -1: to be asked again
  std::uint32_t free_tasks = 0;
  std::uint32_t near_tasks = 0;
  int free_priority = 0;  // highest of the free tasks, or more if stale; if there are any
  int near_priority = 0;
  std::uint32_t planned = 0;         // tasks planned on the node that use it
  memory::Uses pulled;               // by tasks pulled there, in the order they were pulled
  bool on_node = false;              // as the context said last
  bool listed = false;               // in the absent list
  bool free_priority_stale = false;  // a task that had the highest has left
  bool near_priority_stale = false;

  bool present() const { return on_node || pulled.uses > 0; }
  // What the task, which reads this datum, misses besides it.
  std::uint32_t missing_besides(std::uint32_t missing) const {
    return missing - (present() ? 0 : 1);
  }
};

struct DataRecord {
  graph::Handle* handle = nullptr;
  base::SureVector<DataOnNode> nodes;  // by NodeIndex
  Chain<Use> in_main;                  // its readers in main, newest first
  Chain<Use> in_plans;                 // its readers planned on any node, newest first
};

struct TaskOnNode {
  std::int64_t duration_ns = 1;
  std::uint32_t missing = 0;  // kept for all nodes while in main, for one while planned
  bool can_run = false;
  // Among the tasks of main that miss as many, see FewestMissing.
  TaskRecord* previous = nullptr;
  TaskRecord* next = nullptr;
};

enum class Stage : std::uint8_t { none, main, planned, pulled };

struct TaskRecord {
  graph::Task* task = nullptr;
  TaskRecord* previous = nullptr;  // in main or in the plan
  TaskRecord* next = nullptr;
  Stage stage = Stage::none;
  bool bound = false;          // to a worker, or to a memory node
  bool in_order = false;       // while planned: in NodeBooks::in_order
  NodeIndex node = kNoNode;    // where it is planned or pulled
  std::uint64_t pulled = 0;    // while it is: number of its uses
  std::int64_t least_ns = 1;   // where it is fastest
  Speeds* speeds = nullptr;    // nullptr: no node would leave it to another
  base::SureVector<Use> uses;  // all operands
  base::SureVector<TaskOnNode> nodes;
};

inline void raise(int& highest, bool& stale, bool first, int priority) {
  if (!first && priority < highest) return;
  highest = priority;
  stale = false;
}

// The task counts for the datum as free if it misses no other operand, as near if it misses one.
inline void count_in(DataOnNode& at, const TaskRecord& record, NodeIndex node,
                     std::uint32_t others) {
  const int priority = record.task->priority;
  if (others == 0) {
    raise(at.free_priority, at.free_priority_stale, at.free_tasks == 0, priority);
    at.free_ns += record.nodes[node].duration_ns;
    ++at.free_tasks;
  } else if (others == 1) {
    raise(at.near_priority, at.near_priority_stale, at.near_tasks == 0, priority);
    ++at.near_tasks;
  }
}

inline void count_out(DataOnNode& at, const TaskRecord& record, NodeIndex node,
                      std::uint32_t others) {
  const int priority = record.task->priority;
  if (others == 0) {
    at.free_priority_stale = at.free_priority_stale || priority == at.free_priority;
    at.free_ns -= record.nodes[node].duration_ns;
    --at.free_tasks;
  } else if (others == 1) {
    at.near_priority_stale = at.near_priority_stale || priority == at.near_priority;
    --at.near_tasks;
  }
}

inline std::uint32_t count_missing(const TaskRecord& record, NodeIndex node) {
  std::uint32_t missing = 0;
  for (const Use& use : record.uses) {
    if (use.reads && !use.data->nodes[node].present()) ++missing;
  }
  return missing;
}

using RecordLinks = MemberLinks<TaskRecord>;

// Tasks of main by how many operands they miss on one node, from three on: no datum counts them as free or
// near, see DataOnNode.
class FewestMissing {
 public:
  static constexpr std::uint32_t kLeast = 3;

  // The task misses `missing` operands on the node, it can run there and is in main.
  void enter(TaskRecord& record, NodeIndex node, std::uint32_t missing) {
    if (missing < kLeast) return;
    if (missing >= first_.size()) first_.resize(missing + 1);
    TaskOnNode& here = record.nodes[node];
    here.previous = nullptr;
    here.next = first_[missing];
    if (here.next != nullptr) here.next->nodes[node].previous = &record;
    first_[missing] = &record;
    fewest_ = missing < fewest_ ? missing : fewest_;
  }
  // It missed so many until now.
  void leave(TaskRecord& record, NodeIndex node, std::uint32_t missing) {
    if (missing < kLeast) return;
    TaskOnNode& here = record.nodes[node];
    if (here.next != nullptr) here.next->nodes[node].previous = here.previous;
    (here.previous != nullptr ? here.previous->nodes[node].next : first_[missing]) = here.next;
  }

  // Of the tasks that miss fewest operands, and less than `less_than`, the wanted one of highest priority, of
  // the last few that have come to miss so many; nullptr: there is none.
  template <typename Predicate>
  TaskRecord* find(NodeIndex node, std::uint32_t less_than, Predicate&& wanted) {
    while (fewest_ < first_.size() && first_[fewest_] == nullptr) ++fewest_;
    for (std::uint32_t missing = fewest_; missing < less_than && missing < first_.size();
         ++missing) {
      TaskRecord* best = nullptr;
      int looks = kLooks;
      for (TaskRecord* at = first_[missing]; at != nullptr && looks > 0; --looks) {
        const bool higher = best == nullptr || at->task->priority > best->task->priority;
        if (higher && wanted(*at)) best = at;
        at = at->nodes[node].next;
      }
      if (best != nullptr) return best;
    }
    return nullptr;
  }

 private:
  static constexpr int kLooks = 16;

  base::SureVector<TaskRecord*> first_;  // by what they miss, the last that came
  std::uint32_t fewest_ = kLeast;        // none misses less, of those that are here
};

}  // namespace vicinal::sched::darts
