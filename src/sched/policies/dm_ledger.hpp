// Where the operands of ready tasks are, as the list schedulers see it, and what it takes to bring them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/sure_memory.hpp"
#include "sched/policies/dm_queue.hpp"
#include "sched/policies/dm_records.hpp"
#include "sched/policy.hpp"
#include "sched/records.hpp"
#include "sched/rounded_sizes.hpp"

namespace vicinal::sched::dm {

class Ledger {
 public:
  void start(PolicyContext& context);

  // Notes the operands of record.task, and looks where they are.
  void open(TaskRecord& record);
  // `close` will come soon, see base/warm.hpp.
  void warm(const TaskRecord& record) const;
  // The task has ended: what it wrote is elsewhere now.
  void close(const TaskRecord& record);
  // P of the spec: predicted copies of what the task reads and what has not been requested there.
  std::int64_t transfer_ns(const TaskRecord& record, NodeId node) const;
  // What the task reads is wanted on the node from now on.
  void request(const TaskRecord& record, NodeId node);
  // Nobody copies it there for this task any more.
  void take_back(const TaskRecord& record, NodeId node);
  // While the task is queued for the node its `missing` is kept up to date. `follow` before the task is
  // in its queue, `unfollow` when it has left.
  void follow(TaskRecord& record, NodeId node);
  void unfollow(const TaskRecord& record) { queued_[*record.index].number = 0; }

  void refresh(graph::Handle& handle, NodeId node);  // a copy has arrived or left
  void forget(graph::Handle& handle);

 private:
  struct Wire {
    NodeId from;
    Time latency;
    double ns_per_byte = 0;
  };
  // A task that is queued, by the index of its record. Apart from the records, whose lines would come
  // from memory: a task leaves the lists of its operands by what is said here alone.
  struct Queued {
    std::uint64_t number = 0;  // 0: none
    TaskRecord* record = nullptr;
  };

  void add_wires(const MachineDescription& machine);
  DataRecord& record_of(graph::Handle& handle);
  bool is_queued(const Use& use) const { return queued_[use.task].number == use.number; }
  void look(DataRecord& data, std::uint64_t nodes, bool keep_requests);
  void set(DataRecord& data, std::uint64_t valid, std::uint64_t requested);
  std::int64_t transfer_ns(const DataRecord& data, NodeId node) const;

  PolicyContext* context_ = nullptr;
  std::vector<std::vector<Wire>> wires_;  // into each node, of known bandwidth
  base::SureVector<Queued> queued_;
  RecordPool<DataRecord> pool_;
  RoundedSizes sizes_;
};

}  // namespace vicinal::sched::dm
