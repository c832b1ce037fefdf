#include "sched/policies/darts_selection.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

namespace vicinal::sched::darts {
namespace {

constexpr std::int64_t kNoPriority = std::numeric_limits<std::int64_t>::min();

// Whether a task of main, a reader of the datum, misses `others` operands besides it.
bool misses_besides(const TaskRecord& record, const DataOnNode& at, NodeIndex node,
                    std::uint32_t others) {
  const TaskOnNode& here = record.nodes[node];
  return here.can_run && at.missing_besides(here.missing) == others;
}

__extension__ using Wide = unsigned __int128;

// Of the ratio: the power of 4 that it lies above. 0: nothing is to be loaded.
int cost_class(std::int64_t transfer_ns, std::int64_t free_ns) {
  if (transfer_ns <= 0) return 0;
  constexpr int kShift = 62;  // the least ratio is 1 in 2^62
  const Wide ratio = (static_cast<Wide>(transfer_ns) << kShift) /
                     static_cast<Wide>(std::max<std::int64_t>(free_ns, 1));
  int power = 1;
  for (Wide rest = ratio; rest >= 4; rest >>= 2) ++power;
  return power;
}

// `highest` is never too low: the search ends where it is met again.
void make_exact(int& highest, const DataOnNode& at, NodeIndex node, std::uint32_t others) {
  int found = std::numeric_limits<int>::min();
  for (const Use* use = at.data->in_main.head; use != nullptr; use = use->next) {
    if (!misses_besides(*use->task, at, node, others)) continue;
    found = std::max(found, use->task->task->priority);
    if (found == highest) return;
  }
  highest = found;
}

}  // namespace

std::int64_t highest_priority(DataOnNode& at, NodeIndex node) {
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

// Alg. 3 of the paper, which assumes that loading some datum is what lets tasks start, comes last:
//  - A task of main that misses nothing is planned at once, by priority. It is one whose operands
//    came for the sake of different other tasks; no absent datum would lead to it.
//  - A node's first choice is by priority, and so is a choice where nothing is absent.
bool Selection::plan_some(WorkerId worker) {
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
  if (best != nullptr && best->free_tasks > 0 && plan_free_tasks(*best, worker, node)) return true;
  if (best != nullptr && best->free_tasks == 0 && best->near_tasks > 0 &&
      plan_near_task(*best, worker, node)) {
    return true;
  }
  return plan_by_priority(worker, node);
}

bool Selection::plan_ready(WorkerId worker, NodeIndex node) {
  if (!ledger_.begin_look(node)) return false;
  const auto wanted = [&](const TaskRecord& record) {
    return record.nodes[node].missing == 0 && !ledger_.is_left(record) &&
           ledger_.nodes().can_run(record, worker);
  };
  TaskRecord* const ready = ledger_.main().find_first(wanted);
  if (ready == nullptr) return false;
  if (explanation_.heard()) explain_ready(*ready, worker, wanted);
  plan(*ready, worker, node);
  return true;
}

// Lexicographic: least time to load it per time of the tasks that sets free; most free tasks; highest priority; most
// near tasks; most work left that uses it. The paper compares the first exactly. Where times or sizes vary, the first
// criterion alone then decides, by chance ("Times that differ a little" in docs/performance.md). So ratios are compared
// by powers of 4, unless the setting `cost` says exact.
bool Selection::is_better(DataOnNode& a, DataOnNode& b, NodeIndex node) {
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
std::strong_ordering Selection::costs(DataOnNode& a, DataOnNode& b, NodeIndex node) {
  const std::int64_t transfer_a = ledger_.transfer_ns(a, node);
  const std::int64_t transfer_b = ledger_.transfer_ns(b, node);
  if (!exact_) return cost_class(transfer_a, a.free_ns) <=> cost_class(transfer_b, b.free_ns);
  return static_cast<Wide>(transfer_a) * static_cast<Wide>(b.free_ns) <=>
         static_cast<Wide>(transfer_b) * static_cast<Wide>(a.free_ns);
}

// In the order of the datum's list, newest first. False: all are left to faster nodes.
bool Selection::plan_free_tasks(DataOnNode& best, WorkerId worker, NodeIndex node) {
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

bool Selection::plan_near_task(DataOnNode& best, WorkerId worker, NodeIndex node) {
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
bool Selection::plan_by_priority(WorkerId worker, NodeIndex node) {
  if (!ledger_.begin_look(node)) return false;
  const auto wanted = [&](const TaskRecord& record) {
    return !ledger_.is_left(record) && ledger_.nodes().can_run(record, worker);
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
void Selection::plan_with_operands(TaskRecord& record, WorkerId worker, NodeIndex node) {
  for (const Use& use : record.uses) ledger_.unlist(use.data->nodes[node], node);
  plan(record, worker, node);
}

void Selection::plan(TaskRecord& record, WorkerId worker, NodeIndex node) {
  ledger_.plan(record, node);
  if (!ledger_.nodes().can_run(record, worker)) ledger_.wake_for(record, node);
}

// --- what is told of tasks of main that are planned

// The next ones, too, as far as a short look finds some.
void Selection::explain_ready(const TaskRecord& chosen, WorkerId worker,
                              const std::function<bool(const TaskRecord&)>& wanted) const {
  const Decisions& decisions = explanation_.decisions();
  trace::Decision decision =
      decisions.asked_by(worker, trace::Reason::misses_nothing, trace::Among::tasks);
  std::size_t looks = 0;
  ledger_.main().find_first([&](const TaskRecord& record) {
    if (!decision.winner && &record != &chosen) return false;
    if (wanted(record)) decision.consider(explanation_.scored(record, worker), &record == &chosen);
    return ++looks == trace::Decision::kMostListed;
  });
  decisions.tell(std::move(decision));
}

void Selection::explain_near(const DataOnNode& best, const TaskRecord& chosen,
                             WorkerId worker) const {
  const Decisions& decisions = explanation_.decisions();
  const NodeIndex node = ledger_.nodes().of(worker);
  trace::Decision decision =
      decisions.asked_by(worker, trace::Reason::nearly_free, trace::Among::tasks);
  decision.handle = best.data->handle->id;
  for (const Use* use = best.data->in_main.head; use != nullptr; use = use->next) {
    if (!misses_besides(*use->task, best, node, 1)) continue;
    if (ledger_.is_left_to_faster(*use->task, node)) continue;
    decision.consider(explanation_.scored(*use->task, worker), use->task == &chosen);
  }
  decisions.tell(std::move(decision));
}

void Selection::explain_fewest(const TaskRecord& first, const TaskRecord& chosen,
                               WorkerId worker) const {
  const Decisions& decisions = explanation_.decisions();
  trace::Decision decision =
      decisions.asked_by(worker, trace::Reason::misses_fewest, trace::Among::tasks);
  decision.consider(explanation_.scored(first, worker), &first == &chosen);
  if (&first != &chosen) decision.consider(explanation_.scored(chosen, worker), true);
  decisions.tell(std::move(decision));
}

}  // namespace vicinal::sched::darts
