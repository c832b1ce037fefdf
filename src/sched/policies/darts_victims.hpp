// Which replica leaves a node: the least used in the future (LUF, Gonthier et al. 2024, section 5.4).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/sure_memory.hpp"
#include "graph/handle.hpp"
#include "memory/victim.hpp"
#include "sched/policies/darts_ledger.hpp"
#include "sched/policies/darts_selection.hpp"

namespace vicinal::sched::darts {

using memory::Candidate;
using memory::Candidates;
using memory::EvictionReason;

// nullptr for a datum that no ready task has used yet.
inline DataRecord* record_of(const graph::Handle& handle) {
  return Records<DataRecord>::find(handle);
}

// By those that are planned or pulled on the node.
inline std::uint32_t planned_uses(const graph::Handle& handle, NodeIndex node) {
  const DataRecord* const data = record_of(handle);
  return data != nullptr ? data->nodes[node].planned : 0;
}
inline std::uint32_t pulled_uses(const graph::Handle& handle, NodeIndex node) {
  const DataRecord* const data = record_of(handle);
  return data != nullptr ? data->nodes[node].pulled.uses : 0;
}

inline trace::Candidate scored(const graph::Handle& handle, NodeIndex node,
                               std::uint32_t claims = 0) {
  return {handle.id.value,
          {{trace::Measure::planned_uses, planned_uses(handle, node)},
           {trace::Measure::pulled_uses, pulled_uses(handle, node)},
           {trace::Measure::claims, claims}}};
}

class LeastUsed final : public memory::VictimChoice {
 public:
  LeastUsed(Ledger& ledger, const Explanation& explanation)
      : ledger_(ledger), explanation_(explanation) {}
  void start() {
    unfinished_.assign(ledger_.nodes().count(), nullptr);
    refusals_.start(ledger_.nodes().count());
  }

  // O(log n) of n candidates for each one up to the least recently used that no task planned or pulled
  // uses, plus what Ledger::leave_node costs.
  graph::Handle* choose(NodeId node_id, Bytes needed, EvictionReason reason,
                        Candidates& candidates) override {
    const NodeIndex node = ledger_.nodes().find(node_id);
    if (node == kNoNode) {  // nothing runs there
      return candidates.least_recent([](const graph::Handle& /*any*/) { return true; });
    }
    const RoomRequest room{node, needed, candidates};
    if (graph::Handle* again = take_unfinished(room)) return again;
    // With a ranking, neither of these has found any, and the tasks that were pulled are still the same.
    graph::Handle* victim = nullptr;
    if (!candidates.ranked()) {
      victim = unplanned(room);
      if (victim == nullptr) victim = least_planned(room);
    }
    if (victim == nullptr) {
      // A prefetch must not evict what is used before it.
      if (reason == EvictionReason::prefetch) {
        if (explanation_.heard()) {
          refusals_.tell(explanation_, node, explained(room, trace::Reason::used_sooner, nullptr));
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

  // The engine has evicted the datum, or wants it there again.
  void settled(const DataRecord& data, NodeIndex node) {
    if (unfinished_[node] == &data) unfinished_[node] = nullptr;
  }

 private:
  // What was asked.
  struct RoomRequest {
    NodeIndex node;
    Bytes needed;
    memory::Candidates& candidates;
  };
  // The last victim, if it is there still and nobody pulled wants it: it was pinned when the engine
  // wanted to evict it. Its tasks have been withdrawn already; those planned since are again.
  graph::Handle* take_unfinished(const RoomRequest& room) {
    const NodeIndex node = room.node;
    DataRecord* const data = unfinished_[node];
    if (data == nullptr) return nullptr;
    if (data->nodes[node].pulled.uses == 0 && room.candidates.has_unclaimed(*data->handle)) {
      if (explanation_.heard()) {
        Telling again = asked(room, trace::Reason::chosen_before);
        again.consider(scored(*data->handle, node), true);
        again.tell();
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
  graph::Handle* unplanned(const RoomRequest& room) const {
    const NodeIndex node = room.node;
    std::optional<Telling> told;
    if (explanation_.heard()) told = asked(room, trace::Reason::no_planned_use);
    return Decisions::least_recent(
        room.candidates, std::move(told),
        [&](const graph::Handle& handle) {
          return planned_uses(handle, node) == 0 && pulled_uses(handle, node) == 0;
        },
        [&](const graph::Handle& handle) { return scored(handle, node); });
  }

  // Of those that no pulled task uses: the one that fewest planned tasks use, the least recently used on ties.
  graph::Handle* least_planned(const RoomRequest& room) const {
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
      explained(room, trace::Reason::fewest_planned_uses, best).tell();
    }
    return best;
  }

  // Belady's rule on the tasks pulled by the node, in the order they were pulled: the candidate whose
  // first use comes last. One in use by others than these counts as used first.
  graph::Handle* used_last(const RoomRequest& room) const {
    graph::Handle* const best = room.candidates.greatest(
        [&](const Candidate& candidate) { return first_use_of(*candidate.handle, room.node); });
    if (best != nullptr && explanation_.heard()) {
      explained(room, trace::Reason::latest_first_use, best).tell();
    }
    return best;
  }

  // By a task pulled by the node; 0: there is none.
  std::uint64_t first_use_of(const graph::Handle& handle, NodeIndex node) const {
    DataRecord* const data = record_of(handle);
    return data != nullptr ? ledger_.first_pulled_use(*data, node) : 0;
  }
  Telling asked(const RoomRequest& room, trace::Reason reason) const {
    return explanation_.room_on(ledger_.nodes()[room.node].id, room.needed, reason);
  }
  Telling explained(const RoomRequest& room, trace::Reason reason,
                    const graph::Handle* victim) const {
    Telling told = asked(room, reason);
    for (const Candidate& candidate : room.candidates.all()) {
      trace::Candidate listed = scored(*candidate.handle, room.node, candidate.claims);
      if (reason == trace::Reason::latest_first_use) {
        listed.scores.push_back(
            {trace::Measure::next_use, first_use_of(*candidate.handle, room.node)});
      }
      told.consider(std::move(listed), candidate.handle == victim);
    }
    return told;
  }

  Ledger& ledger_;
  const Explanation& explanation_;
  base::SureVector<DataRecord*> unfinished_;  // by node: chosen, and not yet known to have gone
  Refusals refusals_;
};

}  // namespace vicinal::sched::darts
