// What is told of the look-ahead's choices, if somebody listens.
#pragma once

#include <cstddef>
#include <optional>

#include "engine/window.hpp"
#include "sched/policy.hpp"
#include "trace/decision.hpp"

namespace vicinal::engine {

// The task at `chosen` starts on the worker. Those before it cannot yet.
void tell_start(const sched::PolicyContext& context, const Window& window, std::size_t chosen,
                WorkerId worker);

// A worker of another node has nothing, and one of the window's tasks may go there. Collects while the window is
// looked through.
class MoveDecision {
 public:
  MoveDecision(const sched::PolicyContext& context, WorkerId to);
  void consider(const Pulled& entry, Time copies, Time wait);
  // The best of them; the policy has agreed, or not.
  void tell(const Pulled& best, bool agreed);

 private:
  trace::DecisionListener* listener_;
  std::optional<trace::Decision> decision_;  // none: nobody listens
};

}  // namespace vicinal::engine
