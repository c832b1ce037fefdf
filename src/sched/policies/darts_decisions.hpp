// What DARTS tells of its choices, if somebody listens. It reads the ledger and changes nothing there.
#pragma once

#include <cstdint>

#include "sched/decisions.hpp"
#include "sched/policies/darts_ledger.hpp"

namespace vicinal::sched::darts {

class Explanation {
 public:
  explicit Explanation(const Ledger& ledger) : ledger_(ledger) {}
  void start(const PolicyContext& context) {
    context_ = &context;
    decisions_.start(context);
  }
  bool heard() const { return decisions_.heard(); }

  // --- only if it is heard
  const Decisions& decisions() const { return decisions_; }
  // A task that has become ready is planned on the node; kNoNode: it enters main.
  void pushed(const TaskRecord& record, NodeIndex chosen) const;
  // The datum that is to be loaded, of all that are absent on the worker's node.
  void chose_datum(const AbsentList& absent, DataOnNode& best, WorkerId worker) const;
  // A task that is planned with it.
  void set_free(const TaskRecord& record, const DataOnNode& datum, NodeIndex node) const;
  // A task of main on the worker's node: what the rules compare.
  trace::Candidate scored(const TaskRecord& record, WorkerId worker) const;
  // The first of those that are planned in the order of priorities, and of the others: one may be null.
  void ordered(const TaskRecord* by_priority, const TaskRecord* other, const TaskRecord& chosen,
               WorkerId worker) const;

 private:
  NodeIndex free_in_ram(const TaskRecord& record) const;
  trace::Candidate on_node(const TaskRecord& record, NodeIndex node) const;
  trace::Candidate scored(DataOnNode& at, NodeIndex node) const;

  const Ledger& ledger_;
  const PolicyContext* context_ = nullptr;
  Decisions decisions_;
};

}  // namespace vicinal::sched::darts
