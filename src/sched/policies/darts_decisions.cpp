#include "sched/policies/darts_decisions.hpp"

#include <utility>

#include "sched/policies/darts_selection.hpp"

namespace vicinal::sched::darts {

using trace::Among;
using trace::Measure;
using trace::Reason;

// RAM is a candidate where nodes differ, and the last one: it must end the task earlier than the others.
NodeIndex Explanation::free_in_ram(const TaskRecord& record) const {
  const Nodes& nodes = ledger_.nodes();
  const NodeIndex ram = nodes.find(kRam);
  if (ram == kNoNode || nodes.count() == 1 || nodes.all_alike()) return kNoNode;
  return ledger_.is_free_on(record, ram) && ledger_.present_workers(ram) > 0 ? ram : kNoNode;
}

trace::Candidate Explanation::on_node(const TaskRecord& record, NodeIndex node) const {
  const NodeBooks& books = ledger_.books(node);
  std::int64_t missing = 0;
  for (const Use& use : record.uses) {
    const DataOnNode& at = use.data->nodes[node];
    if (use.reads && !at.present() && at.planned == 0) ++missing;
  }
  return {ledger_.nodes()[node].id.value,
          {{Measure::tasks, static_cast<std::int64_t>(books.planned_tasks() + books.pulled.size)},
           {Measure::run, record.nodes[node].duration_ns},
           {Measure::end, ledger_.end_ns(record, node)},
           {Measure::missing_operands, missing}}};
}

void Explanation::pushed(const TaskRecord& record, NodeIndex chosen) const {
  const Nodes& nodes = ledger_.nodes();
  trace::Decision decision = decisions_.about(
      *record.task, nodes.all_alike() ? Reason::fewest_tasks : Reason::earliest_end, Among::nodes);
  const auto list = [&](bool wanted(const Ledger&, const TaskRecord&, NodeIndex)) {
    for (NodeIndex node = 0; node < nodes.count(); ++node) {
      if (nodes[node].id == kRam && nodes.count() > 1) continue;
      if (!wanted(ledger_, record, node)) continue;
      decision.consider(on_node(record, node), node == chosen);
    }
  };
  list([](const Ledger& ledger, const TaskRecord& task, NodeIndex node) {
    return ledger.is_free_on(task, node);
  });
  const NodeIndex ram = free_in_ram(record);
  if (decision.candidates.empty()) {  // the others would have to load something
    list([](const Ledger& /*ledger*/, const TaskRecord& task, NodeIndex node) {
      return task.nodes[node].can_run;
    });
    if (chosen == kNoNode) {
      decision.reason = ram == kNoNode ? Reason::free_nowhere : Reason::faster_elsewhere;
    }
  }
  if (ram != kNoNode) decision.consider(on_node(record, ram), ram == chosen);
  decisions_.tell(std::move(decision));
}

trace::Candidate Explanation::scored(DataOnNode& at, NodeIndex node) const {
  trace::Candidate candidate{at.data->handle->id.value,
                             {{Measure::free_tasks, at.free_tasks},
                              {Measure::free_run, at.free_ns},
                              {Measure::near_tasks, at.near_tasks},
                              {Measure::left_run, at.left_ns}}};
  if (at.free_tasks + at.near_tasks > 0) {
    candidate.scores.push_back({Measure::priority, highest_priority(at, node)});
  }
  if (at.free_tasks > 0) {
    // What the ledger has not asked yet it must ask itself: it keeps the answer.
    const std::int64_t ns =
        at.transfer_ns >= 0
            ? at.transfer_ns
            : context_->transfer_time(*at.data->handle, ledger_.nodes()[node].id).ns;
    candidate.scores.push_back({Measure::transfer, ns});
  }
  return candidate;
}

void Explanation::chose_datum(const AbsentList& absent, DataOnNode& best, WorkerId worker) const {
  const NodeIndex node = ledger_.nodes().of(worker);
  trace::Decision decision = decisions_.asked_by(worker, Reason::sets_most_free, Among::handles);
  absent.visit([&](DataOnNode& at) {
    if (!decision.full() || &at == &best) decision.consider(scored(at, node), &at == &best);
    return decision.full() && decision.winner.has_value();
  });
  decisions_.tell(std::move(decision));
}

void Explanation::set_free(const TaskRecord& record, const DataOnNode& datum,
                           NodeIndex node) const {
  trace::Decision decision = decisions_.about(*record.task, Reason::set_free, Among::nodes);
  decision.handle = datum.data->handle->id;
  decision.consider(on_node(record, node), true);
  decisions_.tell(std::move(decision));
}

trace::Candidate Explanation::scored(const TaskRecord& record, WorkerId worker) const {
  const TaskOnNode& here = record.nodes[ledger_.nodes().of(worker)];
  return {id_of(*record.task),
          {{Measure::priority, record.task->priority},
           {Measure::missing_operands, here.missing},
           {Measure::run, here.duration_ns}}};
}

void Explanation::ordered(const TaskRecord* by_priority, const TaskRecord* other,
                          const TaskRecord& chosen, WorkerId worker) const {
  trace::Decision decision = decisions_.asked_by(worker, Reason::plan_order, Among::tasks);
  for (const TaskRecord* record : {by_priority, other}) {
    if (record == nullptr) continue;
    trace::Candidate candidate = scored(*record, worker);
    candidate.scores.push_back({Measure::in_order, record == by_priority ? 1 : 0});
    decision.consider(std::move(candidate), record == &chosen);
  }
  decisions_.tell(std::move(decision));
}

}  // namespace vicinal::sched::darts
