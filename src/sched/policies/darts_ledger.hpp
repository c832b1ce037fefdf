// The ledger of DARTS: where each ready task stands (main, planned, pulled), which data are absent
// where, and, kept up to date at every change so that no choice has to visit all tasks, what each
// task misses on each node and what each datum would set free.
//
// Costs, for K nodes, tasks of D operands, n absent data, and a datum with u readers in main and plans: a
// task that enters or leaves main O(K D + log p) for p different priorities, and O(log n) for each datum
// that it lists; a datum that becomes present on a node, or ceases to be, O(u D + log n).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/sure_memory.hpp"
#include "base/warm.hpp"
#include "sched/load.hpp"
#include "sched/nodes.hpp"
#include "sched/policies/darts_absent.hpp"
#include "sched/policies/darts_records.hpp"
#include "sched/policies/darts_speeds.hpp"
#include "sched/policy.hpp"
#include "sched/priority_list.hpp"
#include "sched/records.hpp"

namespace vicinal::sched::darts {

// One node's part of the ledger.
// Holds: a datum that is not present, and that tasks of main read which the node can run, is listed
// as absent or used by a planned task of the node.
struct NodeBooks {
  // Planned when they missed nothing, by priority; and the others.
  PriorityList<TaskRecord, RecordLinks> in_order;
  Chain<TaskRecord> planned;
  // No task planned before this one misses anything; null: none at all does.
  TaskRecord* maybe_missing = nullptr;
  AbsentList absent;
  FewestMissing fewest;
  Load load;                      // queued: planned; given: pulled
  std::size_t ready_in_main = 0;  // tasks of main that the node can run and that miss nothing
};

class Ledger {
 public:
  void start(PolicyContext& context) {
    context_ = &context;
    nodes_.start(context);
    estimates_.start(context);
    books_ = std::vector<NodeBooks>(nodes_.count());
    fastest_ns_.assign(nodes_.count(), 0);
  }

  const Nodes& nodes() const { return nodes_; }
  const NodeBooks& books(NodeIndex node) const { return books_[node]; }
  const PriorityList<TaskRecord, RecordLinks>& main() const { return main_; }

  // --- tasks
  TaskRecord& add(graph::Task& task) {
    TaskRecord& record = tasks_.open(task);
    record.task = &task;
    estimates_.assess(record);
    record.speeds = nodes_.all_alike() || record.bound ? nullptr : &speeds_.of(record);
    if (record.speeds != nullptr) fastest_ns_[record.speeds->fastest] += record.least_ns;
    bound_ += record.bound ? 1 : 0;
    record.uses.clear();
    for (graph::Access& access : task.accesses()) {
      DataRecord& data = record_of(*access.handle);
      // What has no bytes is a dependency and nothing to load.
      const bool loads = reads(access.mode) && access.handle->bytes().value > 0;
      record.uses.push_back({.data = &data, .task = &record, .reads = loads});
      // Its last writer may have made the other replicas invalid, without a word to the policy.
      transfers_changed(data);
      for (NodeIndex node = 0; node < nodes_.count(); ++node) refresh(data, node);
    }
    return record;
  }

  // Every operand it reads is present on the node, or will be: a task planned there uses it.
  bool is_free_on(const TaskRecord& record, NodeIndex node) const {
    return record.nodes[node].can_run &&
           std::all_of(record.uses.begin(), record.uses.end(), [node](const Use& use) {
             const DataOnNode& at = use.data->nodes[node];
             return !use.reads || at.present() || at.planned > 0;
           });
  }

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
  bool can_run(const TaskRecord& record, WorkerId worker) const;
  // Workers that would take a task of main which another node leaves to them, unless they sleep.
  void wake_the_fastest(WorkerId asking);
  // The others of its node, if they may be able to run what it cannot.
  void wake_neighbours(WorkerId worker);
  // Wakes the workers of the node that can run the task, where the planning worker cannot.
  void wake_for(const TaskRecord& record, NodeIndex node);
  // To the back of main; the data it reads become absent where they are neither present nor listed.
  void enter_main(TaskRecord& record) {
    record.stage = Stage::main;
    main_.push_back(record);
    if (record.speeds != nullptr) speeds_.enter_main(*record.speeds);
    for (Use& use : record.uses) {
      if (use.reads) use.data->in_main.push_front(use);
    }
    for (NodeIndex node = 0; node < nodes_.count(); ++node) {
      TaskOnNode& here = record.nodes[node];
      if (!here.can_run) continue;
      here.missing = count_missing(record, node);
      if (here.missing == 0) ++books_[node].ready_in_main;
      books_[node].fewest.enter(record, node, here.missing);
      for (const Use& use : record.uses) {
        if (!use.reads) continue;
        DataOnNode& at = use.data->nodes[node];
        count_in(at, record, node, at.missing_besides(here.missing));
        at.left_ns += here.duration_ns;
        books_[node].absent.changed(at);
        list_if_wanted(at, node);
      }
    }
  }

