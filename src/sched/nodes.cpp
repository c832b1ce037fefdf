#include "sched/nodes.hpp"

#include <algorithm>

namespace vicinal::sched {

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

std::optional<WorkerId> Nodes::able_worker(const graph::Task& task, NodeIndex node) const {
  const auto& workers = nodes_[node].workers;
  const auto able = std::ranges::find_if(
      workers, [&](WorkerId worker) { return context_->can_run(task, worker); });
  return able != workers.end() ? std::optional(*able) : std::nullopt;
}

Time Nodes::run_time(const graph::Task& task, NodeIndex node) const {
  const auto able = able_worker(task, node);
  return able ? context_->run_time(task, *able) : Time{};
}

std::size_t Nodes::present_workers(NodeIndex node) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      nodes_[node].workers, [&](WorkerId worker) { return !context_->away(worker); }));
}

}  // namespace vicinal::sched
