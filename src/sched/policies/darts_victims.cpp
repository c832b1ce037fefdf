#include "sched/policies/darts_victims.hpp"

#include <cstdint>
#include <optional>
#include <utility>

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
std::uint32_t pulled_uses(const graph::Handle& handle, NodeIndex node) {
  const DataRecord* const data = record_of(handle);
  return data != nullptr ? data->nodes[node].pulled.uses : 0;
}

trace::Candidate scored(const graph::Handle& handle, NodeIndex node, std::uint32_t claims = 0) {
  return {handle.id.value,
          {{trace::Measure::planned_uses, planned_uses(handle, node)},
           {trace::Measure::pulled_uses, pulled_uses(handle, node)},
           {trace::Measure::claims, claims}}};
}

}  // namespace

graph::Handle* LeastUsed::choose(NodeId node_id, Bytes needed, EvictionReason reason,
                                 Candidates& candidates) {
  const NodeIndex node = ledger_.nodes().find(node_id);
  if (node == kNoNode) {  // nothing runs there
    return candidates.least_recent([](const graph::Handle& /*any*/) { return true; });
  }
  const Room room{node, needed, candidates};
  if (graph::Handle* again = take_unfinished(room)) return again;
  // With a ranking, neither of these has found any, and the tasks that were pulled are still the same.
  graph::Handle* victim = nullptr;
  if (!candidates.ranked()) {
    victim = unplanned(room);
    if (victim == nullptr) victim = least_planned(room);
  }
  if (victim == nullptr) {
    // A copy that only comes early must not drive out what is used before it.
    if (reason == EvictionReason::prefetch) {
      if (explanation_.heard()) {
        refusals_.tell(explanation_.decisions(), node,
                       explained(room, trace::Reason::used_sooner, nullptr));
      }
      return nullptr;
    }
    victim = used_last(room);
  }
  if (victim == nullptr) return nullptr;  // all have been pinned meanwhile
  refusals_.end(node);
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
graph::Handle* LeastUsed::take_unfinished(const Room& room) {
  const NodeIndex node = room.node;
  DataRecord* const data = unfinished_[node];
  if (data == nullptr) return nullptr;
  if (data->nodes[node].pulled.uses == 0 && room.candidates.has_unclaimed(*data->handle)) {
    if (explanation_.heard()) {
      trace::Decision again = decision(room, trace::Reason::chosen_before);
      again.consider(scored(*data->handle, node), true);
      explanation_.decisions().tell(std::move(again));
    }
    ledger_.leave_node(*data, node);
    return data->handle;
  }
  unfinished_[node] = nullptr;
  ledger_.refresh(*data, node);
  return nullptr;
}

// The least recently used one that no pulled and no planned task uses. It goes even if tasks of main use it: they
// are told by Ledger::leave_node.
graph::Handle* LeastUsed::unplanned(const Room& room) const {
  const NodeIndex node = room.node;
  std::optional<trace::Decision> told;
  if (explanation_.heard()) told = decision(room, trace::Reason::no_planned_use);
  graph::Handle* const victim = room.candidates.least_recent([&](const graph::Handle& handle) {
    const bool goes = planned_uses(handle, node) == 0 && pulled_uses(handle, node) == 0;
    if (told) told->consider(scored(handle, node), goes);
    return goes;
  });
  if (victim != nullptr && told) {
    told->choose(victim->id.value);
    explanation_.decisions().tell(*std::move(told));
  }
  return victim;
}

// Of those that no pulled task uses: the one that fewest planned tasks use, the least recently used on ties.
graph::Handle* LeastUsed::least_planned(const Room& room) const {
  graph::Handle* best = nullptr;
  std::uint32_t fewest = 0;
  for (const Candidate& candidate : room.candidates.all()) {
    if (candidate.claims > 0 || pulled_uses(*candidate.handle, room.node) > 0) continue;
    const std::uint32_t planned = planned_uses(*candidate.handle, room.node);
    if (best != nullptr && planned >= fewest) continue;
    best = candidate.handle;
    fewest = planned;
  }
  if (best != nullptr && explanation_.heard()) {
    explanation_.decisions().tell(explained(room, trace::Reason::fewest_planned_uses, best));
  }
  return best;
}

// Belady's rule on the tasks pulled by the node, in the order they were pulled: the candidate whose
// first use comes last. One in use by others than these counts as used first.
graph::Handle* LeastUsed::used_last(const Room& room) const {
  graph::Handle* const best = room.candidates.greatest(
      [&](const Candidate& candidate) { return first_use_of(*candidate.handle, room.node); });
  if (best != nullptr && explanation_.heard()) {
    explanation_.decisions().tell(explained(room, trace::Reason::latest_first_use, best));
  }
  return best;
}

// By a task pulled by the node; 0: there is none.
std::uint64_t LeastUsed::first_use_of(const graph::Handle& handle, NodeIndex node) const {
  DataRecord* const data = record_of(handle);
  return data != nullptr ? ledger_.first_pulled_use(*data, node) : 0;
}

trace::Decision LeastUsed::decision(const Room& room, trace::Reason reason) const {
  return explanation_.decisions().room_on(ledger_.nodes()[room.node].id, room.needed, reason);
}

trace::Decision LeastUsed::explained(const Room& room, trace::Reason reason,
                                     const graph::Handle* victim) const {
  trace::Decision told = decision(room, reason);
  for (const Candidate& candidate : room.candidates.all()) {
    trace::Candidate listed = scored(*candidate.handle, room.node, candidate.claims);
    if (reason == trace::Reason::latest_first_use) {
      const std::uint64_t first_use = first_use_of(*candidate.handle, room.node);
      listed.scores.push_back({trace::Measure::next_use, static_cast<std::int64_t>(first_use)});
    }
    told.consider(std::move(listed), candidate.handle == victim);
  }
  return told;
}

}  // namespace vicinal::sched::darts
