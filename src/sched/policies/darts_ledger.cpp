#include "sched/policies/darts_ledger.hpp"

#include <algorithm>

#include "base/warm.hpp"

namespace vicinal::sched::darts {
namespace {

void raise(int& highest, bool& stale, bool first, int priority) {
  if (!first && priority < highest) return;
  highest = priority;
  stale = false;
}

// The task counts for the datum as free if it misses no other operand, as near if it misses one.
void count_in(DataOnNode& at, const TaskRecord& record, NodeIndex node, std::uint32_t others) {
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

void count_out(DataOnNode& at, const TaskRecord& record, NodeIndex node, std::uint32_t others) {
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

std::uint32_t count_missing(const TaskRecord& record, NodeIndex node) {
  std::uint32_t missing = 0;
  for (const Use& use : record.uses) {
    if (use.reads && !use.data->nodes[node].present()) ++missing;
  }
  return missing;
}

}  // namespace

void Ledger::start(PolicyContext& context) {
  context_ = &context;
  nodes_.start(context);
  books_ = std::vector<NodeBooks>(nodes_.count());
  fastest_ns_.assign(nodes_.count(), 0);
}

DataRecord& Ledger::record_of(graph::Handle& handle) {
  if (handle.policy_data != nullptr) return *static_cast<DataRecord*>(handle.policy_data);
  DataRecord& data = data_.take();
  data.handle = &handle;
  data.nodes.resize(nodes_.count());
  for (DataOnNode& at : data.nodes) {
    const bool was_changed = at.place.changed;  // of who had the record before: see AbsentList
    at = {};
    at.place.changed = was_changed;
    at.data = &data;
  }
  handle.policy_data = &data;
  return data;
}

void Ledger::forget(DataRecord& data) {
  for (NodeIndex node = 0; node < nodes_.count(); ++node) {
    unlist(data.nodes[node], node);
  }
  data.handle->policy_data = nullptr;
  data_.give_back(data);
}

// --- tasks ------------------------------------------------------------------------------------

TaskRecord& Ledger::add(graph::Task& task) {
  TaskRecord& record = tasks_.take();
  record.task = &task;
  task.policy_data = &record;
  nodes_.assess(record);
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

bool Ledger::is_free_on(const TaskRecord& record, NodeIndex node) const {
  return record.nodes[node].can_run &&
         std::all_of(record.uses.begin(), record.uses.end(), [node](const Use& use) {
           const DataOnNode& at = use.data->nodes[node];
           return !use.reads || at.present() || at.planned > 0;
         });
}

void Ledger::enter_main(TaskRecord& record) {
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

void Ledger::leave_main(TaskRecord& record) {
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

void Ledger::plan(TaskRecord& record, NodeIndex node) {
  leave_main(record);
  enter_plan(record, node, nullptr);
}

void Ledger::plan_before_missing(TaskRecord& record, NodeIndex node) {
  TaskRecord*& first = books_[node].maybe_missing;
  while (first != nullptr && first->nodes[node].missing == 0) first = first->next;
  enter_plan(record, node, first);
}

void Ledger::enter_plan(TaskRecord& record, NodeIndex node, TaskRecord* successor) {
  NodeBooks& books = books_[node];
  record.stage = Stage::planned;
  record.node = node;
  record.nodes[node].missing = count_missing(record, node);
  record.in_order = record.nodes[node].missing == 0;
  books.work_ns += record.nodes[node].duration_ns;
  if (record.in_order) {
    books.in_order.push_back(record);
    ++books.in_order_size;
  } else {
    books.planned.insert(record, successor);
    if (books.maybe_missing == successor) books.maybe_missing = &record;
  }
  for (Use& use : record.uses) {
    ++use.data->nodes[node].planned;
    if (use.reads) use.data->in_plans.push_front(use);
  }
}

void Ledger::leave_plan(TaskRecord& record) {
  NodeBooks& books = books_[record.node];
  if (record.in_order) {
    books.in_order.remove(record);
    --books.in_order_size;
  } else {
    if (books.maybe_missing == &record) books.maybe_missing = record.next;
    books.planned.unlink(record);
  }
  books.work_ns -= record.nodes[record.node].duration_ns;
  for (Use& use : record.uses) {
    if (use.reads) use.data->in_plans.unlink(use);
    DataOnNode& at = use.data->nodes[record.node];
    // Unless the task is pulled here now, nobody has planned to load it any more.
    if (--at.planned == 0) list_if_wanted(at, record.node);
  }
}

void Ledger::pull(TaskRecord& record, NodeIndex node) {
  leave_plan(record);
  record.stage = Stage::pulled;
  enter_pulled(record, node);
}

void Ledger::move_pulled(TaskRecord& record, NodeIndex to) {
  leave_pulled(record);
  enter_pulled(record, to);
}

void Ledger::enter_pulled(TaskRecord& record, NodeIndex node) {
  record.node = node;
  books_[node].pulled.insert(record);
  books_[node].work_ns += record.nodes[node].duration_ns;
  books_[node].pulled_ns += record.nodes[node].duration_ns;
  record.pulled = pulled_uses_.take_number();
  for (const Use& use : record.uses) {
    DataOnNode& at = use.data->nodes[node];
    const bool was_present = at.present();
    pulled_uses_.add(at.pulled, record.pulled);
    if (!was_present) presence_changed(*use.data, node);
  }
}

void Ledger::leave_pulled(TaskRecord& record) {
  books_[record.node].pulled.unlink(record);
  books_[record.node].work_ns -= record.nodes[record.node].duration_ns;
  books_[record.node].pulled_ns -= record.nodes[record.node].duration_ns;
  pulled_uses_.mark_left(record.pulled);
  for (const Use& use : record.uses) {
    DataOnNode& at = use.data->nodes[record.node];
    if (at.pulled.uses == 1) refresh(*use.data, record.node);
    pulled_uses_.drop(at.pulled);
    // A task that failed or was cancelled may never have loaded it.
    if (!at.present()) presence_changed(*use.data, record.node);
  }
}

void Ledger::finish(TaskRecord& record) {
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
  record.task->policy_data = nullptr;
  tasks_.give_back(record);
}

// --- data -------------------------------------------------------------------------------------

void Ledger::refresh(DataRecord& data, NodeIndex node) {
  set_on_node(data, node, context_->on_node(*data.handle, nodes_[node].id));
}

void Ledger::set_on_node(DataRecord& data, NodeIndex node, bool on_node) {
  DataOnNode& at = data.nodes[node];
  const bool was_present = at.present();
  at.on_node = on_node;
  if (at.present() != was_present) presence_changed(data, node);
}

// Called once `present` tells the new state.
void Ledger::presence_changed(DataRecord& data, NodeIndex node) {
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
void Ledger::shift_in_main(TaskRecord& record, const DataRecord& changed, NodeIndex node,
                           bool present) {
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

void Ledger::transfers_changed(DataRecord& data) {
  for (NodeIndex node = 0; node < nodes_.count(); ++node) {
    data.nodes[node].transfer_ns = -1;
    books_[node].absent.changed(data.nodes[node]);
  }
}

std::int64_t Ledger::transfer_ns(DataOnNode& at, NodeIndex node) {
  if (at.transfer_ns < 0) {
    at.transfer_ns = context_->transfer_time(*at.data->handle, nodes_[node].id).ns;
  }
  return at.transfer_ns;
}

void Ledger::unlist(DataOnNode& at, NodeIndex node) {
  if (at.listed) books_[node].absent.remove(at);
}

void Ledger::list_if_wanted(DataOnNode& at, NodeIndex node) {
  if (at.listed || at.present() || at.left_ns == 0) return;
  books_[node].absent.push_back(at);
}

void Ledger::list_at_random(DataOnNode& at, NodeIndex node) {
  if (at.listed) return;
  AbsentList& absent = books_[node].absent;
  absent.insert_at(context_->random().below(absent.size() + 1), at);
}

void Ledger::leave_node(DataRecord& data, NodeIndex node) {
  set_on_node(data, node, false);
  if (data.nodes[node].present()) return;  // a pulled task brings it back
  withdraw_readers(data, node);
}

void Ledger::withdraw_readers(DataRecord& data, NodeIndex node) {
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

}  // namespace vicinal::sched::darts
