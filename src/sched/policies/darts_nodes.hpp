// The memory nodes that have workers, numbered densely, and what each of them can run.
#pragma once

#include <vector>

#include "sched/policies/darts_durations.hpp"
#include "sched/policies/darts_records.hpp"
#include "sched/policy.hpp"

namespace vicinal::sched::darts {

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
  NodeIndex count() const { return static_cast<NodeIndex>(nodes_.size()); }
  const ComputeNode& operator[](NodeIndex node) const { return nodes_[node]; }
  // Any two nodes are alike, and the workers of each: none is faster than another.
  bool all_alike() const { return all_alike_; }
  // kNoNode for a memory node without workers.
  NodeIndex find(NodeId node) const { return by_id_[node.value]; }
  NodeIndex of(WorkerId worker) const { return by_worker_[worker.value]; }

  // Sets can_run and duration_ns of the record for each node, `bound` and `least_ns`. A task whose time is nowhere
  // known counts as 1 ns: then ratios compare numbers of tasks. Beside devices a core counts as kDevicesFaster times slower
  // until both times are known: what a core takes too early may hold up the others for longer than devices take for all.
  void assess(TaskRecord& record);
  bool can_run(const TaskRecord& record, WorkerId worker) const;

 private:
  static constexpr std::int64_t kDevicesFaster = 16;
  TaskOnNode assess_on(const graph::Task& task, const ComputeNode& node) const;
  void guess_unknown(TaskRecord& record) const;
  std::int64_t slowness(const ComputeNode& node) const {
    return any_device_ && node.of_host ? kDevicesFaster : 1;
  }

  const PolicyContext* context_ = nullptr;
  std::vector<ComputeNode> nodes_;
  std::vector<NodeIndex> by_id_;
  std::vector<NodeIndex> by_worker_;
  bool all_alike_ = true;
  bool any_device_ = false;  // workers that are no threads of this process
  Durations durations_;
};

}  // namespace vicinal::sched::darts
