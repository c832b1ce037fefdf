// What is told of the look-ahead's choices, if somebody listens.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/contention_gate.hpp"
#include "graph/task.hpp"
#include "sched/policy.hpp"
#include "trace/decision.hpp"

namespace vicinal::engine {

// The task waits, as the memory would give it nothing.
void tell_saturation(const sched::PolicyContext& context, const graph::Task& task, WorkerId worker,
                     const Saturation& why);

// Which task starts on the worker: the first that can. Collects while the look-ahead is looked through.
class StartDecision {
 public:
  StartDecision(const sched::PolicyContext& context, WorkerId worker);
  // In the order of the look-ahead. The decision lists the task that starts and the tasks before it.
  void consider(const graph::Task& task, bool starts);

 private:
  const sched::PolicyContext& context_;
  std::int64_t place_ = 0;
  std::optional<trace::Decision> decision_;  // none: nobody listens
};

// A worker of another node has nothing, and one of the look-ahead's tasks may go there. Collects while that is
// looked through.
class MoveDecision {
 public:
  MoveDecision(const sched::PolicyContext& context, WorkerId to);
  void consider(const graph::Task& task, Time copies, Time wait, Time run);
  // The best of them; the policy has agreed, or not.
  void tell(const graph::Task& best, bool agreed);

 private:
  trace::DecisionListener* listener_;
  std::optional<trace::Decision> decision_;  // none: nobody listens
};

}  // namespace vicinal::engine