  // A task of main, to the back of the node's plan.
  void plan(TaskRecord& record, NodeIndex node) {
    leave_main(record);
    enter_plan(record, node, nullptr);
  }
  // A new free task, before the first planned one that misses something, so that it runs while the
  // other's data are on their way; if it misses nothing, by its priority among such.
  void plan_before_missing(TaskRecord& record, NodeIndex node) {
    TaskRecord*& first = books_[node].maybe_missing;
    while (first != nullptr && first->nodes[node].missing == 0) first = first->next;
    enter_plan(record, node, first);
  }

  // A planned task, pulled by the node: the one it is planned on, or another.
  void pull(TaskRecord& record, NodeIndex node) {
    leave_plan(record);
    record.stage = Stage::pulled;
    enter_pulled(record, node);
  }

  // A pulled task that has not started: to another node.
  void move_pulled(TaskRecord& record, NodeIndex to) {
    leave_pulled(record);
    enter_pulled(record, to);
  }
  // It has ended. From whichever stage: a cancelled task may end before it was pulled.
  void finish(TaskRecord& record) {
    switch (record.stage) {
      case Stage::none:
        break;
      case Stage::main:
        leave_main(record);
        break;
      case Stage::planned:
        leave_plan(record);
        break;
      case Stage::pulled:
        leave_pulled(record);
        break;
    }
    record.stage = Stage::none;
    if (record.speeds != nullptr) fastest_ns_[record.speeds->fastest] -= record.least_ns;
    bound_ -= record.bound ? 1 : 0;
    tasks_.close(*record.task);
  }

  // --- data
  // Asks the context again whether the replica is on the node.
  void refresh(DataRecord& data, NodeIndex node) {
    set_on_node(data, node, context_->on_node(*data.handle, nodes_[node].id));
  }
  // A source of copies came or went.
  void transfers_changed(DataRecord& data) {
    for (NodeIndex node = 0; node < nodes_.count(); ++node) {
      data.nodes[node].transfer_ns = -1;
      books_[node].absent.changed(data.nodes[node]);
    }
  }

  std::int64_t transfer_ns(DataOnNode& at, NodeIndex node) {
    if (at.transfer_ns < 0) {
      at.transfer_ns = context_->transfer_time(*at.data->handle, nodes_[node].id).ns;
    }
    return at.transfer_ns;
  }

  AbsentList& absent(NodeIndex node) { return books_[node].absent; }
  FewestMissing& fewest(NodeIndex node) { return books_[node].fewest; }
  // Will be loaded, or has no reader in main: the node need not look at it.
  void unlist(DataOnNode& at, NodeIndex node) {
    if (at.listed) books_[node].absent.remove(at);
  }
  // The replica leaves: planned tasks that read it go back to main, and if main has readers then, it
  // is absent at a random position. (On other nodes it is absent already: see the invariant.)
  void leave_node(DataRecord& data, NodeIndex node) {
    set_on_node(data, node, false);
    if (data.nodes[node].present()) return;  // a pulled task brings it back
    withdraw_readers(data, node);
  }

  void forget(DataRecord& data) {
    for (NodeIndex node = 0; node < nodes_.count(); ++node) {
      unlist(data.nodes[node], node);
    }
    data_.close(*data.handle);
  }

