#include "sched/policies/packaged_nodes.hpp"

#include <algorithm>
#include <limits>

namespace vicinal::sched::packaged {

void Nodes::start(const PolicyContext& context) {
  context_ = &context;
  for (const WorkerDescription& worker : context.machine().workers) {
    const auto found = std::ranges::find(nodes_, worker.node, &ComputeNode::id);
    by_worker_.push_back(static_cast<NodeIndex>(found - nodes_.begin()));
    if (found == nodes_.end()) nodes_.push_back({worker.node, {}});
    nodes_[by_worker_.back()].workers.push_back(worker.id);
  }
}

Bytes Nodes::memory(NodeIndex node) const {
  constexpr Bytes kAll{std::numeric_limits<std::uint64_t>::max()};
  return context_->machine().nodes[id(node).value].limit.value_or(kAll);
}

BytesPerSecond Nodes::bandwidth(NodeIndex node) const {
  for (const LinkDescription& link : context_->machine().links) {
    if (link.from == kRam && link.to == id(node)) return link.bandwidth;
  }
  return {};
}

bool Nodes::all_away(NodeIndex node) const {
  return std::ranges::all_of(nodes_[node].workers,
                             [this](WorkerId worker) { return context_->away(worker); });
}

bool Nodes::can_run(const graph::Task& task, const ComputeNode& node) const {
  return std::ranges::any_of(node.workers,
                             [&](WorkerId worker) { return context_->can_run(task, worker); });
}

std::uint64_t Nodes::planned_for(const graph::Task& task) const {
  std::uint64_t all = 0;
  std::uint64_t accelerators = 0;
  for (NodeIndex i = 0; i < count(); ++i) {
    if (!can_run(task, nodes_[i])) continue;
    const std::uint64_t bit = std::uint64_t{1} << i;
    all |= bit;
    if (context_->machine().nodes[nodes_[i].id.value].kind == NodeKind::device) accelerators |= bit;
  }
  return accelerators != 0 ? accelerators : all;
}

Time Nodes::run_time(const graph::Task& task, NodeIndex node) const {
  for (const WorkerId worker : nodes_[node].workers) {
    if (context_->can_run(task, worker)) return context_->run_time(task, worker);
  }
  return {};
}

}  // namespace vicinal::sched::packaged
