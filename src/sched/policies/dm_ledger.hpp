// Where the operands of ready tasks are, as the list schedulers see it, and what it takes to bring them.
#pragma once

#include <cstdint>
#include <vector>

#include "sched/policies/dm_queue.hpp"
#include "sched/policies/dm_records.hpp"
#include "sched/policy.hpp"

namespace vicinal::sched::dm {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = 0xffffffffU;

class Ledger {
 public:
  void start(PolicyContext& context);
  NodeIndex of(WorkerId worker) const { return by_worker_[worker.value]; }
  NodeIndex find(NodeId node) const { return by_id_[node.value]; }  // kNoNode: it has no worker
  NodeId id(NodeIndex node) const { return nodes_[node].id; }
  NodeIndex count() const { return static_cast<NodeIndex>(nodes_.size()); }

  // Notes the operands of record.task, and looks where they are.
  void open(TaskRecord& record);
  // The task has ended: what it wrote is elsewhere now.
  void close(TaskRecord& record);
  // P of the spec: predicted copies of what the task reads and what has not been requested there.
  std::int64_t transfer_ns(const TaskRecord& record, NodeIndex node) const;
  // What the task reads is wanted on the node from now on.
  void request(const TaskRecord& record, NodeIndex node);
  // Nobody copies it there for this task any more.
  void take_back(const TaskRecord& record, NodeIndex node);
  // While the task is queued for the node its `missing` is kept up to date. `follow` before the task is
  // in its queue, `unfollow` when it has left.
  void follow(TaskRecord& record, NodeIndex node);
  void unfollow(TaskRecord& record, NodeIndex node);

  void refresh(graph::Handle& handle, NodeId node);  // a copy has arrived or left
  void forget(graph::Handle& handle);

 private:
  struct Wire {
    NodeId from;
    Time latency;
    double ns_per_byte = 0;
  };
  struct Node {
    NodeId id;
    std::vector<Wire> wires;  // into it, of known bandwidth
  };

  void add_wires(const MachineDescription& machine);
  DataRecord& record_of(graph::Handle& handle);
  void look(DataRecord& data, NodeIndex node, bool keep_request);
  static void set(DataOnNode& at, bool valid, bool requested);
  std::int64_t transfer_ns(const graph::Handle& handle, const Node& node) const;

  PolicyContext* context_ = nullptr;
  std::vector<Node> nodes_;
  std::vector<NodeIndex> by_id_;
  std::vector<NodeIndex> by_worker_;
  RecordPool<DataRecord> pool_;
};

}  // namespace vicinal::sched::dm
