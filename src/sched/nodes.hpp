// The memory nodes that have workers, numbered densely, and which tasks these can run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sched/policy.hpp"

namespace vicinal::sched {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = 0xffffffffU;

struct ComputeNode {
  NodeId id;
  std::vector<WorkerId> workers;
  bool of_host = true;       // its workers are threads of this process
  bool one_kind = true;      // all its workers are of one kind: what one can run, all can
  NodeIndex like = kNoNode;  // the first node with the same kind of workers and limit, maybe itself
};

class Nodes {
 public:
  void start(const PolicyContext& context);
  const MachineDescription& machine() const { return context_->machine(); }
  NodeIndex count() const { return static_cast<NodeIndex>(nodes_.size()); }
  const ComputeNode& operator[](NodeIndex node) const { return nodes_[node]; }
  std::int64_t workers(NodeIndex node) const {
    return static_cast<std::int64_t>(nodes_[node].workers.size());
  }
  // Any two nodes are alike, and the workers of each: none is faster than another.
  bool all_alike() const { return all_alike_; }
  bool any_device() const { return any_device_; }  // a worker that is no thread of this process
  // kNoNode for a memory node without workers.
  NodeIndex find(NodeId node) const { return by_id_[node.value]; }
  NodeIndex of(WorkerId worker) const { return by_worker_[worker.value]; }
  NodeId id_of(WorkerId worker) const { return nodes_[of(worker)].id; }

  // The first of the node's workers that can run the task.
  std::optional<WorkerId> able_worker(const graph::Task& task, NodeIndex node) const;
  // On that worker; 0: not known, or there is none.
  Time run_time(const graph::Task& task, NodeIndex node) const;
  // Workers that are not away.
  std::size_t present_workers(NodeIndex node) const;
  bool all_away(NodeIndex node) const { return present_workers(node) == 0; }

 private:
  const PolicyContext* context_ = nullptr;
  std::vector<ComputeNode> nodes_;
  std::vector<NodeIndex> by_id_;
  std::vector<NodeIndex> by_worker_;
  bool all_alike_ = true;
  bool any_device_ = false;
};

}  // namespace vicinal::sched
