// The way of a task, from top to bottom: submit, ready, scheduled, fetching, runnable, running, done.
// One short function per step; each asks one room. The compiler is told to make one function of the
// steps that every task takes (flatten: a tenth of the instructions of an empty task) and to leave out
// those that few take (noinline).
#include "engine/lifecycle.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <utility>

#include "base/processor.hpp"
#include "base/sure_memory.hpp"
#include "engine/task_state.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

using graph::ReadyList;
using graph::Task;
using graph::TaskState;

namespace {
// Of the thread: the innermost task on its stack.
thread_local const InTask* in_task = nullptr;

// Is it while it lives.
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

// Counted before anybody else can know the task: it may have ended when insert returns.
inline Task& Engine::take_slot(std::size_t lane, std::size_t accesses, bool counts) {
  Task& task = pool_.take(lane, accesses);
  if (counts) count_submitted(lanes_[lane], 1);
  return task;
}

Task& Engine::new_task(WorkerId worker, std::size_t accesses) {
  const std::size_t index = lane_index(worker);
  if (!shared(index)) return take_slot(index, accesses, true);
  const std::lock_guard lock(external_lock_);
  return take_slot(index, accesses, true);
}

Task& Engine::new_acquisition(const char* what, bool counts) {
  auto extension = std::make_unique<graph::TaskExtension>();
  extension->name = what;
  extension->counts = counts;
  const std::size_t index = lane_index(kNoWorker);
  std::unique_lock lock(external_lock_, std::defer_lock);
  if (shared(index)) lock.lock();
  Task& task = take_slot(index, 1, counts);
  task.codelet = nullptr;
  task.priority = 0;
  task.access_count = 1;
  task.extension = std::move(extension);
  return task;
}

[[gnu::noinline]] void Engine::discard(Task& task, WorkerId worker) {
  // Under no lock: what it holds is the application's.
  if (task.extension) task.extension->on_end = nullptr;
  if (!task.extension || task.extension->counts) {
    const std::size_t index = lane_index(worker);
    std::unique_lock lock(external_lock_, std::defer_lock);
    if (shared(index)) lock.lock();
    count_submitted(lanes_[index], -1);
  }
  retire(task, worker);
  config_.notify_waiters();  // who may have seen it counted
}

// True: it is ready.
template <bool insert(Task&)>
inline bool Engine::enter(Task& task, std::span<const TaskId> after) {
  move(task, TaskState::submitted);
  task.blocked.store(after.empty() ? 1 : 2, std::memory_order_relaxed);
  for (const TaskId before : after) precedences_.check(before, task);
  const bool is_ready = insert(task);
  if (after.empty()) return is_ready;
  for (const TaskId before : after) precedences_.add(before, task);
  return task.blocked.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

bool Engine::insert(Task& task, std::span<const TaskId> after) {
  return enter<graph::insert>(task, after);
}

[[gnu::flatten]] TaskId Engine::submit(Task& task, std::span<const TaskId> after, WorkerId worker) {
  const TaskId id = graph::TaskPool::id(task);  // the task may have ended before submit returns
  bool is_ready = false;
  try {
    is_ready = insert(task, after);
  } catch (...) {
    discard(task, worker);
    throw;
  }
  if (is_ready) {
    ReadyList ready;
    ready.append(task);
    make_ready(ready, worker, Releaser::goes_on);
  }
  return id;
}

void Engine::announce(Task& task, std::span<const TaskId> after, graph::Content leaves) const {
  for (const TaskId before : after) precedences_.check(before, task);
  graph::announce(task, leaves);
}

void Engine::submit_announced(Task& task, std::span<const TaskId> after, WorkerId worker,
                              ReadyList& later) {
  if (!enter<graph::insert_announced>(task, after)) return;
  if (task.codelet == nullptr || must_cancel(task)) return later.append(task);
  // A task that begins to be cancelled only now is so when a worker gets it.
  const bool restricted = task.extension && task.extension->worker;
  move(task, TaskState::ready);
  gate_.push(task, worker);
  wake_for(1, restricted ? &task : nullptr, worker, Releaser::goes_on);
  grant_fresh_wishes();
}

void Engine::submit_invalidation(Task& task) {
  move(task, TaskState::submitted);
  task.blocked.store(1, std::memory_order_relaxed);
  bool is_ready = false;
  try {
    is_ready = graph::insert_invalidation(task);
  } catch (...) {
    discard(task, kNoWorker);
    throw;
  }
  if (!is_ready) return;
  ReadyList ready;
  ready.append(task);
  make_ready(ready, kNoWorker, Releaser::goes_on);
}

// --- ready: the policy takes it -------------------------------------------------------------

void Engine::make_ready(ReadyList& list, WorkerId releasing, Releaser then) {
  std::size_t pushed = 0;
  const Task* restricted = nullptr;
  while (Task* task = list.take()) {
    move(*task, TaskState::ready);
    if (task->codelet == nullptr && task->extension && task->extension->on_runnable) {
      move(*task, TaskState::running);
      // Taken out: whoever was waiting may end the task, and with it what lies in the task.
      const auto on_runnable = std::move(task->extension->on_runnable);
      on_runnable(*task);
    } else if (must_cancel(*task)) {
      cancel_at_once(*task, releasing, list);
    } else {
      if (task->extension && task->extension->worker) restricted = task;
      gate_.push(*task, releasing);
      ++pushed;
    }
  }
  if (pushed > 0) wake_for(pushed, restricted, releasing, then);
  grant_fresh_wishes();
}

// What the policy had no memory to take: the run is cancelled, and these with it, by a worker that was woken for it.
[[gnu::noinline]] void Engine::end_refused(WorkerId worker) {
  ReadyList refused = gate_.take_refused();
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
  end(task, releasing, Outcome::cancelled, list);
  config_.notify_waiters();  // no worker need be awake that would do so when it finds nothing
}

// --- scheduled: the policy gives it to a worker ---------------------------------------------

Task* Engine::pop(WorkerId worker) {
  Task* task = gate_.pop(worker);
  if (task == nullptr) return nullptr;
  move(*task, TaskState::scheduled);
  if (ever_wished_.load(std::memory_order_relaxed)) forget_wishes(*task);
  return task;
}

Task* Engine::pull(WorkerId worker) {
  while (Task* task = pop(worker)) {
    if (!cancelling()) return task;
    ReadyList cancelled;
    cancelled.append(*task);
    end_cancelled(cancelled, worker);
  }
  if (gate_.any_refused()) end_refused(worker);
  return nullptr;
}

Task* Engine::next(WorkerId worker) {
  if (trivial_) return pull(worker);
  const NodeId node = config_.machine.workers[worker.value].node;
  Window& window = windows_[node.value];
  if (window.size.load(std::memory_order_relaxed) == 0 &&
      window.calm.load(std::memory_order_relaxed) >= kCalm) {
    Task* task = pull(worker);
    grant_fresh_wishes();
    if (task == nullptr) return move_from_peer(worker) ? take_from_window(worker) : nullptr;
    const std::size_t pinned = residency_.pin_first(*task, node);
    if (pinned == task->accesses().size()) return task;
    memory::Actions actions;
    residency_.unpin_first(*task, node, pinned, actions);
    {
      const std::lock_guard lock(window.mutex);
      window.calm.store(0, std::memory_order_relaxed);
      keep(window, *task);
    }
    perform(actions);
  }
  return take_from_window(worker);
}

// --- fetching: memory makes room and copies (look_ahead.cpp) ---------------------------------

[[gnu::noinline]] Task* Engine::take_from_window(WorkerId worker) {
  Window& window = windows_[config_.machine.workers[worker.value].node.value];
  for (;;) {
    memory::Actions actions;
    ReadyList cancelled;
    Task* found = nullptr;
    bool at_once = false;
    bool all_asked = false;
    bool offers = false;
    bool has_one = false;
    {
      const std::lock_guard lock(window.mutex);
      offers = refill(window, worker, cancelled);
      found = take_runnable(window, worker, actions, cancelled);
      if (found != nullptr) window.calm.fetch_add(1, std::memory_order_relaxed);
      if (found == nullptr || window.firm_each > 1) {
        at_once = ask_firmly(window, worker, actions);
      }
      all_asked = copy_early(window, actions);
      has_one = found == nullptr && has_one_for(window, worker);
    }
    if (all_asked) grant_wishes(config_.machine.workers[worker.value].node, actions);
    if (offers) wake_a_peer(window);
    const bool released = cancelled.head != nullptr;
    const bool performs = !actions.empty();
    perform(actions);
    end_cancelled(cancelled, worker);
    grant_fresh_wishes();
    if (gate_.any_refused()) end_refused(worker);
    if (found != nullptr) return found;
    if (at_once || released || (performs && anything_ended(window, worker))) continue;
    if (has_one || !move_from_peer(worker)) return nullptr;
  }
}

// --- runnable, running: the driver of the worker --------------------------------------------

// To sleep and to be woken takes longer than a small task, so some microseconds are worth waiting for
// the next. Looking ever less often leaves the lines that are looked at to those who write them.
[[gnu::noinline]] Task* Engine::look_for_a_while(WorkerId worker) {
  if (config_.simulated) return nullptr;
  constexpr int kLooks = 5;
  for (int look = 0; look < kLooks; ++look) {
    for (int pauses = 16 << look; pauses > 0; --pauses) base::pause();
    if (Task* task = next(worker)) return task;
  }
  return nullptr;
}

[[gnu::flatten]] bool Engine::advance(WorkerId worker) {
  clear_idle(worker);
  const std::uint64_t before = performances_;
  Task* task = next(worker);
  if (task == nullptr && gate_.has_deferred()) task = next_after_slices(worker);
  if (task == nullptr) task = look_for_a_while(worker);
  if (task == nullptr) {
    // Says that it sleeps, then looks once more: whoever pushes later sees it asleep (see wake_for). In
    // simulation nobody pushes meanwhile, and what the look performed is all that can bring it a task now; a
    // copy that it queued behind others wakes it when it ends.
    set_idle(worker);
    const bool in_vain = config_.simulated && performances_ == before;
    task = in_vain ? nullptr : next(worker);
    if (task == nullptr && gate_.has_deferred()) task = next_after_slices(worker);
    if (task == nullptr) {
      begin_idle_time(worker);
      config_.notify_waiters();
      return false;
    }
    clear_idle(worker);
  }
  end_idle_time(worker);
  if (Lane& own = lanes_[worker.value]; ++own.burst == kDistance) keep_distance(own);
  move(*task, TaskState::runnable);
  start(*task, worker);
  return true;
}

void Engine::start(Task& task, WorkerId worker) {
  move(task, TaskState::running);
  Lane& own = lanes_[worker.value];
  own.running.store(task.codelet, std::memory_order_relaxed);
  if (task.extension && !task.extension->name.empty()) own.keep_name(task.extension->name);
  const Inside inside(this, worker);
  graph::prefetch_successors(task);
  if (timed_) begin_run_time(task, worker);
  worker_drivers_[worker.value]->start_task(task, worker);
}

// The drivers of a machine that is there run a task inside start_task: what lies between this and
// task_done is its kernel and the call of it. A run that there is no memory to note is not noted.
[[gnu::noinline]] void Engine::begin_run_time(const Task& task, WorkerId worker) {
  try {
    timers_[worker.value].begin(task, config_.now);
  } catch (const std::bad_alloc&) {
  }
}

[[gnu::noinline]] void Engine::end_run_time(WorkerId worker, bool failed) {
  try {
    timers_[worker.value].end(failed, config_.now);
  } catch (const std::bad_alloc&) {
  }
}

const InTask* Engine::inside_task() const {
  const InTask* at = in_task;
  while (at != nullptr && at->engine != this) at = at->outer;
  return at;
}

const InTask* Engine::this_threads_task() {
  return in_task;
}

// --- done: memory takes note of what was written, graph releases the successors -------------

[[gnu::flatten]] void Engine::task_done(Task& task, WorkerId worker, std::exception_ptr error) {
  if (timed_) end_run_time(worker, error != nullptr);
  Lane& own = lanes_[worker.value];
  own.running.store(nullptr, std::memory_order_relaxed);
  if (task.extension) own.name[0].store(0, std::memory_order_relaxed);
  if (!trivial_) {
    const NodeId node = config_.machine.workers[worker.value].node;
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
  const Outcome outcome = error ? Outcome::failed : Outcome::done;
  if (error) fail(task, error);
  ReadyList ready;
  end(task, worker, outcome, ready);
  if (ready.head != nullptr) return make_ready(ready, worker);
  grant_fresh_wishes();  // of a push that found the policy busy
}

// Every task ends here, also the cancelled ones: what it accessed passes to others.
//
// The policy hears of it before the graph does, so before any handle of the task can be forgotten. It
// may be busy and hear it late: the slot is free when both have done with the task.
void Engine::end(Task& task, WorkerId worker, Outcome outcome, ReadyList& ready) {
  const bool was_told =
      traits_.plans || task.state.load(std::memory_order_relaxed) != TaskState::ready;
  const bool shared = task.codelet != nullptr && was_told && gate_.wants_ends();
  move(task, TaskState::done);
  if (shared) {
    task.blocked.store(2, std::memory_order_relaxed);
    gate_.task_done(task, worker);
  }
  for (const graph::Access& access : task.accesses()) {
    if (!writes(access.mode)) continue;
    // Only a store that changes something: whoever uses the handle reads that line.
    const bool poisoned = access.handle->poisoned.load(std::memory_order_relaxed);
    const bool now_poisoned = outcome != Outcome::done || (poisoned && reads(access.mode));
    if (poisoned != now_poisoned) {
      access.handle->poisoned.store(now_poisoned, std::memory_order_relaxed);
    }
  }
  // Of tasks with a kernel: who acquires or prefetches asks for the data because it will use them.
  const bool uses_end = !trivial_ && task.codelet != nullptr && residency_.has_last_use(task);
  if (uses_end) performing_.fetch_add(1, std::memory_order_acq_rel);  // no handle is forgotten
  graph::release(task, ready);
  if (uses_end) {
    note_unused(task);
    performing_.fetch_sub(1, std::memory_order_acq_rel);
  }
  precedences_.end_life(task, ready);
  if (config_.count_bytes && task.codelet != nullptr) count_bytes(task, worker);
  bool group_ended = false;
  if (task.extension) {
    if (task.extension->on_end) call_on_end(task, worker, outcome, ready);
    graph::GroupCount* const group = task.extension->group;
    group_ended = group != nullptr && graph::GroupCount::end_one(*group);
  }
  // Counted after on_end, which may submit more: whoever waits waits for that, too.
  auto& ended = lane(worker).ended[static_cast<std::size_t>(outcome)];
  if (worker == kNoWorker) {  // also acquisitions, which do not count
    const bool counts = !task.extension || task.extension->counts;
    if (counts) ended.fetch_add(1, std::memory_order_release);
  } else {
    ended.store(ended.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  if (group_ended) config_.notify_waiters();
  if (!shared || task.blocked.fetch_sub(1, std::memory_order_acq_rel) == 1) retire(task, worker);
}

// What nobody submitted uses any more may go first from now on.
[[gnu::noinline]] void Engine::note_unused(const Task& task) {
  memory::Actions actions;
  residency_.note_unused(task, actions);
  perform(actions);
}

// It counts as inside the task, wherever the task ends: it may submit, but not wait.
[[gnu::noinline]] void Engine::call_on_end(Task& task, WorkerId worker, Outcome outcome,
                                           ReadyList& ready) {
  ReadyList cancelled;
  try {
    const Inside inside(this, worker, &cancelled);
    // What it has captured goes before the task counts as ended, and under no lock.
    const auto on_end = std::move(task.extension->on_end);
    on_end(outcome);
  } catch (const std::exception& error) {
    report_error(base::make_error<TaskError>([&] {
      return "task " + std::string(task.name()) + ": its on_end threw: " + error.what();
    }));
  } catch (...) {
    report_error(base::make_error<TaskError>([&] {
      return "task " + std::string(task.name()) +
             ": its on_end threw something that is no std::exception";
    }));
  }
  while (Task* next = cancelled.take()) ready.append(*next);
}

[[gnu::noinline]] void Engine::end_cancelled(ReadyList& list, WorkerId worker) {
  ReadyList ready;
  while (Task* task = list.take()) end(*task, worker, Outcome::cancelled, ready);
  if (ready.head != nullptr) make_ready(ready, worker);
}

// The slot is free for another task.
void Engine::retire(Task& task, WorkerId worker) {
  task.state.store(TaskState::free, std::memory_order_relaxed);
  const std::size_t index = lane_index(worker);
  if (!shared(index)) return pool_.give_back(task, index);
  const std::lock_guard lock(external_lock_);
  pool_.give_back(task, index);
}

// --- what the rooms asked for ---------------------------------------------------------------

[[gnu::noinline]] void Engine::perform_all(memory::Actions& actions) {
  performing_.fetch_add(1, std::memory_order_acq_rel);
  if (config_.simulated) ++performances_;
  bool arrived = false;
  ActionsPool::Lease todo(actions_);
  while (!actions.empty()) {
    todo->clear();
    std::swap(*todo, actions);
    arrived |= !todo->arrivals.empty();
    for (const memory::Notice& notice : todo->notices) gate_.notice(notice);
    for (const memory::Copy& copy : todo->copies) {
      const NodeId owner = copy.to.node == kRam ? copy.from.node : copy.to.node;
      try {
        node_drivers_[owner.value]->start_copy(copy);
      } catch (const std::exception&) {  // then it has ended
        end_copy(copy.id, base::say_out_of_memory(std::current_exception(), "started a copy"),
                 actions);
      }
    }
    for (const memory::VictimQuery& query : todo->queries) {
      memory::Residency::Search candidates(residency_, query);
      residency_.answer(query, gate_.choose_victim(query, candidates), actions);
    }
    for (const NodeId node : todo->arrivals) {
      // A worker that wakes looks for itself.
      if (!wake_node(node)) look_again(node, actions);
    }
    if (fresh_wishes_.load(std::memory_order_relaxed)) grant_fresh_wishes(actions);
  }
  performing_.fetch_sub(1, std::memory_order_acq_rel);
  if (arrived) config_.notify_waiters();  // who may ask whether everything is stalled
}

// Something has changed on the node while its workers may be in long kernels: early copies go on.
void Engine::look_again(NodeId node, memory::Actions& actions) {
  Window& window = windows_[node.value];
  if (window.size.load(std::memory_order_relaxed) != 0) {
    if (!window.mutex.try_lock()) return;  // whoever has it does the same
    const std::lock_guard lock(window.mutex, std::adopt_lock);
    if (!copy_early(window, actions)) return;
  }
  grant_wishes(node, actions);
  if (node != kRam) return;
  for (std::uint32_t n = 1; n < wishes_.size(); ++n)
    grant_wishes(NodeId{n}, actions);  // through RAM
}

void Engine::end_copy(std::uint64_t copy_id, std::exception_ptr error, memory::Actions& actions) {
  residency_.copy_done(copy_id, std::move(error), actions);
  if (const auto broken = residency_.broken()) tell_broken(broken);
}

void Engine::copy_done(std::uint64_t copy_id, std::exception_ptr error) {
  ActionsPool::Lease actions(actions_);
  performing_.fetch_add(1, std::memory_order_acq_rel);  // not stalled before what follows is done
  end_copy(copy_id, std::move(error), *actions);
  perform(*actions);
  performing_.fetch_sub(1, std::memory_order_acq_rel);
  config_.notify_waiters();
}

}  // namespace vicinal::engine
