#include "sched/policies/darts_victims.hpp"

#include "graph/handle.hpp"

namespace vicinal::sched::darts {
namespace {

using memory::Candidate;
using memory::EvictionReason;

// nullptr for a datum that no ready task has used yet.
DataRecord* record_of(const Candidate& candidate) {
  return static_cast<DataRecord*>(candidate.handle->policy_data);
}

}  // namespace

graph::Handle* LeastUsed::choose(NodeId node_id, Bytes /*needed*/, EvictionReason reason,
                                 std::span<const Candidate> candidates) {
  const NodeIndex node = ledger_.nodes().find(node_id);
  if (node == kNoNode) return candidates.front().handle;  // nothing runs there: the oldest goes
  if (graph::Handle* again = take_unfinished(node, candidates)) return again;
  const Candidate* victim = least_planned(node, candidates);
  if (victim == nullptr) {
    // A copy that only comes early must not drive out what is used before it.
    if (reason == EvictionReason::prefetch) return nullptr;
    victim = used_last(node, candidates);
  }
  if (DataRecord* data = record_of(*victim)) {
    unfinished_[node] = data;
    ledger_.leave_node(*data, node);
  }
  return victim->handle;
}

void LeastUsed::settled(const DataRecord& data, NodeIndex node) {
  if (unfinished_[node] == &data) unfinished_[node] = nullptr;
}

// The last victim, if it is there still and nobody pulled wants it: it was pinned when the engine
// wanted to evict it. Its tasks have been withdrawn already; those planned since are again.
graph::Handle* LeastUsed::take_unfinished(NodeIndex node, std::span<const Candidate> candidates) {
  DataRecord* const data = unfinished_[node];
  if (data == nullptr) return nullptr;
  for (const Candidate& candidate : candidates) {
    if (record_of(candidate) != data) continue;
    if (candidate.claims > 0 || data->nodes[node].pulled > 0) break;
    ledger_.leave_node(*data, node);
    return data->handle;
  }
  unfinished_[node] = nullptr;
  ledger_.refresh(*data, node);
  return nullptr;
}

// Of those that no pulled task uses: the one that fewest planned tasks use, first on ties. One that
// none uses goes even if tasks of main do: they are told by Ledger::leave_node. Of several such, one
// that nothing submitted will ever use goes first: the paper's DARTS knows ready tasks only, but the
// queue of a handle tells of all.
const Candidate* LeastUsed::least_planned(NodeIndex node,
                                          std::span<const Candidate> candidates) const {
  const Candidate* best = nullptr;
  std::uint32_t fewest = 0;
  for (const Candidate& candidate : candidates) {
    if (candidate.claims > 0) continue;
    if (graph::is_unused(*candidate.handle)) return &candidate;
    const DataRecord* const data = record_of(candidate);
    const std::uint32_t planned = data != nullptr ? data->nodes[node].planned : 0;
    if (data != nullptr && data->nodes[node].pulled > 0) continue;
    if (best != nullptr && planned >= fewest) continue;
    best = &candidate;
    fewest = planned;
  }
  return best;
}

// Belady's rule on the tasks pulled by the node, in the order they were pulled: the candidate whose
// first use comes last. One in use by others than these counts as used first.
const Candidate* LeastUsed::used_last(NodeIndex node, std::span<const Candidate> candidates) {
  const std::uint64_t before = clock_;
  for (const TaskRecord* task = ledger_.books(node).pulled.head; task != nullptr;
       task = task->next) {
    ++clock_;
    for (const Use& use : task->uses) {
      if (use.data->first_use <= before) use.data->first_use = clock_;
    }
  }
  const Candidate* best = &candidates.front();
  std::uint64_t latest = before;
  for (const Candidate& candidate : candidates) {
    const DataRecord* const data = record_of(candidate);
    if (data == nullptr || data->first_use <= latest) continue;
    best = &candidate;
    latest = data->first_use;
  }
  return best;
}

}  // namespace vicinal::sched::darts
