// How many tasks are pulled, which of them starts next, what is prefetched for them, and when one moves to
// another node. How a look-ahead is set up is in look_ahead_setup.cpp.
#include "engine/look_ahead.hpp"

#include <algorithm>
#include <utility>

#include "engine/decisions.hpp"
#include "engine/task_state.hpp"

namespace vicinal::engine {

using graph::ReadyList;
using graph::Task;
using graph::TaskState;
using memory::RequestState;

namespace {

RequestState state_of(const memory::Request& request) {
  return request.state.load(std::memory_order_acquire);
}
bool has_ended(const memory::Request& request) {
  const RequestState state = state_of(request);
  return state == RequestState::ready || state == RequestState::failed;
}

std::string_view to_string(RequestState state) {
  constexpr std::string_view names[] = {"looked at early", "waits for room", "being copied in",
                                        "can start", "could not be copied in"};
  return names[static_cast<std::size_t>(state)];
}

}  // namespace

// --- how many

// As far as the look-ahead goes, but not so far that the operands of what waits would push out what the tasks in flight
// and their successors use: a quarter of the node. On an accelerator the look-ahead goes further, to `least_` tasks,
// while the pulled tasks run shorter than copies take and claim less than three eighths of the node.
// docs/performance.md has numbers for both.
bool LookAhead::wants_more(WorkerId worker) {
  if (window_ > 0 && fills_window(worker)) return false;
  const std::size_t depth = calm() ? 1 : depth_;
  const bool full = pulled_.size() >= depth;
  const bool enough = pulled_.size() > workers_.ids.size() && most_claimed_ &&
                      claimed_ > *most_claimed_ && hides_copies();
  if (!full && !enough && !lasts(worker)) return true;
  // One that it can run, at least: the others' tasks may be bound to them, and when they have gone
  // nobody would wake this worker.
  if (!has_one_for(worker)) return without_copy_.load(std::memory_order_relaxed) < kMostWithoutCopy;
  // Not while calm: it looks further ahead as soon as something has to be copied.
  if (!calm() && workers_.ids.size() == 1) sleepers_.set_satisfied(node_, true);
  return false;
}

// The worker has a task, so that it asks again.
bool LookAhead::fills_window(WorkerId worker) const {
  std::size_t in_flight = pulled_.size();
  for (const WorkerId each : workers_.ids) in_flight += counters_.started(each);
  return in_flight >= window_ && (counters_.started(worker) > 0 || has_one_for(worker));
}

// While they run, the operands of the largest can come, and as many bytes leave to make room for them;
// or more tasks would do more harm than good.
bool LookAhead::hides_copies() {
  if (pulled_.size() >= least_ || claimed_ > most_to_hide_) return true;
  if (!hides_) {
    Bytes largest;
    for (const Entry* entry : pulled_) largest = std::max(largest, entry->working_set);
    const auto workers = static_cast<std::int64_t>(workers_.ids.size());
    hides_ = runs_.ns / workers >= duration(largest, bandwidth_).ns * 2;
  }
  return *hides_;
}

// Tasks are pulled so that their copies are made while others run. What is pulled runs longer than the copies
// for it and for what would come next: then the next can wait with the policy, where others find it, but for one
// in reserve per worker. Not even that if copies are short beside a task, also those of all its operands, which
// another node may have to make: a worker that has ended asks anew. Where
// copies take longer, and nodes share the way that they take, it is enough that this node has one to copy
// for: further copies would only wait for one another, and what they are for would fill the memory meanwhile.
// Not asked of a policy that has given its tasks to workers before: nobody else would find them.
bool LookAhead::lasts(WorkerId worker) const {
  constexpr double kMargin = 4;         // fetches of a task: the next ones may be larger
  constexpr double kNegligible = 0.02;  // of a task's time
  const std::size_t size = pulled_.size();
  if (!timed_ || unknown_ != 0 || size == 0) return false;
  const std::size_t workers = workers_.ids.size();
  const auto runs = static_cast<double>(runs_.ns);
  const double fetch = crowd_ * static_cast<double>(fetch_.ns);
  const double copies = crowd_ * static_cast<double>(copies_.ns) + kMargin * fetch;
  if (runs / static_cast<double>(workers) < copies) {
    return crowd_ > 1 && size > workers && waits_for_copies();
  }
  const bool asks = !counters_.idle(worker);
  if (size < workers_without_task() + (asks ? 1 : 0)) return false;
  if (size > workers) return true;
  Time anew;
  if (bandwidth_.value > 0) {
    for (const Entry* entry : pulled_) {
      anew = std::max(anew, duration(entry->working_set, bandwidth_));
    }
  }
  return std::max(fetch, crowd_ * static_cast<double>(anew.ns)) <=
         kNegligible * runs / static_cast<double>(size);
}

bool LookAhead::waits_for_copies() const {
  return std::ranges::any_of(pulled_, [](const Entry* entry) {
    return entry->copies.ns > 0 &&
           entry->request.state.load(std::memory_order_relaxed) != RequestState::ready;
  });
}

std::size_t LookAhead::workers_without_task() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      workers_.ids, [this](const WorkerId worker) { return counters_.idle(worker); }));
}