  // Number of its first use by a task pulled there, in the order they were pulled; 0: there is none.
  std::uint64_t first_pulled_use(DataRecord& data, NodeIndex node) {
    return pulled_uses_.first(data.nodes[node].pulled);
  }

 private:
  DataRecord& record_of(graph::Handle& handle) {
    if (DataRecord* const known = data_.find(handle)) return *known;
    DataRecord& data = data_.open(handle);
    data.handle = &handle;
    data.nodes.resize(nodes_.count());
    for (DataOnNode& at : data.nodes) {
      const bool was_changed = at.place.changed;  // of who had the record before: see AbsentList
      at = {};
      at.place.changed = was_changed;
      at.data = &data;
    }
    return data;
  }

  bool others_end_it_before(const Speeds& speeds, NodeIndex node) const;
  void leave_main(TaskRecord& record) {
    main_.remove(record);
    if (record.speeds != nullptr) speeds_.leave_main(*record.speeds);
    for (Use& use : record.uses) {
      if (use.reads) use.data->in_main.unlink(use);
    }
    for (NodeIndex node = 0; node < nodes_.count(); ++node) {
      const TaskOnNode& here = record.nodes[node];
      if (!here.can_run) continue;
      if (here.missing == 0) --books_[node].ready_in_main;
      books_[node].fewest.leave(record, node, here.missing);
      for (const Use& use : record.uses) {
        if (!use.reads) continue;
        DataOnNode& at = use.data->nodes[node];
        count_out(at, record, node, at.missing_besides(here.missing));
        at.left_ns -= here.duration_ns;
        books_[node].absent.changed(at);
      }
    }
  }

  void enter_plan(TaskRecord& record, NodeIndex node, TaskRecord* successor) {
    NodeBooks& books = books_[node];
    record.stage = Stage::planned;
    record.node = node;
    record.nodes[node].missing = count_missing(record, node);
    record.in_order = record.nodes[node].missing == 0;
    books.load.queue(record.nodes[node].duration_ns);
    if (record.in_order) {
      books.in_order.push_back(record);
    } else {
      books.planned.insert(record, successor);
      if (books.maybe_missing == successor) books.maybe_missing = &record;
    }
    for (Use& use : record.uses) {
      ++use.data->nodes[node].planned;
      if (use.reads) use.data->in_plans.push_front(use);
    }
  }

  void leave_plan(TaskRecord& record) {
    NodeBooks& books = books_[record.node];
    if (record.in_order) {
      books.in_order.remove(record);
    } else {
      if (books.maybe_missing == &record) books.maybe_missing = record.next;
      books.planned.unlink(record);
    }
    books.load.take_out(record.nodes[record.node].duration_ns);
    for (Use& use : record.uses) {
      if (use.reads) use.data->in_plans.unlink(use);
      DataOnNode& at = use.data->nodes[record.node];
      // Unless the task is pulled here now, nobody has planned to load it any more.
      if (--at.planned == 0) list_if_wanted(at, record.node);
    }
  }

  void enter_pulled(TaskRecord& record, NodeIndex node) {
    record.node = node;
    books_[node].load.give(record.nodes[node].duration_ns);
    record.pulled = pulled_uses_.take_number();
    for (const Use& use : record.uses) {
      DataOnNode& at = use.data->nodes[node];
      const bool was_present = at.present();
      pulled_uses_.add(at.pulled, record.pulled);
      if (!was_present) presence_changed(*use.data, node);
    }
  }

  void leave_pulled(TaskRecord& record) {
    books_[record.node].load.end(record.nodes[record.node].duration_ns);
    pulled_uses_.mark_left(record.pulled);
    for (const Use& use : record.uses) {
      DataOnNode& at = use.data->nodes[record.node];
      if (at.pulled.uses == 1) refresh(*use.data, record.node);
      pulled_uses_.drop(at.pulled);
      // A task that failed or was cancelled may never have loaded it.
      if (!at.present()) presence_changed(*use.data, record.node);
    }
  }

