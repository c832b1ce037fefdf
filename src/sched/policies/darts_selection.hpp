// Which tasks of main a node plans next: the heart of DARTS (Gonthier et al. 2024, section 5.3).
#pragma once

#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "base/sure_memory.hpp"
#include "sched/decisions.hpp"
#include "sched/policies/darts_ledger.hpp"

namespace vicinal::sched::darts {

using trace::Among;
using trace::Measure;
using trace::Reason;

inline constexpr std::int64_t kNoPriority = std::numeric_limits<std::int64_t>::min();

// Whether a task of main, a reader of the datum, misses `others` operands besides it.
inline bool misses_besides(const TaskRecord& record, const DataOnNode& at, NodeIndex node,
                           std::uint32_t others) {
  const TaskOnNode& here = record.nodes[node];
  return here.can_run && at.missing_besides(here.missing) == others;
}

__extension__ using Wide = unsigned __int128;

// Of the ratio: the power of 4 that it lies above. 0: nothing is to be loaded.
inline int cost_class(std::int64_t transfer_ns, std::int64_t free_ns) {
  if (transfer_ns <= 0) return 0;
  constexpr int kShift = 62;  // the least ratio is 1 in 2^62
  const Wide ratio = (static_cast<Wide>(transfer_ns) << kShift) /
                     static_cast<Wide>(std::max<std::int64_t>(free_ns, 1));
  int power = 1;
  for (Wide rest = ratio; rest >= 4; rest >>= 2) ++power;
  return power;
}

// `highest` is never too low: the search ends where it is met again.
inline void make_exact(int& highest, const DataOnNode& at, NodeIndex node, std::uint32_t others) {
  int found = std::numeric_limits<int>::min();
  for (const Use* use = at.data->in_main.head; use != nullptr; use = use->next) {
    if (!misses_besides(*use->task, at, node, others)) continue;
    found = std::max(found, use->task->task->priority);
    if (found == highest) return;
  }
  highest = found;
}

inline std::int64_t highest_priority(DataOnNode& at, NodeIndex node) {
  if (at.free_tasks > 0) {
    if (at.free_priority_stale) make_exact(at.free_priority, at, node, 0);
    at.free_priority_stale = false;
    return at.free_priority;
  }
  if (at.near_tasks == 0) return kNoPriority;
  if (at.near_priority_stale) make_exact(at.near_priority, at, node, 1);
  at.near_priority_stale = false;
  return at.near_priority;
}

// How times to load data, per time of the tasks that these set free, are compared: by powers of 4, or as they are.
enum class Costs : std::uint8_t { classes, exact };

// What DARTS tells of its choices, if somebody listens. It reads the ledger and changes nothing there.
class Explanation : public Decisions {
 public:
  explicit Explanation(const Ledger& ledger) : ledger_(ledger) {}

  // --- only if it is heard
  // A task that has become ready is planned on the node; kNoNode: it enters main.
  void pushed(const TaskRecord& record, NodeIndex chosen) const {
    const Nodes& nodes = ledger_.nodes();
    Telling told =
        about(*record.task, nodes.all_alike() ? Reason::fewest_tasks : Reason::earliest_end,
              Among::nodes);
    const auto list = [&](bool wanted(const Ledger&, const TaskRecord&, NodeIndex)) {
      for (NodeIndex node = 0; node < nodes.count(); ++node) {
        if (nodes[node].id == kRam && nodes.count() > 1) continue;
        if (!wanted(ledger_, record, node)) continue;
        told.consider(on_node(record, node), node == chosen);
      }
    };
    list([](const Ledger& ledger, const TaskRecord& task, NodeIndex node) {
      return ledger.is_free_on(task, node);
    });
    const NodeIndex ram = free_in_ram(record);
    if (told.candidates.empty()) {  // the others would have to load something
      list([](const Ledger& /*ledger*/, const TaskRecord& task, NodeIndex node) {
        return task.nodes[node].can_run;
      });
      if (chosen == kNoNode) {
        told.reason = ram == kNoNode ? Reason::free_nowhere : Reason::faster_elsewhere;
      }
    }
    if (ram != kNoNode) told.consider(on_node(record, ram), ram == chosen);
    told.tell();
  }