bool LookAhead::has_one_for(WorkerId worker) const {
  return std::ranges::any_of(pulled_,
                             [&](const Entry* entry) { return can_start(*entry, worker); });
}

// --- in and out

LookAhead::Entry& LookAhead::unused_entry() {
  if (unused_.empty()) unused_.push_back(&entries_.emplace_back());
  Entry& entry = *unused_.back();
  unused_.pop_back();
  return entry;
}

bool LookAhead::keep(Task& task) {
  move(task, TaskState::fetching);
  Entry& entry = unused_entry();
  entry.task = &task;
  entry.firm_for = kNoWorker;
  entry.request.kind = memory::RequestKind::task;
  entry.request.node = node_;
  entry.request.operands = task.accesses();
  entry.request.error = nullptr;
  entry.request.state.store(RequestState::idle, std::memory_order_relaxed);
  entry.lacks_copy = task.reduces() && !lend(entry);
  if (task.reduces() && !entry.lacks_copy) PrivateCopies::enter(task);
  entry.working_set = residency_.working_set(task, node_);
  entry.run_time = costs_.run_time(task, workers_.ids.front());
  entry.copies = timed_ ? costs_.copy_time(task, node_) : Time{0};
  entry.for_all = workers_.alike && !task.only_worker();
  entry.lacks = nullptr;
  runs_ += entry.run_time;
  if (entry.run_time.ns == 0) ++unknown_;
  copies_ += entry.copies;
  fetch_ = std::max(entry.copies, Time{fetch_.ns - fetch_.ns / 16});
  claimed_ += residency_.claim(task, node_);
  hides_.reset();
  none_for_ = kNoWorker;
  pulled_.push_back(&entry);
  size_.store(pulled_.size(), std::memory_order_relaxed);
  return pulled_.size() > workers_.ids.size();
}

// The count of tasks without a copy rises first, so that a thread which returns a private copy meanwhile wakes a
// worker.
bool LookAhead::lend(Entry& entry) {
  if (PrivateCopies::has_any(*entry.task)) return true;  // it has come from a peer
  without_copy_.fetch_add(1, std::memory_order_seq_cst);
  if (!private_.lend(*entry.task, node_)) return false;
  without_copy_.fetch_sub(1, std::memory_order_seq_cst);
  return true;
}

void LookAhead::lend_copies() {
  if (!any_without_copy()) return;
  const std::uint64_t returns = private_.returns();
  if (std::exchange(lent_at_, returns) == returns) return;
  for (Entry* const entry : pulled_) {
    if (!entry->lacks_copy || !private_.lend(*entry->task, node_)) continue;
    claimed_ -= residency_.unclaim(*entry->task, node_);
    PrivateCopies::enter(*entry->task);
    claimed_ += residency_.claim(*entry->task, node_);
    entry->lacks_copy = false;
    entry->lacks = nullptr;
    without_copy_.fetch_sub(1, std::memory_order_seq_cst);
    none_for_ = kNoWorker;
  }
}

