// Where the operands of ready tasks are, as the list schedulers see it, and what it takes to bring them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "base/sure_memory.hpp"
#include "base/warm.hpp"
#include "sched/policies/dm_queue.hpp"
#include "sched/policy.hpp"
#include "sched/records.hpp"
#include "sched/rounded_sizes.hpp"

namespace vicinal::sched::dm {

inline constexpr std::uint64_t kAllNodes = ~std::uint64_t{0};

constexpr std::uint64_t bit(std::uint32_t node) {
  return std::uint64_t{1} << node;
}

inline bool has(std::uint64_t nodes, std::uint32_t node) {
  return (nodes & bit(node)) != 0;
}

// A datum is an operand of a task that is queued, or was: then it is dropped when it is met.
struct QueuedUse {
  std::uint64_t number;  // of the task's push
  std::uint32_t task;    // index of its record
  std::uint8_t node;     // of its queue
  bool reads;
};

inline constexpr std::size_t kFewUses = 16;

struct DataRecord {
  graph::Handle* handle = nullptr;
  std::uint64_t size = 0;  // rounded
  // Bit n: on memory node n. `valid` as the context said last; `requested`: valid, on its way, or requested
  // for by a task that waits to run there.
  std::uint64_t valid = 0;
  std::uint64_t requested = 0;
  // For whichever node: most data are operands of few queued tasks, and to look for a list by node is a
  // line from memory.
  base::SureVector<QueuedUse> queued;
  std::size_t most = kFewUses;  // then those of tasks that have left the queue are dropped
};

class Ledger {
 public:
  void start(PolicyContext& context) {
    context_ = &context;
    wires_.resize(context.machine().nodes.size());
    add_wires(context.machine());
  }

  // Notes the operands of record.task, and looks where they are.
  void open(TaskRecord& record) {
    if (!record.index) {
      record.index = static_cast<std::uint32_t>(queued_.size());
      queued_.push_back({.number = 0, .record = &record});
    }
    for (const graph::Access& access : record.task->accesses()) {
      base::warm(access.handle->policy_data);
    }
    for (const graph::Access& access : record.task->accesses()) {
      DataRecord& data = record_of(*access.handle);
      look(data, kAllNodes, Requests::keep);
      base::warm(data.queued.data() + data.queued.size());  // for follow, if it comes
    }
  }

  // `close` will come soon, see base/warm.hpp.
  void warm(const TaskRecord& record) const {
    for (const graph::Access& access : record.task->accesses()) {
      if (writes(access.mode)) base::warm(access.handle->policy_data);
    }
  }

  // The task has ended: what it wrote is elsewhere now.
  void close(const TaskRecord& record) {
    for (const graph::Access& access : record.task->accesses()) {
      if (writes(access.mode)) look(of(access), kAllNodes, Requests::drop);
    }
  }

  // P of the spec: predicted copies of what the task reads and what has not been requested there.
  std::int64_t transfer_ns(const TaskRecord& record, NodeId node) const {
    std::int64_t sum = 0;
    for (const graph::Access& access : record.task->accesses()) {
      const DataRecord& data = of(access);
      if (reads(access.mode) && !has(data.requested, node.value)) sum += transfer_ns(data, node);
    }
    return sum;
  }

  // What the task reads is wanted on the node from now on.
  void request(const TaskRecord& record, NodeId node) {
    for (const graph::Access& access : record.task->accesses()) {
      DataRecord& data = of(access);
      if (reads(access.mode)) set(data, data.valid, data.requested | bit(node.value));
    }
  }

  // Nobody copies it there for this task any more.
  void take_back(const TaskRecord& record, NodeId node) {
    for (const graph::Access& access : record.task->accesses()) {
      look(of(access), bit(node.value), Requests::drop);
    }
  }

  // While the task is queued for the node its `missing` is kept up to date. `follow` before the task is
  // in its queue, `unfollow` when it has left.
  void follow(TaskRecord& record, NodeId node) {
    record.missing = {};
    queued_[*record.index].number = record.number;
    for (const graph::Access& access : record.task->accesses()) {
      DataRecord& data = of(access);
      const bool reading = reads(access.mode);
      record.missing += Missing::of({.size = data.size,
                                     .read = reading,
                                     .valid = has(data.valid, node.value),
                                     .requested = has(data.requested, node.value)});
      if (data.queued.size() >= data.most) {
        std::erase_if(data.queued, [&](const QueuedUse& use) { return !is_queued(use); });
        data.most = std::max(kFewUses, 2 * data.queued.size());
      }
      data.queued.push_back({.number = record.number,
                             .task = *record.index,
                             .node = static_cast<std::uint8_t>(node.value),
                             .reads = reading});
    }
  }