  // The datum that is to be loaded, of all that are absent on the worker's node.
  void chose_datum(const AbsentList& absent, DataOnNode& best, WorkerId worker) const {
    const NodeIndex node = ledger_.nodes().of(worker);
    Telling told = asked_by(worker, Reason::sets_most_free, Among::handles);
    absent.visit([&](DataOnNode& at) {
      if (!told.full() || &at == &best) told.consider(scored(at, node), &at == &best);
      return told.full() && told.winner.has_value();
    });
    told.tell();
  }

  // A task that is planned with it.
  void set_free(const TaskRecord& record, const DataOnNode& datum, NodeIndex node) const {
    Telling told = about(*record.task, Reason::set_free, Among::nodes);
    told.consider(on_node(record, node), true);
    told.of(*datum.data->handle).tell();
  }

  // A task of main on the worker's node: what the rules compare.
  trace::Candidate scored(const TaskRecord& record, WorkerId worker) const {
    const TaskOnNode& here = record.nodes[ledger_.nodes().of(worker)];
    return {id_of(*record.task),
            {{Measure::priority, record.task->priority},
             {Measure::missing_operands, here.missing},
             {Measure::run, here.duration_ns}}};
  }

  // The first of those that are planned in the order of priorities, and of the others: one may be null.
  void ordered(const TaskRecord* by_priority, const TaskRecord* other, const TaskRecord& chosen,
               WorkerId worker) const {
    Telling told = asked_by(worker, Reason::plan_order, Among::tasks);
    for (const TaskRecord* record : {by_priority, other}) {
      if (record == nullptr) continue;
      trace::Candidate candidate = scored(*record, worker);
      candidate.scores.push_back({Measure::in_order, record == by_priority});
      told.consider(std::move(candidate), record == &chosen);
    }
    told.tell();
  }

 private:
  // RAM is a candidate where nodes differ, and the last one: it must end the task earlier than the others.
  NodeIndex free_in_ram(const TaskRecord& record) const {
    const Nodes& nodes = ledger_.nodes();
    const NodeIndex ram = nodes.find(kRam);
    if (ram == kNoNode || nodes.count() == 1 || nodes.all_alike()) return kNoNode;
    return ledger_.is_free_on(record, ram) && nodes.present_workers(ram) > 0 ? ram : kNoNode;
  }

  trace::Candidate on_node(const TaskRecord& record, NodeIndex node) const {
    std::int64_t missing = 0;
    for (const Use& use : record.uses) {
      const DataOnNode& at = use.data->nodes[node];
      if (use.reads && !at.present() && at.planned == 0) ++missing;
    }
    return {ledger_.nodes()[node].id.value,
            {{Measure::tasks, ledger_.books(node).load.tasks()},
             {Measure::run, record.nodes[node].duration_ns},
             {Measure::end, ledger_.end_ns(record, node)},
             {Measure::missing_operands, missing}}};
  }

  trace::Candidate scored(DataOnNode& at, NodeIndex node) const {
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

  const Ledger& ledger_;
};

// Of the tasks that the datum would set free if there are any, else of the near ones.
std::int64_t highest_priority(DataOnNode& at, NodeIndex node);

class Selection {
 public:
  Selection(Ledger& ledger, const Explanation& explanation, Costs costs)
      : ledger_(ledger), explanation_(explanation), costs_(costs) {}
  void start() { asked_before_.assign(ledger_.nodes().count(), false); }

