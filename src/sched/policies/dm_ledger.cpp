#include "sched/policies/dm_ledger.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/warm.hpp"

namespace vicinal::sched::dm {
namespace {

constexpr std::uint64_t kAllNodes = ~std::uint64_t{0};

constexpr std::uint64_t bit(std::uint32_t node) {
  return std::uint64_t{1} << node;
}

bool has(std::uint64_t nodes, std::uint32_t node) {
  return (nodes & bit(node)) != 0;
}

Missing lacks(std::uint64_t size, bool reads, bool valid, bool requested) {
  Missing missing;
  if (reads && !valid) missing.invalid = size;
  if (reads && !requested) missing.unrequested = size;
  if (!requested) missing.unplaced = size;
  return missing;
}

void add(Missing& sum, const Missing& part) {
  sum.invalid += part.invalid;
  sum.unrequested += part.unrequested;
  sum.unplaced += part.unplaced;
}

void subtract(Missing& sum, const Missing& part) {
  sum.invalid -= part.invalid;
  sum.unrequested -= part.unrequested;
  sum.unplaced -= part.unplaced;
}

DataRecord& of(const graph::Access& access) {
  return *static_cast<DataRecord*>(access.handle->policy_data);
}

}  // namespace

void Ledger::start(PolicyContext& context) {
  context_ = &context;
  wires_.resize(context.machine().nodes.size());
  add_wires(context.machine());
}

// A link that shares a segment with others is taken to be as slow as if all accelerators used it both
// ways at once (StarPU's starpu_transfer_predict): 2 x their number.
void Ledger::add_wires(const MachineDescription& machine) {
  std::map<std::uint32_t, std::size_t> users;
  for (const LinkDescription& link : machine.links) {
    for (const std::uint32_t segment : link.segments) ++users[segment];
  }
  const auto devices = std::ranges::count(machine.nodes, NodeKind::device, &NodeDescription::kind);
  for (const LinkDescription& link : machine.links) {
    if (link.bandwidth.value <= 0) continue;
    const bool shared = std::ranges::any_of(
        link.segments, [&](std::uint32_t segment) { return users[segment] > 1; });
    const double factor = shared ? 2.0 * static_cast<double>(std::max<long>(devices, 1)) : 1.0;
    wires_[link.to.value].push_back({link.from, link.latency, factor * 1e9 / link.bandwidth.value});
  }
}

DataRecord& Ledger::record_of(graph::Handle& handle) {
  if (handle.policy_data != nullptr) return *static_cast<DataRecord*>(handle.policy_data);
  DataRecord& data = pool_.take();
  data.handle = &handle;
  data.size = sizes_.of(handle.bytes().value);
  data.valid = data.requested = 0;
  data.queued.clear();
  handle.policy_data = &data;
  return data;
}

void Ledger::open(TaskRecord& record) {
  if (!record.index) {
    record.index = static_cast<std::uint32_t>(queued_.size());
    queued_.push_back({.number = 0, .record = &record});
  }
  for (const graph::Access& access : record.task->accesses()) {
    base::warm(access.handle->policy_data);
  }
  for (const graph::Access& access : record.task->accesses()) {
    DataRecord& data = record_of(*access.handle);
    look(data, kAllNodes, true);
    base::warm(data.queued.data() + data.queued.size());  // for follow, if it comes
  }
}

void Ledger::warm(const TaskRecord& record) const {
  for (const graph::Access& access : record.task->accesses()) {
    if (writes(access.mode)) base::warm(access.handle->policy_data);
  }
}

void Ledger::close(const TaskRecord& record) {
  for (const graph::Access& access : record.task->accesses()) {
    if (writes(access.mode)) look(of(access), kAllNodes, false);
  }
}

void Ledger::look(DataRecord& data, std::uint64_t nodes, bool keep_requests) {
  const Presence now = context_->presence(*data.handle);
  const std::uint64_t kept = keep_requests ? data.requested : 0;
  const std::uint64_t valid = (now.valid & nodes) | (data.valid & ~nodes);
  const std::uint64_t requested =
      ((now.valid | now.on_node | kept) & nodes) | (data.requested & ~nodes);
  set(data, valid, requested);
}

void Ledger::set(DataRecord& data, std::uint64_t valid, std::uint64_t requested) {
  const std::uint64_t changed = (data.valid ^ valid) | (data.requested ^ requested);
  const std::uint64_t size = data.size;
  if (changed != 0) {
    std::erase_if(data.queued, [&](const Use& use) {
      if (!has(changed, use.node)) return false;
      if (!is_queued(use)) return true;
      TaskRecord& task = *queued_[use.task].record;
      subtract(task.missing,
               lacks(size, use.reads, has(data.valid, use.node), has(data.requested, use.node)));
      add(task.missing, lacks(size, use.reads, has(valid, use.node), has(requested, use.node)));
      task.queue->missing_changed(task);
      return false;
    });
  }
  data.valid = valid;
  data.requested = requested;
}

std::int64_t Ledger::transfer_ns(const TaskRecord& record, NodeId node) const {
  std::int64_t sum = 0;
  for (const graph::Access& access : record.task->accesses()) {
    const DataRecord& data = of(access);
    if (reads(access.mode) && !has(data.requested, node.value)) sum += transfer_ns(data, node);
  }
  return sum;
}

std::int64_t Ledger::transfer_ns(const DataRecord& data, NodeId node) const {
  std::int64_t best = -1;
  const auto bytes = static_cast<double>(data.handle->bytes().value);
  for (const Wire& wire : wires_[node.value]) {
    if (!has(data.valid, wire.from.value)) continue;
    const std::int64_t ns = wire.latency.ns + static_cast<std::int64_t>(bytes * wire.ns_per_byte);
    if (best < 0 || ns < best) best = ns;
  }
  return best >= 0 ? best : context_->transfer_time(*data.handle, node).ns;
}

void Ledger::request(const TaskRecord& record, NodeId node) {
  for (const graph::Access& access : record.task->accesses()) {
    DataRecord& data = of(access);
    if (reads(access.mode)) set(data, data.valid, data.requested | bit(node.value));
  }
}

void Ledger::take_back(const TaskRecord& record, NodeId node) {
  for (const graph::Access& access : record.task->accesses()) {
    look(of(access), bit(node.value), false);
  }
}

void Ledger::follow(TaskRecord& record, NodeId node) {
  record.missing = {};
  queued_[*record.index].number = record.number;
  for (const graph::Access& access : record.task->accesses()) {
    DataRecord& data = of(access);
    const bool reading = reads(access.mode);
    add(record.missing,
        lacks(data.size, reading, has(data.valid, node.value), has(data.requested, node.value)));
    if (data.queued.size() >= data.most) {
      std::erase_if(data.queued, [&](const Use& use) { return !is_queued(use); });
      data.most = std::max(kFewUses, 2 * data.queued.size());
    }
    data.queued.push_back({.number = record.number,
                           .task = *record.index,
                           .node = static_cast<std::uint8_t>(node.value),
                           .reads = reading});
  }
}

void Ledger::refresh(graph::Handle& handle, NodeId node) {
  if (handle.policy_data == nullptr) return;
  look(*static_cast<DataRecord*>(handle.policy_data), bit(node.value), false);
}

void Ledger::forget(graph::Handle& handle) {
  if (handle.policy_data == nullptr) return;
  pool_.give_back(*static_cast<DataRecord*>(std::exchange(handle.policy_data, nullptr)));
}

}  // namespace vicinal::sched::dm
