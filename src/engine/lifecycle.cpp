// The way of a task, from top to bottom: submit, ready, scheduled, fetching, runnable, running, done.
// One short function per step; each asks one room. The compiler is told to make one function of the
// steps that every task takes (flatten: a tenth of the instructions of an empty task) and to leave out
// those that few take (noinline).
#include "engine/lifecycle.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "base/nested_error.hpp"
#include "base/processor.hpp"
#include "base/sure_memory.hpp"
#include "engine/kinds/scratch.hpp"
#include "engine/task_state.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

using graph::ReadyList;
using graph::Task;
using graph::TaskState;
using trace::Category;

namespace {
bool has_stopped(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Cancelled&) {
    return true;
  } catch (...) {
    return false;
  }
}

// Of tasks that are new to a policy that plans on: fewer wait until somebody waits.
constexpr std::size_t kWorthASlice = 64;

// Of the thread: the innermost task on its stack.
thread_local const InTask* in_task = nullptr;

// Makes a task the innermost one of its thread, for the life of this object.
class Inside {
 public:
  Inside(const void* engine, WorkerId worker, graph::ReadyList* cancelled = nullptr)
      : self_{engine, worker, cancelled, in_task} {
    in_task = &self_;
  }
  ~Inside() { in_task = self_.outer; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  const InTask self_;
};
}  // namespace

// --- submit: graph says what it waits for ---------------------------------------------------

Task& Engine::new_task(WorkerId worker, std::size_t accesses) {
  const std::size_t thread = counters_.index(worker);
  if (!counters_.shared(thread)) return take_slot(thread, accesses, true);
  return take_shared_slot(thread, accesses);
}

[[gnu::noinline]] Task& Engine::take_shared_slot(std::size_t thread, std::size_t accesses) {
  const std::lock_guard lock(counters_.shared_lock());
  return take_slot(thread, accesses, true);
}

[[gnu::noinline]] void Engine::discard(Task& task, WorkerId worker) {
  // Under no lock: what it holds is the application's.
  if (task.extension) {
    task.extension->on_end = nullptr;
    if (task.extension->outer != nullptr) task.extension->outer->inner_ended(Outcome::done);
    if (task.extension->has_scratch) scratch_->give_back(task);
  }
  if (is_counted(task.kind)) {
    const std::size_t thread = counters_.index(worker);
    std::unique_lock lock(counters_.shared_lock(), std::defer_lock);
    if (counters_.shared(thread)) lock.lock();
    counters_.count_submitted(thread, -1);
  }
  retire(task, worker);
  notify_waiters();  // who may have seen it counted
}

// True: it is ready.
template <bool insert(Task&)>
inline bool Engine::enter(Task& task, std::span<const TaskId> after) {
  if constexpr (insert != graph::insert_announced) move(task, TaskState::submitted);
  if (!after.empty()) return enter_after<insert>(task, after);
  task.blocked.store(1, std::memory_order_relaxed);
  if (records(Category::submission)) [[unlikely]]
    record_submitted(task, after);
  return insert(task);
}