  // Plans at least one task of main on the worker's node, or says that there is none to plan: all that the
  // worker could run may be left to faster nodes.
  // It may be one that only another worker of the node can run: then it is to be called again.
  // O(log n) for each of n absent data that has changed since, see AbsentList, plus the readers of those
  // that tie where their highest priority has left.
  // Alg. 3 of the paper, which assumes that loading some datum is what lets tasks start, comes last:
  //  - A task of main that misses nothing is planned at once, by priority. It is one whose operands
  //    came for the sake of different other tasks; no absent datum would lead to it.
  //  - A node's first choice is by priority, and so is a choice where nothing is absent.
  bool plan_some(WorkerId worker) {
    const NodeIndex node = ledger_.nodes().of(worker);
    if (ledger_.main().empty()) return false;
    if (ledger_.books(node).ready_in_main > 0 && plan_ready(worker, node)) return true;
    const bool first_choice = !asked_before_[node];
    asked_before_[node] = true;
    if (first_choice) return plan_by_priority(worker, node);
    DataOnNode* const best = ledger_.absent(node).best(
        [&](DataOnNode& a, DataOnNode& b) { return is_better(a, b, node); });
    if (best != nullptr && best->free_tasks + best->near_tasks > 0 && explanation_.heard()) {
      explanation_.chose_datum(ledger_.absent(node), *best, worker);
    }
    if (best != nullptr && best->free_tasks > 0 && plan_free_tasks(*best, worker, node))
      return true;
    if (best != nullptr && best->free_tasks == 0 && best->near_tasks > 0 &&
        plan_near_task(*best, worker, node)) {
      return true;
    }
    return plan_by_priority(worker, node);
  }

 private:
  // Lexicographic: least time to load it per time of the tasks that sets free; most free tasks;
  // highest priority; most near tasks; most work left that uses it. The paper compares the first exactly. Where times or
  // sizes vary, the first criterion alone then decides, by chance ("Times that differ a little" in docs/performance.md). So
  // ratios are compared by powers of 4, unless the setting `cost` says exact.
  bool is_better(DataOnNode& a, DataOnNode& b, NodeIndex node) {
    if (a.free_tasks > 0 && b.free_tasks > 0) {
      if (const auto order = costs(a, b, node); order != 0) return order < 0;
    }
    if (a.free_tasks != b.free_tasks) return a.free_tasks > b.free_tasks;
    const std::int64_t priority_a = highest_priority(a, node);
    const std::int64_t priority_b = highest_priority(b, node);
    if (priority_a != priority_b) return priority_a > priority_b;
    if (a.near_tasks != b.near_tasks) return a.near_tasks > b.near_tasks;
    return a.left_ns > b.left_ns;
  }

  // Ratios are compared exactly as products, so that equal ones are seen to be equal.
  std::strong_ordering costs(DataOnNode& a, DataOnNode& b, NodeIndex node) {
    const std::int64_t transfer_a = ledger_.transfer_ns(a, node);
    const std::int64_t transfer_b = ledger_.transfer_ns(b, node);
    if (costs_ == Costs::classes)
      return cost_class(transfer_a, a.free_ns) <=> cost_class(transfer_b, b.free_ns);
    return static_cast<Wide>(transfer_a) * static_cast<Wide>(b.free_ns) <=>
           static_cast<Wide>(transfer_b) * static_cast<Wide>(a.free_ns);
  }

  bool plan_ready(WorkerId worker, NodeIndex node) {
    if (!ledger_.begin_look(node)) return false;
    const auto wanted = [&](const TaskRecord& record) {
      return record.nodes[node].missing == 0 && !ledger_.is_left(record) &&
             ledger_.can_run(record, worker);
    };
    TaskRecord* const ready = ledger_.main().find_first(wanted);
    if (ready == nullptr) return false;
    if (explanation_.heard()) explain_ready(*ready, worker, wanted);
    plan(*ready, worker, node);
    return true;
  }

  // In the order of the datum's list, newest first. False: all are left to faster nodes.
  bool plan_free_tasks(DataOnNode& best, WorkerId worker, NodeIndex node) {
    chosen_.clear();
    for (Use* use = best.data->in_main.head; use != nullptr; use = use->next) {
      if (misses_besides(*use->task, best, node, 0)) chosen_.push_back(use->task);
    }
    bool planned = false;
    for (TaskRecord* record : chosen_) {
      if (ledger_.is_left_to_faster(*record, node)) continue;
      if (!planned) ledger_.unlist(best, node);
      if (explanation_.heard()) explanation_.set_free(*record, best, node);
      plan(*record, worker, node);
      planned = true;
    }
    return planned;
  }