Task* LookAhead::drop(std::size_t at) {
  Entry* const entry = pulled_[at];
  pulled_.erase(pulled_.begin() + static_cast<std::ptrdiff_t>(at));
  size_.store(pulled_.size(), std::memory_order_relaxed);
  sleepers_.set_satisfied(node_, false);
  if (entry->firm_for != kNoWorker) --firm_;
  if (std::exchange(entry->lacks_copy, false))
    without_copy_.fetch_sub(1, std::memory_order_seq_cst);
  if (at < complete_) --complete_;
  claimed_ -= residency_.unclaim(*entry->task, node_);
  runs_ = runs_ - entry->run_time;
  copies_ = copies_ - entry->copies;
  if (entry->run_time.ns == 0) --unknown_;
  hides_.reset();
  unused_.push_back(entry);
  return entry->task;
}

// --- which starts next

// Looks first at what was missing the last time: most often it still is.
bool LookAhead::still_lacks(Entry& entry) const {
  if (entry.lacks != nullptr && !stays(*entry.lacks)) return true;
  for (const graph::Access& access : entry.task->accesses()) {
    entry.lacks = &residency_.look_at(*access.handle, node_);
    if (!stays(*entry.lacks)) return true;
  }
  return false;
}

Task* LookAhead::take_runnable(WorkerId worker, memory::Actions& actions, ReadyList& cancelled) {
  const std::uint64_t gains = residency_.gains(node_);
  if (none_for_ == worker && none_at_ == gains && !errors_.cancels_any()) return nullptr;
  bool all_lack = true;  // or wait for their request
  StartDecision decision(context_, worker);
  for (std::size_t i = 0; i < pulled_.size();) {
    Entry& entry = *pulled_[i];
    const RequestState state = state_of(entry.request);
    if (state == RequestState::failed) {
      if (entry.request.error == residency_.broken()) errors_.cancel_broken(entry.request.error);
      errors_.cancel(entry.request.error);
      cancelled.append(*drop(i));
      continue;
    }
    if (errors_.cancels(*entry.task)) {
      residency_.withdraw(entry.request, actions);
      cancelled.append(*drop(i));
      continue;
    }
    const bool maybe = state == RequestState::ready ||
                       (state == RequestState::idle && !entry.lacks_copy && !still_lacks(entry));
    if (maybe && can_start(entry, worker)) {
      const bool here =
          state == RequestState::ready || residency_.try_pin(*entry.task, node_, actions);
      if (here) {
        calm_.fetch_add(1, std::memory_order_relaxed);
        decision.consider(*entry.task, true);
        return drop(i);
      }
      all_lack = false;  // until others use it no longer
    }
    decision.consider(*entry.task, false);
    if (in_order_ && can_start(entry, worker)) break;
    ++i;
  }
  if (all_lack) {
    none_for_ = worker;
    none_at_ = gains;
  }
  return nullptr;
}

// --- what is copied

// The entries with a firm request, until one is what is looked for.
template <typename Visit>
bool LookAhead::any_firm(Visit visit) const {
  std::size_t firm = firm_;
  for (auto entry = pulled_.begin(); firm > 0; ++entry) {
    if ((*entry)->firm_for == kNoWorker) continue;
    --firm;
    if (visit(**entry)) return true;
  }
  return false;
}

bool LookAhead::anything_ended(WorkerId worker) const {
  if (in_order_) {
    const auto first = std::ranges::find_if(
        pulled_, [&](const Entry* entry) { return can_start(*entry, worker); });
    return first != pulled_.end() && has_ended((*first)->request);
  }
  return any_firm(
      [&](const Entry& entry) { return has_ended(entry.request) && can_start(entry, worker); });
}

bool LookAhead::ask_firmly(WorkerId worker, bool found, memory::Actions& actions) {
  if (found && firm_each_ == 1) return false;
  std::size_t own = 0;
  any_firm([&](const Entry& entry) {
    if (entry.firm_for == worker) ++own;
    return false;
  });
  bool ended = false;
  for (std::size_t i = own; i < firm_each_; ++i) ended |= ask_for_one(worker, actions);
  return ended;
}

bool LookAhead::ask_for_one(WorkerId worker, memory::Actions& actions) {
  const auto entry = std::ranges::find_if(pulled_, [&](const Entry* waits) {
    return state_of(waits->request) == RequestState::idle && can_start(*waits, worker);
  });
  if (entry == pulled_.end()) return false;
  Entry& first = **entry;
  first.firm_for = worker;
  ++firm_;
  residency_.request(first.request, actions);
  return has_ended(first.request);
}

