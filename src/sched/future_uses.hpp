// What a policy knows of the future of the data, and the victims that follow from it: of the replicas
// that may go, what has no known use, then the one whose next use comes last (Belady's rule).
//
// A task that will come is expected on a node, or on any; when a worker has popped the task it is given to the
// node. Uses are in the order of these calls. Uses by given tasks come before uses by expected tasks.
//
// A FutureUses belongs to a single policy and is called inside that policy's methods, which the engine calls one at a
// time. Handle::policy_data is reserved for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/sure_memory.hpp"
#include "graph/handle.hpp"
#include "graph/task.hpp"
#include "memory/next_uses.hpp"
#include "memory/victim.hpp"
#include "sched/decisions.hpp"
#include "sched/policy.hpp"
#include "sched/records.hpp"

namespace vicinal::sched {

class FutureUses final : public memory::VictimChoice {
 public:
  // Where the uses of a task stand. The policy keeps it with the task.
  struct TaskUses {
    std::uint64_t number = 0;  // 0: nowhere
    std::size_t list = 0;      // of each of its data
    std::size_t accesses = 0;  // the first of the task: one that combines gets another later
  };

  // Called once, before the rest.
  void start(const PolicyContext& context) {
    nodes_ = context.machine().nodes.size();
    all_used_.assign(nodes_, false);
    refusals_.start(nodes_);
    decisions_.start(context);
  }

  // The task will run on the node, or on any, after all that are expected so far. Before that it was nowhere.
  void expect_on(const graph::Task& task, NodeId node, TaskUses& place) {
    put(task, nodes_ + node.value, place);
  }
  void expect(const graph::Task& task, TaskUses& place) { put(task, 2 * nodes_, place); }
  // The node has got the task, after all that it was given before. The task was anywhere.
  void give(const graph::Task& task, NodeId node, TaskUses& place) {
    forget(task, place);
    put(task, node.value, place);
  }
  // It has ended, or will not come. Nothing happens if it was nowhere.
  void forget(const graph::Task& task, TaskUses& place);
  // A task that the node was given, and that has not ended, uses it.
  bool is_given(const graph::Handle& handle, NodeId node) const {
    const DataRecord* const data = data_.find(handle);
    return data != nullptr && data->lists[node.value].uses > 0;
  }
  // Some task that has not ended, expected or given, uses it there.
  bool is_used(const graph::Handle& handle, NodeId node) const {
    const DataRecord* const data = data_.find(handle);
    return data != nullptr &&
           data->lists[node.value].uses + data->lists[nodes_ + node.value].uses > 0;
  }
  // For Policy::data_forgotten.
  void forget(graph::Handle& handle) { data_.close(handle); }

  // Refuses a prefetch if all that could go is used by tasks that the node was given.
  // O(log n) of n candidates for each one up to the first without a use.
  graph::Handle* choose(NodeId node, Bytes needed, memory::EvictionReason reason,
                        memory::Candidates& candidates) override;

 private:
  // The lists of uses: by node of given tasks, by node of expected tasks, then of tasks expected on any node.
  struct DataRecord {
    base::SureVector<memory::Uses> lists;
  };
  // Later ones are greater. No use is the greatest.
  struct NextUse {
    bool expected = true;
    std::uint64_t number = kNever;
    std::uint64_t rank() const {
      constexpr std::uint64_t kExpected = std::uint64_t{1} << 63;
      return number == kNever ? kNever : number + (expected ? kExpected : 0);
    }
  };
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  void put(const graph::Task& task, std::size_t list, TaskUses& place);
  DataRecord& record_of(graph::Handle& handle);
  NextUse next_use(const graph::Handle& handle, NodeId node);
  trace::Candidate scored(const graph::Handle& handle, NodeId node);

  std::size_t nodes_ = 0;
  base::SureVector<bool> all_used_;  // by node: the last victim had a next use
  memory::NextUses uses_;
  Decisions decisions_;
  Refusals refusals_;
  Records<DataRecord> data_;
};

}  // namespace vicinal::sched
