#include "sched/policies/darts_speeds.hpp"

#include "sched/policies/darts_ledger.hpp"

namespace vicinal::sched::darts {

void Estimates::assess(TaskRecord& record) {
  record.bound = record.task->is_bound();
  record.nodes.assign(nodes_.count(), TaskOnNode{});
  for (NodeIndex i = 0; i < nodes_.count(); ++i) {
    const bool ask = record.bound || nodes_[i].like == i;
    record.nodes[i] = ask ? assess_on(*record.task, i) : record.nodes[nodes_[i].like];
  }
  guess_unknown(record);
  record.least_ns = 0;  // no node can run it
  for (TaskOnNode& here : record.nodes) {
    if (!here.can_run) continue;
    here.duration_ns = durations_.nearest(here.duration_ns);
    if (record.least_ns == 0 || here.duration_ns < record.least_ns) {
      record.least_ns = here.duration_ns;
    }
  }
}

// A duration of 0 is not known.
TaskOnNode Estimates::assess_on(const graph::Task& task, NodeIndex node) const {
  const auto able = nodes_.able_worker(task, node);
  if (!able) return {};
  return {.duration_ns = context_->run_time(task, *able).ns, .missing = 0, .can_run = true};
}

// From the first node whose time is known.
void Estimates::guess_unknown(TaskRecord& record) const {
  std::int64_t on_device = 1;
  for (NodeIndex i = 0; i < nodes_.count(); ++i) {
    const TaskOnNode& here = record.nodes[i];
    if (!here.can_run || here.duration_ns == 0) continue;
    on_device = std::max<std::int64_t>(here.duration_ns / slowness(i), 1);
    break;
  }
  for (NodeIndex i = 0; i < nodes_.count(); ++i) {
    TaskOnNode& here = record.nodes[i];
    if (!here.can_run || here.duration_ns != 0) continue;
    here.duration_ns = std::min(on_device, kLongestDuration.ns / kDevicesFaster) * slowness(i);
  }
}

Speeds& SpeedTable::of(const TaskRecord& record) {
  key_.clear();
  for (const TaskOnNode& here : record.nodes) key_.push_back(here.can_run ? here.duration_ns : 0);
  if (last_ != nullptr && last_->duration_ns == key_) return *last_;
  const auto [at, is_new] = all_.try_emplace(key_);
  last_ = &at->second;
  if (is_new) {
    last_->duration_ns = key_;
    last_->least_ns = record.least_ns;
    last_->fastest =
        static_cast<NodeIndex>(std::ranges::find(key_, record.least_ns) - key_.begin());
  }
  return *last_;
}

// --- A node leaves tasks to faster nodes, and makes sure that the workers of those nodes take them.
//
// A worker without another task wakes the workers of the faster nodes. Each woken worker finds a task, since
// a task is never left where it is fastest; busy workers ask when their tasks have ended. Each request of a worker looks
// at the left tasks anew. Between two requests the ready work only becomes less, so that the same node would leave the
// same tasks again.

bool Ledger::can_run(const TaskRecord& record, WorkerId worker) const {
  const NodeIndex node = nodes_.of(worker);
  if (!record.nodes[node].can_run) return false;
  const bool alike = nodes_[node].one_kind && !record.bound;
  return alike || context_->can_run(*record.task, worker);
}

std::int64_t Ledger::busy_ns(NodeIndex node) const {
  return books_[node].load.left_ns() / nodes_.workers(node);
}

std::int64_t Ledger::end_ns(const TaskRecord& record, NodeIndex node) const {
  const bool idle = books_[node].load.tasks() < nodes_[node].workers.size();
  return (idle ? 0 : busy_ns(node)) + record.nodes[node].duration_ns;
}

// Workers that are away at present do not count.
bool Ledger::others_end_it_before(const Speeds& speeds, NodeIndex node) const {
  const std::int64_t alone = speeds.duration_ns[node];
  if (alone <= speeds.least_ns) return false;
  std::size_t fastest = 0;
  for (NodeIndex i = 0; i < nodes_.count(); ++i) {
    if (speeds.duration_ns[i] == speeds.least_ns) fastest += nodes_.present_workers(i);
  }
  if (fastest == 0) return false;
  const std::int64_t behind_others = (books_[node].load.left_ns() + alone) / nodes_.workers(node);
  return std::max(alone, behind_others) >
         speeds.least_ns + fastest_ns_[speeds.fastest] / static_cast<std::int64_t>(fastest);
}

bool Ledger::begin_look(NodeIndex node) {
  if (nodes_.all_alike() || bound_ > 0) {
    for (Speeds* speeds : speeds_.in_main()) speeds->left = others_end_it_before(*speeds, node);
    return true;
  }
  bool some = false;
  for (Speeds* speeds : speeds_.in_main()) {
    speeds->left = speeds->duration_ns[node] == 0 || others_end_it_before(*speeds, node);
    some = some || !speeds->left;
  }
  return some;
}

// Nobody who would find nothing again: it would wake others in turn.
void Ledger::wake_the_fastest(WorkerId asking) {
  for (const Speeds* speeds : speeds_.in_main()) {
    for (NodeIndex node = 0; node < nodes_.count(); ++node) {
      if (speeds->duration_ns[node] != speeds->least_ns) continue;
      const ComputeNode& there = nodes_[node];
      if (there.one_kind && books_[node].load.given() >= there.workers.size()) continue;
      for (const WorkerId worker : there.workers) {
        const bool takes_one = there.one_kind || main_.find_first([&](const TaskRecord& record) {
          return record.speeds == speeds && can_run(record, worker);
        }) != nullptr;
        if (worker != asking && takes_one && !context_->away(worker)) context_->wake(worker);
      }
    }
  }
}

void Ledger::wake_neighbours(WorkerId worker) {
  const ComputeNode& node = nodes_[nodes_.of(worker)];
  if (node.one_kind && bound_ == 0) return;
  for (const WorkerId other : node.workers) {
    if (other != worker && !context_->away(other)) context_->wake(other);
  }
}

void Ledger::wake_for(const TaskRecord& record, NodeIndex node) {
  for (const WorkerId worker : nodes_[node].workers) {
    if (can_run(record, worker) && !context_->away(worker)) context_->wake(worker);
  }
}

}  // namespace vicinal::sched::darts
