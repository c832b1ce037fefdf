// The ledger of DARTS: where each ready task stands (main, planned, pulled), which data are absent
// where, and, kept up to date at every change so that no choice has to visit all tasks, what each
// task misses on each node and what each datum would set free.
//
// Costs, for K nodes, tasks of D operands, n absent data, and a datum with u readers in main and plans: a
// task that enters or leaves main O(K D + log p) for p different priorities, and O(log n) for each datum
// that it lists; a datum that becomes present on a node, or ceases to be, O(u D + log n).
#pragma once

#include <cstdint>
#include <vector>

#include "base/sure_memory.hpp"
#include "sched/policies/darts_absent.hpp"
#include "sched/policies/darts_fewest.hpp"
#include "sched/policies/darts_nodes.hpp"
#include "sched/policies/darts_records.hpp"
#include "sched/policies/darts_speeds.hpp"
#include "sched/policy.hpp"
#include "sched/priority_list.hpp"

namespace vicinal::sched::darts {

// One node's part of the ledger.
// Holds: a datum that is not present, and that tasks of main read which the node can run, is listed
// as absent or used by a planned task of the node.
struct NodeBooks {
  // Planned when they missed nothing, by priority; and the others.
  PriorityList<TaskRecord, RecordLinks> in_order;
  std::size_t in_order_size = 0;
  Chain<TaskRecord> planned;
  // No task planned before this one misses anything; null: none at all does.
  TaskRecord* maybe_missing = nullptr;
  Chain<TaskRecord> pulled;  // in the order they were pulled
  AbsentList absent;
  FewestMissing fewest;
  std::int64_t work_ns = 0;       // planned and pulled
  std::int64_t pulled_ns = 0;     // pulled
  std::size_t ready_in_main = 0;  // tasks of main that the node can run and that miss nothing

  std::size_t planned_tasks() const { return in_order_size + planned.size; }
};

class Ledger {
 public:
  void start(PolicyContext& context);
  const Nodes& nodes() const { return nodes_; }
  const NodeBooks& books(NodeIndex node) const { return books_[node]; }
  const PriorityList<TaskRecord, RecordLinks>& main() const { return main_; }

  // --- tasks
  TaskRecord& add(graph::Task& task);
  // Every operand it reads is present on the node, or will be: a task planned there uses it.
  bool is_free_on(const TaskRecord& record, NodeIndex node) const;
  // The node is so much slower for it than others that they would have ended it, and all that is ready and
  // fastest there before it, when the node has: it is left to them. Never true where it is fastest.
  bool is_left_to_faster(const TaskRecord& record, NodeIndex node) const {
    return record.speeds != nullptr && others_end_it_before(*record.speeds, node);
  }
  // The same for many tasks, while nothing else is asked for. False: there is no use in looking, all that
  // the node can run is left to others.
  bool begin_look(NodeIndex node);
  bool is_left(const TaskRecord& record) const {
    return record.speeds != nullptr && record.speeds->left;
  }
  // The time from now until the node would end the task, behind all that the node has been given; for comparing nodes.
  std::int64_t end_ns(const TaskRecord& record, NodeIndex node) const;
  // When it will have ended what it has been given.
  std::int64_t busy_ns(NodeIndex node) const;
  std::size_t present_workers(NodeIndex node) const;
  // Workers that would take a task of main which another node leaves to them, unless they sleep.
  void wake_the_fastest(WorkerId asking);
  // The others of its node, if they may be able to run what it cannot.
  void wake_neighbours(WorkerId worker);
  // Wakes the workers of the node that can run the task, where the planning worker cannot.
  void wake_for(const TaskRecord& record, NodeIndex node);
  // To the back of main; the data it reads become absent where they are neither present nor listed.
  void enter_main(TaskRecord& record);
  // A task of main, to the back of the node's plan.
  void plan(TaskRecord& record, NodeIndex node);
  // A new free task, before the first planned one that misses something, so that it runs while the
  // other's data are on their way; if it misses nothing, by its priority among such.
  void plan_before_missing(TaskRecord& record, NodeIndex node);
  // A planned task, pulled by the node: the one it is planned on, or another.
  void pull(TaskRecord& record, NodeIndex node);
  // A pulled task that has not started: to another node.
  void move_pulled(TaskRecord& record, NodeIndex to);
  // It has ended. From whichever stage: a cancelled task may end before it was pulled.
  void finish(TaskRecord& record);

  // --- data
  // Asks the context again whether the replica is on the node.
  void refresh(DataRecord& data, NodeIndex node);
  // A source of copies came or went.
  void transfers_changed(DataRecord& data);
  std::int64_t transfer_ns(DataOnNode& at, NodeIndex node);
  AbsentList& absent(NodeIndex node) { return books_[node].absent; }
  FewestMissing& fewest(NodeIndex node) { return books_[node].fewest; }
  // Will be loaded, or has no reader in main: the node need not look at it.
  void unlist(DataOnNode& at, NodeIndex node);
  // The replica leaves: planned tasks that read it go back to main, and if main has readers then, it
  // is absent at a random position. (On other nodes it is absent already: see the invariant.)
  void leave_node(DataRecord& data, NodeIndex node);
  void forget(DataRecord& data);
  // Number of its first use by a task pulled there, in the order they were pulled; 0: there is none.
  std::uint64_t first_pulled_use(DataRecord& data, NodeIndex node) {
    return pulled_uses_.first(data.nodes[node].pulled);
  }

 private:
  DataRecord& record_of(graph::Handle& handle);
  bool others_end_it_before(const Speeds& speeds, NodeIndex node) const;
  void leave_main(TaskRecord& record);
  void enter_plan(TaskRecord& record, NodeIndex node, TaskRecord* successor);
  void leave_plan(TaskRecord& record);
  void enter_pulled(TaskRecord& record, NodeIndex node);
  void leave_pulled(TaskRecord& record);
  void withdraw_readers(DataRecord& data, NodeIndex node);
  void set_on_node(DataRecord& data, NodeIndex node, bool on_node);
  void presence_changed(DataRecord& data, NodeIndex node);
  void shift_in_main(TaskRecord& record, const DataRecord& changed, NodeIndex node, bool present);
  void list_if_wanted(DataOnNode& at, NodeIndex node);
  void list_at_random(DataOnNode& at, NodeIndex node);

  PolicyContext* context_ = nullptr;
  Nodes nodes_;
  std::vector<NodeBooks> books_;
  memory::NextUses pulled_uses_;
  PriorityList<TaskRecord, RecordLinks> main_;
  SpeedTable speeds_;
  // Of the ready tasks that have not ended, each for the first of the nodes where it is fastest.
  std::vector<std::int64_t> fastest_ns_;
  std::size_t bound_ = 0;                    // tasks that are for some workers
  base::SureVector<TaskRecord*> withdrawn_;  // of withdraw_readers; a member to keep its room
  RecordPool<TaskRecord> tasks_;
  RecordPool<DataRecord> data_;
};

}  // namespace vicinal::sched::darts
