#include "sched/policies/darts_victims.hpp"

#include <cstdint>

#include "graph/handle.hpp"

namespace vicinal::sched::darts {
namespace {

using memory::Candidate;
using memory::Candidates;
using memory::EvictionReason;

// nullptr for a datum that no ready task has used yet.
DataRecord* record_of(const graph::Handle& handle) {
  return static_cast<DataRecord*>(handle.policy_data);
}

// By those that are planned or pulled on the node.
std::uint32_t planned_uses(const graph::Handle& handle, NodeIndex node) {
  const DataRecord* const data = record_of(handle);
  return data != nullptr ? data->nodes[node].planned : 0;
}
bool is_pulled(const graph::Handle& handle, NodeIndex node) {
  const DataRecord* const data = record_of(handle);
  return data != nullptr && data->nodes[node].pulled.uses > 0;
}

}  // namespace

graph::Handle* LeastUsed::choose(NodeId node_id, Bytes /*needed*/, EvictionReason reason,
                                 Candidates& candidates) {
  const NodeIndex node = ledger_.nodes().find(node_id);
  if (node == kNoNode) {  // nothing runs there
    return candidates.least_recent([](const graph::Handle& /*any*/) { return true; });
  }
  if (graph::Handle* again = take_unfinished(node, candidates)) return again;
  graph::Handle* victim = least_planned(node, candidates);
  if (victim == nullptr) {
    // A copy that only comes early must not drive out what is used before it.
    if (reason == EvictionReason::prefetch) return nullptr;
    victim = used_last(node, candidates);
  }
  if (victim == nullptr) return nullptr;  // all have been pinned meanwhile
  if (DataRecord* data = record_of(*victim)) {
    unfinished_[node] = data;
    ledger_.leave_node(*data, node);
  }
  return victim;
}

void LeastUsed::settled(const DataRecord& data, NodeIndex node) {
  if (unfinished_[node] == &data) unfinished_[node] = nullptr;
}

// The last victim, if it is there still and nobody pulled wants it: it was pinned when the engine
// wanted to evict it. Its tasks have been withdrawn already; those planned since are again.
graph::Handle* LeastUsed::take_unfinished(NodeIndex node, Candidates& candidates) {
  DataRecord* const data = unfinished_[node];
  if (data == nullptr) return nullptr;
  if (data->nodes[node].pulled.uses == 0 && candidates.has_unclaimed(*data->handle)) {
    ledger_.leave_node(*data, node);
    return data->handle;
  }
  unfinished_[node] = nullptr;
  ledger_.refresh(*data, node);
  return nullptr;
}

// Of those that no pulled task uses: the one that fewest planned tasks use, the least recently used on ties.
// One that none uses goes even if tasks of main do: they are told by Ledger::leave_node.
graph::Handle* LeastUsed::least_planned(NodeIndex node, Candidates& candidates) {
  graph::Handle* best = candidates.least_recent([node](const graph::Handle& handle) {
    return planned_uses(handle, node) == 0 && !is_pulled(handle, node);
  });
  if (best != nullptr) return best;
  std::uint32_t fewest = 0;
  for (const Candidate& candidate : candidates.all()) {
    if (candidate.claims > 0 || is_pulled(*candidate.handle, node)) continue;
    const std::uint32_t planned = planned_uses(*candidate.handle, node);
    if (best != nullptr && planned >= fewest) continue;
    best = candidate.handle;
    fewest = planned;
  }
  return best;
}

// Belady's rule on the tasks pulled by the node, in the order they were pulled: the candidate whose
// first use comes last. One in use by others than these counts as used first.
graph::Handle* LeastUsed::used_last(NodeIndex node, Candidates& candidates) {
  graph::Handle* best = nullptr;
  std::uint64_t latest = 0;
  for (const Candidate& candidate : candidates.all()) {
    DataRecord* const data = record_of(*candidate.handle);
    const std::uint64_t first_use = data != nullptr ? ledger_.first_pulled_use(*data, node) : 0;
    if (best != nullptr && first_use <= latest) continue;
    best = candidate.handle;
    latest = first_use;
  }
  return best;
}

}  // namespace vicinal::sched::darts
