#include "engine/decisions.hpp"

#include <utility>

#include "graph/task_pool.hpp"

namespace vicinal::engine {

using trace::Measure;

namespace {

std::uint64_t id_of(const Pulled& entry) {
  return graph::TaskPool::id(*entry.task).value;
}

}  // namespace

void tell_start(const sched::PolicyContext& context, const Window& window, std::size_t chosen,
                WorkerId worker) {
  trace::Decision decision(trace::Reason::first_ready, trace::Among::tasks, context.now());
  decision.worker = worker;
  decision.node = context.machine().workers[worker.value].node;
  for (std::size_t i = 0; i <= chosen; ++i) {
    const Pulled& entry = *window.pulled[i];
    const Bytes missing = context.missing_bytes(*entry.task, entry.request.node);
    decision.consider({id_of(entry),
                       {{Measure::place, static_cast<std::int64_t>(i)},
                        {Measure::missing_bytes, static_cast<std::int64_t>(missing.value)},
                        {Measure::ready, i == chosen ? 1 : 0}}},
                      i == chosen);
  }
  context.listener()->hear(std::move(decision));
}

MoveDecision::MoveDecision(const sched::PolicyContext& context, WorkerId to)
    : listener_(context.listener()) {
  if (listener_ == nullptr) return;
  decision_.emplace(trace::Reason::fewest_copies, trace::Among::tasks, context.now());
  decision_->worker = to;
  decision_->node = context.machine().workers[to.value].node;
}

void MoveDecision::consider(const Pulled& entry, Time copies, Time wait) {
  if (!decision_) return;
  decision_->consider({id_of(entry),
                       {{Measure::transfer, copies.ns},
                        {Measure::wait, wait.ns},
                        {Measure::run, entry.run_time.ns}}});
}

void MoveDecision::tell(const Pulled& best, bool agreed) {
  if (!decision_) return;
  decision_->choose(id_of(best));
  if (!agreed) {
    decision_->reason = trace::Reason::policy_keeps;
    decision_->winner.reset();
  }
  listener_->hear(*std::move(decision_));
}

}  // namespace vicinal::engine