  void unfollow(const TaskRecord& record) { queued_[*record.index].number = 0; }

  // a copy has arrived or left
  void refresh(graph::Handle& handle, NodeId node) {
    if (DataRecord* const data = data_.find(handle)) look(*data, bit(node.value), Requests::drop);
  }
  void forget(graph::Handle& handle) { data_.close(handle); }

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

  enum class Requests : std::uint8_t { keep, drop };  // what tasks that wait have requested

  // A link that shares a segment with others is taken to be as slow as if all accelerators used it both
  // ways at once (StarPU's starpu_transfer_predict): 2 x their number.
  void add_wires(const MachineDescription& machine) {
    std::map<std::uint32_t, std::size_t> users;
    for (const LinkDescription& link : machine.links) {
      for (const std::uint32_t segment : link.segments) ++users[segment];
    }
    const auto devices =
        std::ranges::count(machine.nodes, NodeKind::device, &NodeDescription::kind);
    for (const LinkDescription& link : machine.links) {
      if (link.bandwidth.value <= 0) continue;
      const bool shared = std::ranges::any_of(
          link.segments, [&](std::uint32_t segment) { return users[segment] > 1; });
      const double factor = shared ? 2.0 * static_cast<double>(std::max<long>(devices, 1)) : 1.0;
      wires_[link.to.value].push_back(
          {link.from, link.latency, factor * 1e9 / link.bandwidth.value});
    }
  }

  static DataRecord& of(const graph::Access& access) {
    return Records<DataRecord>::of(*access.handle);
  }
  DataRecord& record_of(graph::Handle& handle) {
    if (DataRecord* const known = data_.find(handle)) return *known;
    DataRecord& data = data_.open(handle);
    data.handle = &handle;
    data.size = sizes_.of(handle.bytes().value);
    data.valid = data.requested = 0;
    data.queued.clear();
    return data;
  }

  bool is_queued(const QueuedUse& use) const { return queued_[use.task].number == use.number; }
  void look(DataRecord& data, std::uint64_t nodes, Requests requests) {
    const Presence now = context_->presence(*data.handle);
    const std::uint64_t kept = requests == Requests::keep ? data.requested : 0;
    const std::uint64_t valid = (now.valid & nodes) | (data.valid & ~nodes);
    const std::uint64_t requested =
        ((now.valid | now.on_node | kept) & nodes) | (data.requested & ~nodes);
    set(data, valid, requested);
  }

  void set(DataRecord& data, std::uint64_t valid, std::uint64_t requested) {
    const std::uint64_t changed = (data.valid ^ valid) | (data.requested ^ requested);
    if (changed != 0) {
      std::erase_if(data.queued, [&](const QueuedUse& use) {
        if (!has(changed, use.node)) return false;
        if (!is_queued(use)) return true;
        TaskRecord& task = *queued_[use.task].record;
        const auto lacks = [&](std::uint64_t where_valid, std::uint64_t where_requested) {
          return Missing::of({.size = data.size,
                              .read = use.reads,
                              .valid = has(where_valid, use.node),
                              .requested = has(where_requested, use.node)});
        };
        task.missing -= lacks(data.valid, data.requested);
        task.missing += lacks(valid, requested);
        task.queue->missing_changed(task);
        return false;
      });
    }
    data.valid = valid;
    data.requested = requested;
  }

  std::int64_t transfer_ns(const DataRecord& data, NodeId node) const {
    std::int64_t best = -1;
    const auto bytes = static_cast<double>(data.handle->bytes().value);
    for (const Wire& wire : wires_[node.value]) {
      if (!has(data.valid, wire.from.value)) continue;
      const std::int64_t ns = wire.latency.ns + static_cast<std::int64_t>(bytes * wire.ns_per_byte);
      if (best < 0 || ns < best) best = ns;
    }
    return best >= 0 ? best : context_->transfer_time(*data.handle, node).ns;
  }

  PolicyContext* context_ = nullptr;
  std::vector<std::vector<Wire>> wires_;  // into each node, of known bandwidth
  base::SureVector<Queued> queued_;
  Records<DataRecord> data_;
  RoundedSizes sizes_;
};

}  // namespace vicinal::sched::dm
