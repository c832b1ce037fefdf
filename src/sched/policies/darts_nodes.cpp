#include "sched/policies/darts_nodes.hpp"

#include <algorithm>

namespace vicinal::sched::darts {

void Nodes::start(const PolicyContext& context) {
  context_ = &context;
  const MachineDescription& machine = context.machine();
  by_id_.assign(machine.nodes.size(), kNoNode);
  by_worker_.assign(machine.workers.size(), kNoNode);
  for (const WorkerDescription& worker : machine.workers) {
    NodeIndex& index = by_id_[worker.node.value];
    if (index == kNoNode) {
      index = count();
      nodes_.push_back({.id = worker.node, .workers = {}});
    }
    ComputeNode& node = nodes_[index];
    node.workers.push_back(worker.id);
    by_worker_[worker.id.value] = index;
    const WorkerDescription& first = machine.workers[node.workers.front().value];
    node.one_kind = node.one_kind && worker.kind == first.kind;
    node.of_host = node.of_host && runs_on_host(worker.kind);
    any_device_ = any_device_ || !runs_on_host(worker.kind);
  }
  const auto alike = [&](const ComputeNode& a, const ComputeNode& b) {
    return a.one_kind && b.one_kind &&
           machine.workers[a.workers.front().value].kind ==
               machine.workers[b.workers.front().value].kind &&
           machine.nodes[a.id.value].limit == machine.nodes[b.id.value].limit;
  };
  for (NodeIndex i = 0; i < count(); ++i) {
    NodeIndex first = 0;
    while (first < i && !alike(nodes_[first], nodes_[i])) ++first;
    nodes_[i].like = first;
    all_alike_ = all_alike_ && first == 0 && nodes_[i].one_kind;
  }
}

void Nodes::assess(TaskRecord& record) {
  record.bound = record.task->is_bound();
  record.nodes.assign(nodes_.size(), TaskOnNode{});
  for (NodeIndex i = 0; i < count(); ++i) {
    const bool ask = record.bound || nodes_[i].like == i;
    record.nodes[i] = ask ? assess_on(*record.task, nodes_[i]) : record.nodes[nodes_[i].like];
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
TaskOnNode Nodes::assess_on(const graph::Task& task, const ComputeNode& node) const {
  for (const WorkerId worker : node.workers) {
    if (!context_->can_run(task, worker)) continue;
    return {.duration_ns = context_->run_time(task, worker).ns, .missing = 0, .can_run = true};
  }
  return {};
}

// From the first node whose time is known.
void Nodes::guess_unknown(TaskRecord& record) const {
  std::int64_t on_device = 1;
  for (NodeIndex i = 0; i < count(); ++i) {
    const TaskOnNode& here = record.nodes[i];
    if (!here.can_run || here.duration_ns == 0) continue;
    on_device = std::max<std::int64_t>(here.duration_ns / slowness(nodes_[i]), 1);
    break;
  }
  for (NodeIndex i = 0; i < count(); ++i) {
    TaskOnNode& here = record.nodes[i];
    if (!here.can_run || here.duration_ns != 0) continue;
    here.duration_ns =
        std::min(on_device, kLongestDuration.ns / kDevicesFaster) * slowness(nodes_[i]);
  }
}

bool Nodes::can_run(const TaskRecord& record, WorkerId worker) const {
  const NodeIndex node = of(worker);
  if (!record.nodes[node].can_run) return false;
  const bool alike = nodes_[node].one_kind && !record.bound;
  return alike || context_->can_run(*record.task, worker);
}

}  // namespace vicinal::sched::darts