  void withdraw_readers(DataRecord& data, NodeIndex node) {
    if (data.nodes[node].planned == 0) return;
    list_at_random(data.nodes[node], node);
    withdrawn_.clear();
    const auto note_readers = [&](TaskRecord& record) {
      const auto reads_it = [&data](const Use& use) { return use.reads && use.data == &data; };
      if (std::ranges::any_of(record.uses, reads_it)) withdrawn_.push_back(&record);
    };
    NodeBooks& books = books_[node];
    books.in_order.find_first([&](TaskRecord& record) { return note_readers(record), false; });
    for (TaskRecord* record = books.planned.head; record != nullptr; record = record->next) {
      note_readers(*record);
    }
    for (TaskRecord* record : withdrawn_) {
      leave_plan(*record);
      enter_main(*record);
    }
  }

  void set_on_node(DataRecord& data, NodeIndex node, bool on_node) {
    DataOnNode& at = data.nodes[node];
    const bool was_present = at.present();
    at.on_node = on_node;
    if (at.present() != was_present) presence_changed(data, node);
  }

  // Called once `present` tells the new state.
  void presence_changed(DataRecord& data, NodeIndex node) {
    NodeBooks& books = books_[node];
    DataOnNode& at = data.nodes[node];
    const bool present = at.present();
    for (Use* use = data.in_main.head; use != nullptr; use = use->next) {
      // Tasks of many operands lie far apart.
      if (use->next != nullptr) base::warm(use->next->task, 2 * base::kLine);
      if (use->task->nodes[node].can_run) shift_in_main(*use->task, data, node, present);
    }
    for (Use* use = data.in_plans.head; use != nullptr; use = use->next) {
      if (use->task->node != node) continue;
      std::uint32_t& missing = use->task->nodes[node].missing;
      missing = present ? missing - 1 : missing + 1;
      if (!present) books.maybe_missing = books.planned.head;
    }
    if (present) {
      unlist(at, node);
    } else if (at.left_ns > 0) {
      list_at_random(at, node);
    }
  }

  // A task of main has come to miss the datum, or to miss it no more: its other operands count it
  // elsewhere. For the changed datum itself nothing changes: it never counts its own presence.
  void shift_in_main(TaskRecord& record, const DataRecord& changed, NodeIndex node, bool present) {
    std::uint32_t& missing = record.nodes[node].missing;
    const std::uint32_t before = missing;
    missing = present ? before - 1 : before + 1;
    if (before == 0) --books_[node].ready_in_main;
    if (missing == 0) ++books_[node].ready_in_main;
    books_[node].fewest.leave(record, node, before);
    books_[node].fewest.enter(record, node, missing);
    // No operand counts it, before or now: tasks of many operands mostly end here.
    if (std::min(before, missing) > 2) return;
    for (const Use& use : record.uses) {
      if (!use.reads || use.data == &changed) continue;
      DataOnNode& at = use.data->nodes[node];
      count_out(at, record, node, at.missing_besides(before));
      count_in(at, record, node, at.missing_besides(missing));
      books_[node].absent.changed(at);
    }
  }

  void list_if_wanted(DataOnNode& at, NodeIndex node) {
    if (at.listed || at.present() || at.left_ns == 0) return;
    books_[node].absent.push_back(at);
  }
  void list_at_random(DataOnNode& at, NodeIndex node) {
    if (at.listed) return;
    AbsentList& absent = books_[node].absent;
    absent.insert_at(context_->random().below(absent.size() + 1), at);
  }

  PolicyContext* context_ = nullptr;
  Nodes nodes_;
  Estimates estimates_{nodes_};
  std::vector<NodeBooks> books_;
  memory::NextUses pulled_uses_;
  PriorityList<TaskRecord, RecordLinks> main_;
  SpeedTable speeds_;
  // Of the ready tasks that have not ended, each for the first of the nodes where it is fastest.
  std::vector<std::int64_t> fastest_ns_;
  std::size_t bound_ = 0;                    // tasks that are for some workers
  base::SureVector<TaskRecord*> withdrawn_;  // of withdraw_readers; a member to keep its room
  Records<TaskRecord> tasks_;
  Records<DataRecord> data_;
};

}  // namespace vicinal::sched::darts