bool LookAhead::prefetch(memory::Actions& actions) {
  if (!prefetches_) return true;
  const std::uint64_t losses = residency_.losses(node_);
  if (complete_at_ != losses) {
    complete_ = 0;
    complete_at_ = losses;
  }
  const auto waits = [](const Entry* entry) {
    return state_of(entry->request) == RequestState::idle;
  };
  for (; complete_ < pulled_.size(); ++complete_) {
    const Entry* const entry = pulled_[complete_];
    if (!waits(entry)) continue;
    for (const graph::Access& access : entry->task->accesses()) {
      if (!reads(access.mode) || residency_.comes_or_stays(*access.handle, node_)) continue;
      if (!residency_.prefetch(*access.handle, node_, actions)) return false;
    }
  }
  if (most_kept_free_.value > 0) {
    Bytes largest;
    for (const Entry* entry : pulled_) {
      if (waits(entry)) largest = std::max(largest, room_for(*entry));
    }
    residency_.keep_free(node_, std::min(largest * 2, most_kept_free_), actions);
  }
  return true;
}

// That is kept free for it. Of results many: where each task makes one, the link that carries them away decides when
// there is room again (docs/performance.md, "How far to look ahead").
Bytes LookAhead::room_for(const Entry& entry) const {
  if (keeps_for_operands_) return entry.working_set;
  constexpr std::uint64_t kResults = 16;
  Bytes results;
  for (const graph::Access& access : entry.task->accesses()) {
    if (!reads(access.mode)) results += access.handle->bytes();
  }
  return results * kResults;
}

// --- to another node

Task* LookAhead::give_away(WorkerId to, memory::Actions& actions) {
  MoveDecision decision(context_, to);
  const std::size_t best = best_to_give(to, decision);
  if (best == pulled_.size()) return nullptr;
  graph::Task& moves = *pulled_[best]->task;
  // It goes where it is lent copies, so that none goes in vain, and back.
  const NodeId other = machine_.workers[to.value].node;
  const bool agreed =
      gate_.may_move(moves, to) && (!moves.reduces() || private_.lend(moves, other));
  decision.tell(*pulled_[best]->task, agreed);
  if (!agreed) return nullptr;
  residency_.withdraw(pulled_[best]->request, actions);
  Task* const task = drop(best);
  move(*task, TaskState::scheduled);
  return task;
}

// As many as its own workers wait for stay. Of the others the one whose copies take least, the last of
// such, if they take less than half of the time that it would wait here: others use the links, too. The number of
// all if there is none.
std::size_t LookAhead::best_to_give(WorkerId to, MoveDecision& decision) const {
  const NodeId other = machine_.workers[to.value].node;
  const auto workers = static_cast<std::int64_t>(workers_.ids.size());
  const std::size_t stay = workers_without_task();
  std::size_t best = pulled_.size();
  Time least;
  Time runs;   // of those before it
  Time loads;  // and of itself
  for (std::size_t i = 0; i < pulled_.size(); ++i) {
    const Entry& entry = *pulled_[i];
    const Time run = entry.run_time;
    // What its workers run now takes as long as it does, for all that is known.
    const Time until_free{(runs.ns + (stay == 0 ? run.ns : 0)) / workers};
    runs += run;
    loads += costs_.copy_time(*entry.task, node_);
    const bool failed = state_of(entry.request) == RequestState::failed;
    const bool is_lent = entry.task->reduces() && !entry.lacks_copy;
    if (i < stay || failed || is_lent || !eligibility_.can_run(*entry.task, to)) continue;
    const Time copies = costs_.copy_time(*entry.task, other);
    const Time wait = std::max(until_free, loads);
    decision.consider(*entry.task, copies, wait, run);
    if (run.ns > 0 && 2 * copies.ns >= wait.ns) continue;
    if (best != pulled_.size() && copies > least) continue;
    best = i;
    least = copies;
  }
  return best;
}

std::string LookAhead::describe() const {
  std::string text;
  for (const Entry* entry : pulled_) {
    text += "task " + std::string(entry->task->name()) + " on " + machine_.nodes[node_.value].name +
            ": " + std::string(to_string(state_of(entry->request))) + "\n";
  }
  return text;
}

}  // namespace vicinal::engine
