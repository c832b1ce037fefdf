#include "engine/decisions.hpp"

#include <utility>

#include "graph/task_pool.hpp"

namespace vicinal::engine {

using trace::Measure;

void tell_saturation(const sched::PolicyContext& context, const graph::Task& task, WorkerId worker,
                     const Saturation& why) {
  if (context.listener() == nullptr || !context.listener()->listens()) return;
  trace::Decision decision(trace::Reason::memory_saturated, trace::Among::workers, context.now());
  decision.task = graph::TaskPool::id(task);
  decision.worker = worker;
  decision.node = context.machine().workers[worker.value].node;
  decision.scores = {{Measure::memory_bound, why.tasks},
                     {Measure::transfers, why.transfers},
                     {Measure::demanded, why.demanded},
                     {Measure::saturating, why.saturating}};
  context.listener()->hear(std::move(decision));
}

StartDecision::StartDecision(const sched::PolicyContext& context, WorkerId worker)
    : context_(context) {
  if (context.listener() == nullptr || !context.listener()->listens()) return;
  decision_.emplace(trace::Reason::first_ready, trace::Among::tasks, context.now());
  decision_->worker = worker;
  decision_->node = context.machine().workers[worker.value].node;
}

void StartDecision::consider(const graph::Task& task, bool starts) {
  if (!decision_) return;
  const Bytes missing = context_.missing_bytes(task, *decision_->node);
  decision_->consider({graph::TaskPool::id(task).value,
                       {{Measure::place, place_++},
                        {Measure::missing_bytes, static_cast<std::int64_t>(missing.value)},
                        {Measure::ready, starts ? 1 : 0}}},
                      starts);
  if (starts) context_.listener()->hear(*std::move(decision_));
}

MoveDecision::MoveDecision(const sched::PolicyContext& context, WorkerId to)
    : listener_(context.listener()) {
  if (listener_ == nullptr || !listener_->listens()) return;
  decision_.emplace(trace::Reason::fewest_copies, trace::Among::tasks, context.now());
  decision_->worker = to;
  decision_->node = context.machine().workers[to.value].node;
}

void MoveDecision::consider(const graph::Task& task, Time copies, Time wait, Time run) {
  if (!decision_) return;
  decision_->consider(
      {graph::TaskPool::id(task).value,
       {{Measure::transfer, copies.ns}, {Measure::wait, wait.ns}, {Measure::run, run.ns}}});
}

void MoveDecision::tell(const graph::Task& best, bool agreed) {
  if (!decision_) return;
  decision_->choose(graph::TaskPool::id(best).value);
  if (!agreed) {
    decision_->reason = trace::Reason::policy_keeps;
    decision_->winner.reset();
  }
  listener_->hear(*std::move(decision_));
}

}  // namespace vicinal::engine
