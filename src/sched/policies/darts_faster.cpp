// A node leaves tasks to faster nodes, and makes sure that the workers of those nodes take them.
//
// A worker without another task wakes the workers of the faster nodes. Each woken worker finds a task, since
// a task is never left where it is fastest; busy workers ask when their tasks have ended. Each request of a worker looks
// at the left tasks anew. Between two requests the ready work only becomes less, so that the same node would leave the
// same tasks again.
#include <algorithm>

#include "sched/policies/darts_ledger.hpp"

namespace vicinal::sched::darts {

std::size_t Ledger::present_workers(NodeIndex node) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      nodes_[node].workers, [&](WorkerId worker) { return !context_->away(worker); }));
}

std::int64_t Ledger::busy_ns(NodeIndex node) const {
  return books_[node].work_ns / static_cast<std::int64_t>(nodes_[node].workers.size());
}

std::int64_t Ledger::end_ns(const TaskRecord& record, NodeIndex node) const {
  const NodeBooks& books = books_[node];
  const bool idle = books.planned_tasks() + books.pulled.size < nodes_[node].workers.size();
  return (idle ? 0 : busy_ns(node)) + record.nodes[node].duration_ns;
}

// Workers that are away at present do not count.
bool Ledger::others_end_it_before(const Speeds& speeds, NodeIndex node) const {
  const std::int64_t alone = speeds.duration_ns[node];
  if (alone <= speeds.least_ns) return false;
  std::size_t fastest = 0;
  for (NodeIndex i = 0; i < nodes_.count(); ++i) {
    if (speeds.duration_ns[i] == speeds.least_ns) fastest += present_workers(i);
  }
  if (fastest == 0) return false;
  const auto workers = static_cast<std::int64_t>(nodes_[node].workers.size());
  const std::int64_t behind_others = (books_[node].work_ns + alone) / workers;
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
      if (there.one_kind && books_[node].pulled.size >= there.workers.size()) continue;
      for (const WorkerId worker : there.workers) {
        const bool takes_one = there.one_kind || main_.find_first([&](const TaskRecord& record) {
          return record.speeds == speeds && nodes_.can_run(record, worker);
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
    if (nodes_.can_run(record, worker) && !context_->away(worker)) context_->wake(worker);
  }
}

}  // namespace vicinal::sched::darts
