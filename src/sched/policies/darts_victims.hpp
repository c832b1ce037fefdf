// Which replica leaves a node: the least used in the future (LUF, Gonthier et al. 2024, section 5.4).
#pragma once

#include <vector>

#include "memory/victim.hpp"
#include "sched/policies/darts_ledger.hpp"

namespace vicinal::sched::darts {

class LeastUsed final : public memory::VictimChoice {
 public:
  explicit LeastUsed(Ledger& ledger) : ledger_(ledger) {}
  void start() { unfinished_.assign(ledger_.nodes().count(), nullptr); }

  // O(candidates), plus what Ledger::leave_node costs; O(tasks pulled there) more where all
  // candidates are in use.
  graph::Handle* choose(NodeId node, Bytes needed, memory::EvictionReason reason,
                        std::span<const memory::Candidate> candidates) override;

  // The engine has evicted the datum, or wants it there again.
  void settled(const DataRecord& data, NodeIndex node);

 private:
  graph::Handle* take_unfinished(NodeIndex node, std::span<const memory::Candidate> candidates);
  const memory::Candidate* least_planned(NodeIndex node,
                                         std::span<const memory::Candidate> candidates) const;
  const memory::Candidate* used_last(NodeIndex node, std::span<const memory::Candidate> candidates);

  Ledger& ledger_;
  std::vector<DataRecord*> unfinished_;  // by node: chosen, and not yet known to have gone
  std::uint64_t clock_ = 0;              // grows; numbers the uses that used_last looks at
};

}  // namespace vicinal::sched::darts
