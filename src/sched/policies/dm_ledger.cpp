#include "sched/policies/dm_ledger.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace vicinal::sched::dm {
namespace {

Missing lacks(const Use& use, bool valid, bool requested) {
  const std::uint64_t bytes = use.data->handle->bytes().value;
  Missing missing;
  if (use.reads && !valid) missing.invalid = bytes;
  if (use.reads && !requested) missing.unrequested = bytes;
  if (!requested) missing.unplaced = bytes;
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

}  // namespace

void Ledger::start(PolicyContext& context) {
  context_ = &context;
  const MachineDescription& machine = context.machine();
  by_id_.assign(machine.nodes.size(), kNoNode);
  for (const WorkerDescription& worker : machine.workers) {
    NodeIndex& index = by_id_[worker.node.value];
    if (index == kNoNode) {
      index = count();
      nodes_.push_back({.id = worker.node, .wires = {}});
    }
    by_worker_.push_back(index);
  }
  add_wires(machine);
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
    const NodeIndex to = find(link.to);
    if (to == kNoNode || link.bandwidth.value <= 0) continue;
    const bool shared = std::ranges::any_of(
        link.segments, [&](std::uint32_t segment) { return users[segment] > 1; });
    const double factor = shared ? 2.0 * static_cast<double>(std::max<long>(devices, 1)) : 1.0;
    nodes_[to].wires.push_back({link.from, link.latency, factor * 1e9 / link.bandwidth.value});
  }
}

DataRecord& Ledger::record_of(graph::Handle& handle) {
  if (handle.policy_data != nullptr) return *static_cast<DataRecord*>(handle.policy_data);
  DataRecord& data = pool_.take();
  data.handle = &handle;
  data.nodes.assign(count(), {});
  handle.policy_data = &data;
  return data;
}

void Ledger::open(TaskRecord& record) {
  record.uses.clear();
  for (const graph::Access& access : record.task->accesses()) {
    DataRecord& data = record_of(*access.handle);
    for (NodeIndex node = 0; node < count(); ++node) look(data, node, true);
    record.uses.push_back({.data = &data, .task = &record, .reads = reads(access.mode)});
  }
}

void Ledger::close(TaskRecord& record) {
  for (const graph::Access& access : record.task->accesses()) {
    if (!writes(access.mode)) continue;
    DataRecord& data = record_of(*access.handle);
    for (NodeIndex node = 0; node < count(); ++node) look(data, node, false);
  }
}

void Ledger::look(DataRecord& data, NodeIndex node, bool keep_request) {
  DataOnNode& at = data.nodes[node];
  const bool valid = context_->valid_on(*data.handle, nodes_[node].id);
  const bool requested =
      valid || (keep_request && at.requested) || context_->on_node(*data.handle, nodes_[node].id);
  set(at, valid, requested);
}

void Ledger::set(DataOnNode& at, bool valid, bool requested) {
  if (at.valid == valid && at.requested == requested) return;
  for (Use* use = at.queued.head; use != nullptr; use = use->next) {
    subtract(use->task->missing, lacks(*use, at.valid, at.requested));
    add(use->task->missing, lacks(*use, valid, requested));
    use->task->queue->missing_changed(*use->task);
  }
  at.valid = valid;
  at.requested = requested;
}

std::int64_t Ledger::transfer_ns(const TaskRecord& record, NodeIndex node) const {
  std::int64_t sum = 0;
  for (const Use& use : record.uses) {
    if (!use.reads || use.data->nodes[node].requested) continue;
    sum += transfer_ns(*use.data->handle, nodes_[node]);
  }
  return sum;
}

std::int64_t Ledger::transfer_ns(const graph::Handle& handle, const Node& node) const {
  std::int64_t best = -1;
  const auto bytes = static_cast<double>(handle.bytes().value);
  for (const Wire& wire : node.wires) {
    if (!context_->valid_on(handle, wire.from)) continue;
    const std::int64_t ns = wire.latency.ns + static_cast<std::int64_t>(bytes * wire.ns_per_byte);
    if (best < 0 || ns < best) best = ns;
  }
  return best >= 0 ? best : context_->transfer_time(handle, node.id).ns;
}

void Ledger::request(const TaskRecord& record, NodeIndex node) {
  for (const Use& use : record.uses) {
    DataOnNode& at = use.data->nodes[node];
    if (use.reads) set(at, at.valid, true);
  }
}

void Ledger::take_back(const TaskRecord& record, NodeIndex node) {
  for (const Use& use : record.uses) look(*use.data, node, false);
}

void Ledger::follow(TaskRecord& record, NodeIndex node) {
  record.missing = {};
  for (Use& use : record.uses) {
    DataOnNode& at = use.data->nodes[node];
    add(record.missing, lacks(use, at.valid, at.requested));
    at.queued.insert(use);
  }
}

void Ledger::unfollow(TaskRecord& record, NodeIndex node) {
  for (Use& use : record.uses) use.data->nodes[node].queued.unlink(use);
}

void Ledger::refresh(graph::Handle& handle, NodeId id) {
  const NodeIndex node = find(id);
  if (node == kNoNode || handle.policy_data == nullptr) return;
  look(*static_cast<DataRecord*>(handle.policy_data), node, false);
}

void Ledger::forget(graph::Handle& handle) {
  if (handle.policy_data == nullptr) return;
  pool_.give_back(*static_cast<DataRecord*>(std::exchange(handle.policy_data, nullptr)));
}

}  // namespace vicinal::sched::dm
