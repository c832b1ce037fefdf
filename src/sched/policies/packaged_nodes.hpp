// The memory nodes that have workers, numbered densely, and which tasks they can run.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/policy.hpp"

namespace vicinal::sched::packaged {

using NodeIndex = std::uint32_t;

class Nodes {
 public:
  void start(const PolicyContext& context);
  NodeIndex count() const { return static_cast<NodeIndex>(nodes_.size()); }
  NodeIndex of(WorkerId worker) const { return by_worker_[worker.value]; }
  NodeId id(NodeIndex node) const { return nodes_[node].id; }
  // Its limit; without one more than there can be.
  Bytes memory(NodeIndex node) const;
  // From RAM; 0: not known, or it is RAM.
  BytesPerSecond bandwidth(NodeIndex node) const;
  std::int64_t workers(NodeIndex node) const {
    return static_cast<std::int64_t>(nodes_[node].workers.size());
  }
  bool all_away(NodeIndex node) const;

  // Those that are to run the task by plan, a bit for each: of those that can, the accelerators, else all.
  std::uint64_t planned_for(const graph::Task& task) const;
  // On the first worker of the node that can run it; 0: not known, or none can.
  Time run_time(const graph::Task& task, NodeIndex node) const;

 private:
  struct ComputeNode {
    NodeId id;
    std::vector<WorkerId> workers;
  };
  bool can_run(const graph::Task& task, const ComputeNode& node) const;

  const PolicyContext* context_ = nullptr;
  std::vector<ComputeNode> nodes_;
  std::vector<NodeIndex> by_worker_;
};

}  // namespace vicinal::sched::packaged
