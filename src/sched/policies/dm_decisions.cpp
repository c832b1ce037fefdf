#include "sched/policies/dm_decisions.hpp"

#include <utility>

namespace vicinal::sched::dm {
namespace {

using trace::Measure;

base::SureVector<trace::Score> scores_of(const Prediction& on, trace::Reason reason) {
  if (reason == trace::Reason::drawn) return {{Measure::run, on.duration_ns}};
  return {{Measure::free_at, on.free_ns},
          {Measure::transfer, on.transfer_ns},
          {Measure::run, on.duration_ns},
          {Measure::end, on.finish_ns},
          {Measure::tasks, static_cast<std::int64_t>(on.tasks)}};
}

trace::Reason rule_of(Order order) {
  if (order.ready_first) {
    return order.by_priority ? trace::Reason::lacks_least_of_highest : trace::Reason::lacks_least;
  }
  return order.by_priority ? trace::Reason::highest_priority : trace::Reason::first_pushed;
}

// What the task lacks is known while it is queued, where the rule asks for it.
trace::Candidate scored(const TaskRecord& record, Order order) {
  trace::Candidate candidate{
      id_of(*record.task),
      Decisions::ranks(*record.task, static_cast<std::int64_t>(record.number))};
  if (!order.ready_first) return candidate;
  const auto add = [&](Measure measure, std::uint64_t bytes) {
    candidate.scores.push_back({measure, static_cast<std::int64_t>(bytes)});
  };
  add(Measure::missing_bytes, record.missing.invalid);
  add(Measure::unrequested_bytes, record.missing.unrequested);
  add(Measure::unplaced_bytes, record.missing.unplaced);
  return candidate;
}

}  // namespace

void tell(const Decisions& decisions, const Placed& placed) {
  trace::Decision decision = decisions.about(placed.task, placed.reason, trace::Among::workers);
  for (const Prediction& on : placed.predictions) {
    decision.consider({on.worker, scores_of(on, placed.reason)}, on.worker == placed.worker);
  }
  if (placed.drawn) decision.scores.push_back(Decisions::draw(*placed.drawn));
  decisions.tell(std::move(decision));
}

void tell_first(const Decisions& decisions, WorkerId worker, const TaskRecord& first,
                Queue& queue) {
  const Order order = queue.order();
  trace::Decision decision = decisions.asked_by(worker, rule_of(order), trace::Among::tasks);
  if (order.ready_first && !order.by_priority) {
    decision.scores.push_back({Measure::priority, queue.oldest_priority()});
  }
  decision.consider(scored(first, order), true);
  // One that has left the queue and come back is met twice.
  const TaskRecord* before = nullptr;
  queue.find([&](const TaskRecord& record) {
    if (&record != &first && std::exchange(before, &record) != &record) {
      decision.consider(scored(record, order));
    }
    return decision.full();
  });
  decisions.tell(std::move(decision));
}

}  // namespace vicinal::sched::dm
