// Which replica leaves a node: the least used in the future (LUF, Gonthier et al. 2024, section 5.4).
#pragma once

#include "base/sure_memory.hpp"
#include "memory/victim.hpp"
#include "sched/policies/darts_ledger.hpp"

namespace vicinal::sched::darts {

class LeastUsed final : public memory::VictimChoice {
 public:
  explicit LeastUsed(Ledger& ledger) : ledger_(ledger) {}
  void start() { unfinished_.assign(ledger_.nodes().count(), nullptr); }

  // O(log n) of n candidates for each one up to the least recently used that no task planned or pulled
  // uses, plus what Ledger::leave_node costs.
  graph::Handle* choose(NodeId node, Bytes needed, memory::EvictionReason reason,
                        memory::Candidates& candidates) override;

  // The engine has evicted the datum, or wants it there again.
  void settled(const DataRecord& data, NodeIndex node);

 private:
  graph::Handle* take_unfinished(NodeIndex node, memory::Candidates& candidates);
  static graph::Handle* least_planned(NodeIndex node, memory::Candidates& candidates);
  graph::Handle* used_last(NodeIndex node, memory::Candidates& candidates);

  Ledger& ledger_;
  base::SureVector<DataRecord*> unfinished_;  // by node: chosen, and not yet known to have gone
};

}  // namespace vicinal::sched::darts