template <bool insert(Task&)>
[[gnu::noinline]] bool Engine::enter_after(Task& task, std::span<const TaskId> after) {
  if constexpr (insert != graph::insert_announced) {
    for (const TaskId before : after) precedences_.check(before, task);
  }
  task.blocked.store(2, std::memory_order_relaxed);
  if (records(Category::submission)) [[unlikely]]
    record_submitted(task, after);
  insert(task);
  for (const TaskId before : after) precedences_.add(before, task);
  return task.blocked.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

// What an invalidation leaves without content must be written by what follows.
inline bool Engine::enter_new(Task& task, std::span<const TaskId> after) {
  const bool voids = task.kind == graph::TaskKind::invalidation;
  return voids ? enter<graph::insert_invalidation>(task, after) : enter<graph::insert>(task, after);
}

// Submissions are noted for the plan in the order in which the graph takes them.
bool Engine::enter_noted(Task& task, std::span<const TaskId> after) {
  if (!log_) return enter_new(task, after);
  const std::lock_guard lock(log_->order());
  log_->prepare(task, after);
  const bool is_ready = enter_new(task, after);
  log_->append();
  return is_ready;
}

// It is refused no more: where there is no memory to note it, it is not planned.
bool Engine::enter_announced(Task& task, std::span<const TaskId> after) {
  if (!log_) return enter<graph::insert_announced>(task, after);
  const std::lock_guard lock(log_->order());
  bool is_noted = true;
  try {
    log_->prepare(task, after);
  } catch (const std::bad_alloc&) {
    is_noted = false;
  }
  const bool is_ready = enter<graph::insert_announced>(task, after);
  if (is_noted) log_->append();
  return is_ready;
}

[[gnu::flatten]] TaskId Engine::submit(Task& task, std::span<const TaskId> after, WorkerId worker) {
  const TaskId id = graph::TaskPool::id(task);  // the task may have ended before submit returns
  bool is_ready = false;
  try {
    is_ready = enter<graph::insert>(task, after);
  } catch (...) {
    discard(task, worker);
    throw;
  }
  if (is_ready && !hand_on_at_once(task, worker, Releaser::goes_on)) [[unlikely]] {
    ReadyList ready;
    ready.append(task);
    make_ready(ready, worker, Releaser::goes_on);
  }
  return id;
}

[[gnu::noinline]] TaskId Engine::submit(Task& task, std::span<const TaskId> after, WorkerId worker,
                                        const When& when) {
  const TaskId id = graph::TaskPool::id(task);
  if (when.step == When::Step::announced) {
    if (enter_announced(task, after)) go_on_announced(task, worker, when.later);
    return id;
  }
  bool is_ready = false;
  try {
    if (when.step == When::Step::announcement) {
      for (const TaskId before : after) precedences_.check(before, task);
      graph::announce(task, when.leaves);
      move(task, TaskState::submitted);
      return id;
    }
    is_ready = enter_noted(task, after);
  } catch (...) {
    // With the task goes what its on_end holds, which is the application's.
    if (when.order != nullptr) when.order->unlock();
    discard(task, worker);
    throw;
  }
  if (when.order != nullptr) when.order->unlock();
  if (is_ready) {
    ReadyList ready;
    ready.append(task);
    make_ready(ready, worker, Releaser::goes_on);
  }
  plan_new(kWorthASlice);
  look_at_gear();
  return id;
}

// `later`: null, or its caller has a lock by which submissions are ordered.
void Engine::go_on_announced(Task& task, WorkerId worker, ReadyList* later) {
  if (hand_on_at_once(task, worker, Releaser::goes_on)) return;
  if (later != nullptr) return later->append(task);
  ReadyList ready;
  ready.append(task);
  make_ready(ready, worker, Releaser::goes_on);
}

// --- ready: the policy takes it -------------------------------------------------------------

// A task that begins to be cancelled only now is so when a worker gets it.
inline bool Engine::hand_on_at_once(Task& task, WorkerId releasing, Releaser then) {
  bool restricted = false;
  if (task.extension) {  // every task of another kind has one
    if (!is_scheduled(task.kind) || is_taken_over(task)) return false;
    restricted = task.is_bound();
  }
  if (task.commutes || must_cancel(task)) [[unlikely]]
    return false;
  move(task, TaskState::ready);
  hand_to_policy(task, releasing);
  sleepers_.wake_for(1, restricted, releasing, then);
  grant_fresh_prefetches();
  return true;
}

void Engine::make_ready(ReadyList& list, WorkerId releasing, Releaser then) {
  std::size_t pushed = 0;
  bool restricted = false;
  ReadyList taken_over;
  while (Task* task = list.take()) {
    // It waits for others on, and may be ready elsewhere by now.
    if (task->commutes && !graph::take_turns(*task, list)) [[unlikely]]
      continue;
    move(*task, TaskState::ready);
    if (is_cancellable(task->kind) && must_cancel(*task)) {
      cancel_at_once(*task, releasing, list);
    } else if (!is_scheduled(task->kind)) {
      run_in_place(*task);
    } else if (is_taken_over(*task)) {
      taken_over.append(*task);
    } else {
      if (task->is_bound()) restricted = true;
      hand_to_policy(*task, releasing);
      ++pushed;
    }
  }
  if (pushed > 0) sleepers_.wake_for(pushed, restricted, releasing, then);
  grant_fresh_prefetches();
  while (Task* task = taken_over.take()) kind_of(*task).ready(*task);
}

[[gnu::noinline]] void Engine::run_in_place(Task& task) {
  move(task, TaskState::running);
  kind_of(task).ready(task);
}

// Whose rules are another runtime's saves it, as that one does.
[[gnu::noinline]] void Engine::begin_overwriting(const Task& task) const {
  if (task.kind != graph::TaskKind::compute || config_.rules.any()) return;
  for (const graph::Access& access : task.accesses()) {
    if (access.mode != AccessMode::W || access.handle->on.valid.get() == 0) continue;
    access.handle->overwritten_next.store(true, std::memory_order_release);
  }
}

[[gnu::noinline]] void Engine::end_overwriting(const Task& task) {
  for (const graph::Access& access : task.accesses()) {
    if (access.mode != AccessMode::W) continue;
    access.handle->overwritten_next.store(false, std::memory_order_release);
  }
}

// What the policy had no memory to take: the run is cancelled, and these with it, by a worker that was woken for it.
[[gnu::noinline]] void Engine::end_refused(WorkerId worker) {
  ReadyList refused = gate_.take_refused();
  for (const Task* task = refused.head; task != nullptr; task = task->next) ready_.remove(*task);
  end_cancelled(refused, worker);
}

// Inside an on_end it ends after that: one that submits again would otherwise lie on the stack of the
// next, as often as it does.
[[gnu::noinline]] void Engine::cancel_at_once(Task& task, WorkerId releasing, ReadyList& list) {
  for (const InTask* at = in_task; at != nullptr; at = at->outer) {
    if (at->engine != this || at->cancelled == nullptr) continue;
    // It becomes ready once more.
    task.state.store(TaskState::submitted, std::memory_order_relaxed);
    return at->cancelled->append(task);
  }
  record_end(task, releasing, Outcome::cancelled);
  end(task, releasing, Outcome::cancelled, list);
  notify_waiters();  // no worker need be awake that would do so when it finds nothing
}

// --- scheduled: the policy gives it to a worker ---------------------------------------------

Task* Engine::pop(WorkerId worker) {
  if (ready_.all_for_others(worker)) return nullptr;
  Task* task = gate_.pop(worker);
  if (task == nullptr) return nullptr;
  ready_.remove(*task);
  move(*task, TaskState::scheduled);
  prefetch_requests_.forget(*task);
  if (eligibility_.is_confined(*task)) confined_.fetch_sub(1, std::memory_order_relaxed);
  return task;
}

Task* Engine::pull(WorkerId worker) {
  while (Task* task = pop(worker)) {
    if (!errors_.cancels(*task)) [[likely]]
      return task;
    end_one_cancelled(*task, worker);
  }
  if (gate_.any_refused()) end_refused(worker);
  return nullptr;
}

inline Task* Engine::next(WorkerId worker) {
  if (pulls_) [[likely]]
    return pull(worker);
  return contention_.active() ? next_by_contention(worker) : next_by_memory(worker);
}

[[gnu::noinline, gnu::flatten]] Task* Engine::next_by_memory(WorkerId worker) {
  LookAhead& ahead = *look_aheads_[node_of(worker).value];
  if (ahead.bypassed() && !producers_.any_throttled()) {
    Task* const task = pull(worker);
    grant_fresh_prefetches();
    if (task == nullptr) return move_from_peer(worker) ? take_from_look_ahead(worker) : nullptr;
    if (pin_or_keep(*task, node_of(worker))) return task;
  }
  return take_from_look_ahead(worker);
}

// True: its operands are all here. A task that lacks one begins a look-ahead.
bool Engine::pin_or_keep(Task& task, NodeId node) {
  // It is lent what it works on there.
  const std::size_t pinned = task.reduces() ? 0 : residency_.pin_first(task, node);
  if (pinned == task.accesses().size()) {
    if (producers_.active()) producers_.begin(task);
    return true;
  }
  memory::Actions actions;
  residency_.unpin_first(task, node, pinned, actions);
  {
    LookAhead& ahead = *look_aheads_[node.value];
    const std::lock_guard lock(ahead.mutex());
    ahead.disturb();
    keep_or_hold(ahead, task);
  }
  perform(actions);
  return false;
}

// --- fetching: memory makes room and copies (refill.cpp, look_ahead.cpp) ---------------------

[[gnu::noinline]] Task* Engine::take_from_look_ahead(WorkerId worker) {
  const NodeId node = node_of(worker);
  LookAhead& ahead = *look_aheads_[node.value];
  for (;;) {
    memory::Actions actions;
    ReadyList cancelled;
    Task* found = nullptr;
    bool at_once = false;
    bool all_asked = false;
    bool offers = false;
    bool has_one = false;
    bool reached = false;
    {
      const std::lock_guard lock(ahead.mutex());
      ahead.lend_copies();
      offers = refill(ahead, worker, cancelled);
      found = ahead.take_runnable(worker, actions, cancelled);
      reached = found == nullptr && reach_confined(ahead, worker, cancelled);
      at_once = ahead.ask_firmly(worker, found != nullptr, actions);
      all_asked = ahead.prefetch(actions);
      has_one = found == nullptr && ahead.has_one_for(worker);
    }
    if (all_asked) prefetch_requests_.grant(node, actions);
    if (offers) sleepers_.wake_a_peer_of(node);
    if (found != nullptr && ahead.starts_in_order()) sleepers_.wake_node(node);
    const bool released = cancelled.head != nullptr;
    const bool performs = !actions.empty();
    perform(actions);
    end_cancelled(cancelled, worker);
    grant_fresh_prefetches();
    if (gate_.any_refused()) end_refused(worker);
    look_at_gear();
    if (found != nullptr) return found;
    if (at_once || released || reached || (performs && has_any_ended(ahead, worker))) continue;
    if (has_one || !move_from_peer(worker)) return nullptr;
  }
}

// --- runnable, running: the driver of the worker --------------------------------------------

// To sleep and to be woken takes longer than a small task, so some microseconds are worth waiting for
// the next. Looking ever less often leaves the lines that are looked at to those who write them.
[[gnu::noinline]] Task* Engine::look_for_a_while(WorkerId worker) {
  if (config_.simulated) return nullptr;
  if (!contention_.active()) return look_again_and_again(worker);
  Task* const task = contention_.may_poll() ? look_again_and_again(worker) : nullptr;
  contention_.has_polled();
  return task;
}

Task* Engine::look_again_and_again(WorkerId worker) {
  constexpr int kLooks = 5;
  for (int look = 0; look < kLooks; ++look) {
    for (int pauses = 16 << look; pauses > 0; --pauses) base::pause();
    if (Task* task = next(worker)) return task;
  }
  return nullptr;
}

// For a worker that has found nothing. Null: it sleeps.
[[gnu::noinline]] Task* Engine::look_further(WorkerId worker, std::uint64_t performances_before) {
  Task* task = gate_.has_deferred() ? next_after_slices(worker) : nullptr;
  if (task == nullptr) task = look_for_a_while(worker);
  if (task != nullptr) return task;
  // Says that it sleeps, then looks once more: whoever pushes later sees it asleep (see Sleepers). In simulation
  // nobody pushes meanwhile, and only the actions of the look can bring the worker a task now; a copy that the look
  // queued behind others wakes the worker at its end.
  sleepers_.fall_asleep(worker);
  const bool in_vain = config_.simulated && performances_ == performances_before;
  task = in_vain ? nullptr : next(worker);
  if (task == nullptr && gate_.has_deferred()) task = next_after_slices(worker);
  if (task == nullptr) {
    counters_.begin_idle(worker);
    notify_waiters(worker);
    return nullptr;
  }
  sleepers_.rouse(worker);
  return task;
}

[[gnu::noinline]] void Engine::look_around(WorkerId worker) {
  if (counters_.look_around(worker)) notify_waiters(worker);
}

[[gnu::flatten]] bool Engine::advance(WorkerId worker) {
  sleepers_.rouse(worker);
  const std::uint64_t before = performances_;
  Task* task = next(worker);
  if (task == nullptr) [[unlikely]] {
    task = look_further(worker, before);
    if (task == nullptr) return false;
  }
  counters_.end_idle(worker);
  if (counters_.begin_next(worker)) [[unlikely]]
    look_around(worker);
  move(*task, TaskState::runnable);
  if (task->reduces() && trivial_ && !begin_in_place(*task, worker)) [[unlikely]]
    return true;
  start(*task, worker);
  return true;
}

void Engine::start(Task& task, WorkerId worker) {
  move(task, TaskState::running);
  counters_.begin_run(worker, task);
  const Inside inside(this, worker);
  graph::warm_successors(task);
  if (watches_runs()) [[unlikely]]
    begin_watched(task, worker);
  drivers_.of(worker).start_task(task, worker);
}

// The worker's own pools are its thread's.
void Engine::call_apart(base::FunctionRef<void()> kernel) {
  const Inside inside(this, kNoWorker);
  kernel();
}

const InTask* Engine::inside_task() const {
  const InTask* at = in_task;
  while (at != nullptr && at->engine != this) at = at->outer;
  return at;
}

const InTask* this_threads_task() {
  return in_task;
}

// --- done: memory takes note of what was written, graph releases the successors -------------

// It may have been asked to stop.
[[gnu::noinline]] Outcome Engine::end_early(const Task& task, const std::exception_ptr& error) {
  if (errors_.cancels(task) && has_stopped(error)) return Outcome::cancelled;
  errors_.fail(task, error);
  return Outcome::failed;
}

[[gnu::flatten]] void Engine::task_done(Task& task, WorkerId worker, std::exception_ptr error,
                                        std::optional<Time> run_time) {
  ReadyList ready;
  if (!error && ends_plainly(task)) [[likely]] {
    counters_.end_run(worker, task);
    end_as<Ends::plainly>(task, worker, Outcome::done, ready);
  } else {
    end_run(task, worker, error, run_time, ready);
  }
  Task* const first = ready.head;
  if (first == nullptr) return grant_fresh_prefetches();  // of a push that found the policy busy
  if (first->next != nullptr || !hand_on_at_once(*first, worker, Releaser::asks)) {
    make_ready(ready, worker);
  }
}

[[gnu::noinline, gnu::flatten]] void Engine::end_run(Task& task, WorkerId worker,
                                                     const std::exception_ptr& error,
                                                     std::optional<Time> run_time,
                                                     ReadyList& ready) {
  const Outcome outcome = error ? end_early(task, error) : Outcome::done;
  if (contention_.active()) leave_memory(task, worker);
  if (watches_runs()) [[unlikely]]
    end_watched(task, worker, outcome, run_time);
  counters_.end_run(worker, task);
  if (!trivial_) {
    if (overwrites(task)) end_overwriting(task);
    const NodeId node = node_of(worker);
    if (!residency_.only_valid_here(task, node)) {
      memory::Actions actions;
      residency_.written(task, node, actions);
      perform(actions);
    }
    if (!residency_.unpin_at_once(task, node)) {
      memory::Actions actions;
      residency_.settle(task, node, actions);
      perform(actions);
    }
  }
  end(task, worker, outcome, ready);
}

// What a failed task wrote is poisoned, until a task writes it anew without reading it.
inline void Engine::leave_or_lift_poison(const Task& task, Outcome outcome) {
  if (outcome == Outcome::done && errors_.none_yet()) return;
  if (outcome != Outcome::done) errors_.note_poison();
  if (outcome == Outcome::cancelled) errors_.note_cancelled(task);
  if (outcome != Outcome::done) end_overwriting(task);
  for (const graph::Access& access : task.accesses()) {
    if (!writes(access.mode)) {
      if (access.mode == AccessMode::reduction && outcome != Outcome::done) {
        access.handle->poisoned.store(true, std::memory_order_relaxed);
      }
      continue;
    }
    // Only a store that changes something: whoever uses the handle reads that line.
    const bool poisoned = access.handle->poisoned.load(std::memory_order_relaxed);
    const bool now_poisoned = outcome != Outcome::done || (poisoned && reads(access.mode));
    if (poisoned != now_poisoned) {
      access.handle->poisoned.store(now_poisoned, std::memory_order_relaxed);
      if (!now_poisoned) errors_.note_written(*access.handle);
    }
  }
}

// Every task ends here, also the cancelled ones: what it accessed passes to others.
//
// The policy hears of it before the graph does, so before any handle of the task can be forgotten. It
// may be busy and hear it late: the slot is free when both have done with the task.
template <Engine::Ends how>
[[gnu::always_inline]] inline void Engine::end_as(Task& task, WorkerId worker, Outcome outcome,
                                                  ReadyList& ready) {
  constexpr bool kPlainly = how == Ends::plainly;
  bool is_waited_for = false;  // room, or the group
  if (!kPlainly && task.extension && (task.reduces() || task.kind == graph::TaskKind::combination))
      [[unlikely]] {
    end_reduction(task, outcome);
    is_waited_for = true;
  }
  const bool was_planned =
      is_planned_ && !(task.extension && task.extension->recursive == Recursive::always);
  const bool was_told =
      was_planned || task.state.load(std::memory_order_relaxed) != TaskState::ready;
  const bool shared = !kPlainly && is_scheduled(task.kind) && was_told && gate_.wants_ends();
  const bool keeps_accounts = !kPlainly && producers_.active();
  const bool was_in_flight = keeps_accounts && is_in_flight(task);
  move(task, TaskState::done);
  if (shared) {
    gate_.task_done(task, worker);
  }
  if (!kPlainly) leave_or_lift_poison(task, outcome);
  const bool is_last =
      !kPlainly && !trivial_ && uses_data(task.kind) && residency_.has_last_use(task);
  const bool relieves = keeps_accounts && producers_.concerned_by(task);
  const bool uses_end = is_last || relieves;
  if (uses_end) performing_.fetch_add(1, std::memory_order_acq_rel);  // no handle is forgotten
  graph::release(task, ready);
  if (uses_end) {
    if (is_last) note_unused(task);
    if (relieves) producers_.note_end(task, was_in_flight);
    performing_.fetch_sub(1, std::memory_order_acq_rel);
  }
  if (keeps_accounts && producers_.any_throttled()) sleepers_.wake_node(kRam);
  precedences_.end_life(task, ready);
  if (!kPlainly && config_.count_bytes && is_scheduled(task.kind)) {
    counters_.count_bytes(task, worker);
  }
  if (!kPlainly && task.extension) {
    if (task.extension->has_scratch) scratch_->give_back(task);
    if (task.extension->on_end || task.extension->outer != nullptr) {
      call_on_end(task, worker, outcome, ready);
    }
    graph::GroupCount* const group = task.extension->group;
    if (group != nullptr && graph::GroupCount::end_one(*group)) is_waited_for = true;
  }
  // Counted after on_end, which may submit more: whoever waits waits for that, too.
  if (worker != kNoWorker || is_counted(task.kind)) {
    counters_.count_ended(worker, outcome);
    if (!kPlainly && task.is_own() && outcome == Outcome::done) [[unlikely]]
      counters_.count_own_done();
  }
  if (is_waited_for) notify_waiters();
  if (!shared || let_slot_go(task)) retire(task, worker);
}

// What it has written may be read while it goes on.
[[gnu::noinline]] void Engine::share(Task& task) {
  leave_or_lift_poison(task, Outcome::done);
  ReadyList ready;
  for (graph::Access& access : task.accesses()) {
    if (writes(access.mode)) graph::downgrade(access, ready);
  }
  if (ready.head != nullptr) make_ready(ready, kNoWorker);
}

// What nobody submitted uses any more may go first from now on.
[[gnu::noinline]] void Engine::note_unused(const Task& task) {
  memory::Actions actions;
  residency_.note_unused(task, actions);
  perform(actions);
}

[[gnu::flatten]] void Engine::end(Task& task, WorkerId worker, Outcome outcome, ReadyList& ready) {
  end_as<Ends::in_any_way>(task, worker, outcome, ready);
}

// It counts as inside the task, wherever the task ends: it may submit, but not wait.
[[gnu::noinline]] void Engine::call_on_end(Task& task, WorkerId worker, Outcome outcome,
                                           ReadyList& ready) {
  ReadyList cancelled;
  const Inside inside(this, worker, &cancelled);
  try {
    // What it has captured goes before the task counts as ended, and under no lock.
    const auto on_end = std::move(task.extension->on_end);
    if (on_end) on_end(outcome);
  } catch (const std::exception& error) {
    errors_.report(base::make_nested_error<TaskError>(std::current_exception(), [&] {
      return "task " + std::string(task.name()) + ": its on_end threw: " + error.what();
    }));
  } catch (...) {
    errors_.report(base::make_nested_error<TaskError>(std::current_exception(), [&] {
      return "task " + std::string(task.name()) +
             ": its on_end threw something that is no std::exception";
    }));
  }
  if (task.extension->outer != nullptr) task.extension->outer->inner_ended(outcome);
  while (Task* next = cancelled.take()) ready.append(*next);
}

[[gnu::noinline]] void Engine::end_one_cancelled(Task& task, WorkerId worker) {
  ReadyList cancelled;
  cancelled.append(task);
  end_cancelled(cancelled, worker);
}

[[gnu::noinline]] void Engine::end_cancelled(ReadyList& list, WorkerId worker) {
  ReadyList ready;
  while (Task* task = list.take()) {
    record_end(*task, worker, Outcome::cancelled);
    end(*task, worker, Outcome::cancelled, ready);
  }
  if (ready.head != nullptr) make_ready(ready, worker);
}

// The slot is free for another task. Release: who sees it free sees that this life has ended (TaskPool::has_begun).
void Engine::retire(Task& task, WorkerId worker) {
  task.state.store(TaskState::free, std::memory_order_release);
  const std::size_t thread = counters_.index(worker);
  if (worker != kNoWorker || !counters_.shared(thread)) return pool_.give_back(task, thread);
  const std::lock_guard lock(counters_.shared_lock());
  pool_.give_back(task, thread);
}

}  // namespace vicinal::engine
