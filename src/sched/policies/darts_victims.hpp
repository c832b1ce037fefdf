// Which replica leaves a node: the least used in the future (LUF, Gonthier et al. 2024, section 5.4).
#pragma once

#include "base/sure_memory.hpp"
#include "memory/victim.hpp"
#include "sched/policies/darts_decisions.hpp"
#include "sched/policies/darts_ledger.hpp"

namespace vicinal::sched::darts {

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
  graph::Handle* choose(NodeId node, Bytes needed, memory::EvictionReason reason,
                        memory::Candidates& candidates) override;

  // The engine has evicted the datum, or wants it there again.
  void settled(const DataRecord& data, NodeIndex node);

 private:
  // What was asked.
  struct Room {
    NodeIndex node;
    Bytes needed;
    memory::Candidates& candidates;
  };
  graph::Handle* take_unfinished(const Room& room);
  graph::Handle* unplanned(const Room& room) const;
  graph::Handle* least_planned(const Room& room) const;
  graph::Handle* used_last(const Room& room) const;
  std::uint64_t first_use_of(const graph::Handle& handle, NodeIndex node) const;
  trace::Decision decision(const Room& room, trace::Reason reason) const;
  trace::Decision explained(const Room& room, trace::Reason reason,
                            const graph::Handle* victim) const;

  Ledger& ledger_;
  const Explanation& explanation_;
  base::SureVector<DataRecord*> unfinished_;  // by node: chosen, and not yet known to have gone
  Refusals refusals_;
};

}  // namespace vicinal::sched::darts