  bool plan_near_task(DataOnNode& best, WorkerId worker, NodeIndex node) {
    TaskRecord* highest = nullptr;
    for (Use* use = best.data->in_main.head; use != nullptr; use = use->next) {
      if (!misses_besides(*use->task, best, node, 1)) continue;
      if (highest != nullptr && use->task->task->priority <= highest->task->priority) continue;
      if (!ledger_.is_left_to_faster(*use->task, node)) highest = use->task;
    }
    if (highest == nullptr) return false;
    if (explanation_.heard()) explain_near(best, *highest, worker);
    plan_with_operands(*highest, worker, node);
    return true;
  }

  // The reference returns nothing if the node cannot run the very first task of main. Here the search goes
  // on, so that no task waits behind a task that only other nodes can run. And where tasks have so many
  // operands that no datum sets one free nor nearly so, what misses fewest goes before what has the highest
  // priority: with 16 operands each the rest would be loaded for one task at a time, again and again.
  bool plan_by_priority(WorkerId worker, NodeIndex node) {
    if (!ledger_.begin_look(node)) return false;
    const auto wanted = [&](const TaskRecord& record) {
      return !ledger_.is_left(record) && ledger_.can_run(record, worker);
    };
    TaskRecord* first = ledger_.main().find_first(wanted);
    if (first == nullptr) return false;
    TaskRecord* const nearer = ledger_.fewest(node).find(node, first->nodes[node].missing, wanted);
    TaskRecord& chosen = nearer != nullptr ? *nearer : *first;
    if (explanation_.heard()) explain_fewest(*first, chosen, worker);
    plan_with_operands(chosen, worker, node);
    return true;
  }

  // All its operands will be loaded, as in the paper (the reference takes only the first one off the
  // list).
  void plan_with_operands(TaskRecord& record, WorkerId worker, NodeIndex node) {
    for (const Use& use : record.uses) ledger_.unlist(use.data->nodes[node], node);
    plan(record, worker, node);
  }
  void plan(TaskRecord& record, WorkerId worker, NodeIndex node) {
    ledger_.plan(record, node);
    if (!ledger_.can_run(record, worker)) ledger_.wake_for(record, node);
  }
  // The next ones, too, as far as a short look finds some.
  void explain_ready(const TaskRecord& chosen, WorkerId worker,
                     const std::function<bool(const TaskRecord&)>& wanted) const {
    Telling told = explanation_.asked_by(worker, Reason::misses_nothing, Among::tasks);
    std::size_t looks = 0;
    ledger_.main().find_first([&](const TaskRecord& record) {
      if (!told.winner && &record != &chosen) return false;
      if (wanted(record)) told.consider(explanation_.scored(record, worker), &record == &chosen);
      return ++looks == trace::Decision::kMostListed;
    });
    told.tell();
  }

  void explain_near(const DataOnNode& best, const TaskRecord& chosen, WorkerId worker) const {
    const NodeIndex node = ledger_.nodes().of(worker);
    Telling told = explanation_.asked_by(worker, Reason::nearly_free, Among::tasks);
    for (const Use* use = best.data->in_main.head; use != nullptr; use = use->next) {
      if (!misses_besides(*use->task, best, node, 1)) continue;
      if (ledger_.is_left_to_faster(*use->task, node)) continue;
      told.consider(explanation_.scored(*use->task, worker), use->task == &chosen);
    }
    told.of(*best.data->handle).tell();
  }

  void explain_fewest(const TaskRecord& first, const TaskRecord& chosen, WorkerId worker) const {
    Telling told = explanation_.asked_by(worker, Reason::misses_fewest, Among::tasks);
    told.consider(explanation_.scored(first, worker), &first == &chosen);
    if (&first != &chosen) told.consider(explanation_.scored(chosen, worker), true);
    told.tell();
  }

  Ledger& ledger_;
  const Explanation& explanation_;
  const Costs costs_;
  std::vector<bool> asked_before_;        // by node
  base::SureVector<TaskRecord*> chosen_;  // of plan_free_tasks; a member to keep its room
};

}  // namespace vicinal::sched::darts
