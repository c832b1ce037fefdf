// Which tasks of main a node plans next: the heart of DARTS (Gonthier et al. 2024, section 5.3).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/sure_memory.hpp"
#include "sched/policies/darts_decisions.hpp"
#include "sched/policies/darts_ledger.hpp"

namespace vicinal::sched::darts {

// Of the tasks that the datum would set free if there are any, else of the near ones.
std::int64_t highest_priority(DataOnNode& at, NodeIndex node);

class Selection {
 public:
  // `exact`: the times to load data per time of the tasks set free are compared as they are.
  Selection(Ledger& ledger, const Explanation& explanation, bool exact)
      : ledger_(ledger), explanation_(explanation), exact_(exact) {}
  void start() { asked_before_.assign(ledger_.nodes().count(), false); }

  // Plans at least one task of main on the worker's node, or says that there is none to plan: all that the
  // worker could run may be left to faster nodes.
  // It may be one that only another worker of the node can run: then it is to be called again.
  // O(log n) for each of n absent data that has changed since, see AbsentList, plus the readers of those
  // that tie where their highest priority has left.
  bool plan_some(WorkerId worker);

 private:
  bool is_better(DataOnNode& a, DataOnNode& b, NodeIndex node);
  std::strong_ordering costs(DataOnNode& a, DataOnNode& b, NodeIndex node);
  bool plan_ready(WorkerId worker, NodeIndex node);
  bool plan_free_tasks(DataOnNode& best, WorkerId worker, NodeIndex node);
  bool plan_near_task(DataOnNode& best, WorkerId worker, NodeIndex node);
  bool plan_by_priority(WorkerId worker, NodeIndex node);
  void plan_with_operands(TaskRecord& record, WorkerId worker, NodeIndex node);
  void plan(TaskRecord& record, WorkerId worker, NodeIndex node);
  void explain_ready(const TaskRecord& chosen, WorkerId worker,
                     const std::function<bool(const TaskRecord&)>& wanted) const;
  void explain_near(const DataOnNode& best, const TaskRecord& chosen, WorkerId worker) const;
  void explain_fewest(const TaskRecord& first, const TaskRecord& chosen, WorkerId worker) const;

  Ledger& ledger_;
  const Explanation& explanation_;
  const bool exact_;
  std::vector<bool> asked_before_;        // by node
  base::SureVector<TaskRecord*> chosen_;  // of plan_free_tasks; a member to keep its room
};

}  // namespace vicinal::sched::darts
