// The way of a task, from top to bottom: submit, ready, scheduled, fetching, runnable, running, done.
// One short function per step; each asks one room. The compiler is told to make one function of the
// steps that every task takes (flatten: a tenth of the instructions of an empty task) and to leave out
// those that few take (noinline).
#include "engine/lifecycle.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/task_state.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {

struct GroupAccess {
  static bool end_one(Group& group) {
    return group.pending_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
};

}  // namespace vicinal

namespace vicinal::engine {

using graph::ReadyList;
using graph::Task;
using graph::TaskState;

namespace {
// Of the thread: a kernel is on its stack, or is not.
thread_local InTask in_task;
}  // namespace

// --- submit: graph says what it waits for ---------------------------------------------------

// Counted before anybody else can know the task: it may have ended when insert returns.
Task& Engine::new_task(WorkerId worker, std::size_t accesses) {
  const std::size_t index = lane_index(worker);
  const auto take = [&]() -> Task& {
    count_submitted(lanes_[index], 1);
    return pool_.take(index, accesses);
  };
  if (!shared(index)) return take();
  const std::lock_guard lock(external_lock_);
  return take();
}

[[gnu::noinline]] void Engine::discard(Task& task, WorkerId worker) {
  const std::size_t index = lane_index(worker);
  if (shared(index)) {
    const std::lock_guard lock(external_lock_);
    count_submitted(lanes_[index], -1);
  } else {
    count_submitted(lanes_[index], -1);
  }
  retire(task, worker);
  config_.notify_waiters();  // who may have seen it counted
}

[[gnu::flatten]] TaskId Engine::submit(Task& task, std::span<const TaskId> after, WorkerId worker) {
  const TaskId id = graph::TaskPool::id(task);  // the task may have ended before submit returns
  move(task, TaskState::submitted);
  task.blocked.store(after.empty() ? 1 : 2, std::memory_order_relaxed);
  bool is_ready = false;
  try {
    for (const TaskId before : after) precedences_.check(before, task);
    is_ready = graph::insert(task);
  } catch (...) {
    discard(task, worker);
    throw;
  }
  if (!after.empty()) {
    for (const TaskId before : after) precedences_.add(before, task);
    is_ready = task.blocked.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  if (is_ready) {
    ReadyList ready;
    ready.append(task);
    make_ready(ready, worker, Releaser::goes_on);
  }
  return id;
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
      end(*task, releasing, Outcome::cancelled, list);
    } else {
      if (task->extension && task->extension->worker) restricted = task;
      gate_.push(*task, releasing);
      ++pushed;
    }
  }
  if (pushed > 0) wake_for(pushed, restricted, releasing, then);
  grant_fresh_wishes();
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

// --- fetching: memory makes room and copies -------------------------------------------------

[[gnu::noinline]] Task* Engine::take_from_window(WorkerId worker) {
  Window& window = windows_[config_.machine.workers[worker.value].node.value];
  for (;;) {
    memory::Actions actions;
    ReadyList cancelled;
    Task* found = nullptr;
    bool at_once = false;
    bool all_asked = false;
    bool offers = false;
    {
      const std::lock_guard lock(window.mutex);
      offers = refill(window, worker, cancelled);
      found = take_runnable(window, worker, actions, cancelled);
      if (found != nullptr) window.calm.fetch_add(1, std::memory_order_relaxed);
      if (found == nullptr || window.firm_each > 1) {
        at_once = ask_firmly(window, worker, actions);
      }
      all_asked = copy_early(window, actions);
    }
    if (all_asked) grant_wishes(config_.machine.workers[worker.value].node, actions);
    if (offers) wake_a_peer(window);
    const bool released = cancelled.head != nullptr;
    perform(actions);
    end_cancelled(cancelled, worker);
    grant_fresh_wishes();
    if (found != nullptr) return found;
    if (at_once || released || anything_ended(window, worker)) continue;
    if (!move_from_peer(worker)) return nullptr;
  }
}

// A request of a task that the worker can run has ended, perhaps by what was just performed.
bool Engine::anything_ended(Window& window, WorkerId worker) {
  const std::lock_guard lock(window.mutex);
  std::size_t firm = window.firm;
  for (auto entry = window.pulled.begin(); firm > 0; ++entry) {
    if ((*entry)->firm_for == kNoWorker) continue;
    --firm;
    const auto state = (*entry)->request.state.load(std::memory_order_acquire);
    const bool ended =
        state == memory::RequestState::ready || state == memory::RequestState::failed;
    if (ended && can_start(**entry, worker)) return true;
  }
  return false;
}

// While they run, the operands of the largest can come, and as many bytes leave to make room for them;
// or more tasks would do more harm than good.
bool Engine::hides_copies(const Window& window) const {
  Time runs;
  Bytes largest;
  if (window.pulled.size() >= window.least || window.claimed > window.most_to_hide) return true;
  for (const auto& entry : window.pulled) {
    runs += run_time(*entry->task, window.workers.front());
    largest = std::max(largest, entry->working_set);
  }
  const auto workers = static_cast<std::int64_t>(window.workers.size());
  return runs.ns / workers >= duration(largest, window.bandwidth).ns * 2;
}

// As far as the look-ahead goes, but not so far that the operands of what waits would push out what
// the tasks in course and their successors use: a quarter of the node. Measured on Cholesky at a
// quarter of the matrix, 31 tiles of room: 8 tasks ahead without this bound load 1.2 times the bytes
// of 2 ahead. On an accelerator it goes further, to `least` tasks, while those pulled do not run as long as
// copies take, nor claim three eighths of the node: a product of 20 x 20 tasks takes 0.39 s instead of 0.46
// (v100p with 250 MiB, 17 of its block columns). True: it has pulled more than its own workers need at once.
bool Engine::refill(Window& window, WorkerId worker, ReadyList& cancelled) {
  const NodeId node = config_.machine.workers[worker.value].node;
  if (residency_.take_traffic(node)) window.calm.store(0, std::memory_order_relaxed);
  const bool calm = window.calm.load(std::memory_order_relaxed) >= kCalm;
  const std::size_t depth = calm ? 1 : window.depth;
  bool pulled_more = false;
  for (;;) {
    const bool full = window.pulled.size() >= depth;
    const bool enough = window.pulled.size() > window.workers.size() && window.most_claimed &&
                        window.claimed > *window.most_claimed && hides_copies(window);
    // One that it can run, at least: the others' tasks may be bound to them, and when they have gone
    // nobody would wake this worker.
    if ((full || enough) && has_one_for(window, worker)) return pulled_more;
    Task* task = pop(worker);
    if (task == nullptr) return pulled_more;
    if (cancelling()) {
      cancelled.append(*task);
    } else {
      keep(window, *task);
      pulled_more = window.pulled.size() > window.workers.size();
    }
  }
}

// Where few tasks are ready one node's look-ahead may hold them all. A worker that has none gets one
// from the longest look-ahead of the nodes like its own, if the policy agrees.
bool Engine::move_from_peer(WorkerId worker) {
  Window& own = windows_[config_.machine.workers[worker.value].node.value];
  if (own.peers.empty() || cancelling()) return false;
  const auto held = [&](NodeId node) {
    return windows_[node.value].size.load(std::memory_order_relaxed);
  };
  Window& peer = windows_[std::ranges::max(own.peers, {}, held).value];
  if (peer.size.load(std::memory_order_relaxed) == 0) return false;
  {
    const std::lock_guard lock(own.mutex);
    if (has_one_for(own, worker)) return false;
  }
  memory::Actions actions;
  Task* const task = give_away(peer, worker, actions);
  if (task != nullptr) {
    const std::lock_guard lock(own.mutex);
    keep(own, *task);
  }
  perform(actions);
  return task != nullptr;
}

// As many as its own workers wait for stay. Of the others the one whose copies take least, the last of
// such, if they take less than half of the time that it would wait here: others use the links, too.
Task* Engine::give_away(Window& window, WorkerId to, memory::Actions& actions) {
  const std::lock_guard lock(window.mutex);
  const NodeId other = config_.machine.workers[to.value].node;
  const auto workers = static_cast<std::int64_t>(window.workers.size());
  const std::size_t stay = without_task(window);
  std::size_t best = window.pulled.size();
  Time least;
  Time runs;   // of those before it
  Time loads;  // and of itself
  for (std::size_t i = 0; i < window.pulled.size(); ++i) {
    const Pulled& entry = *window.pulled[i];
    const Time run = run_time(*entry.task, window.workers.front());
    // What its workers run now takes as long as it does, for all that is known.
    const Time until_free{(runs.ns + (stay == 0 ? run.ns : 0)) / workers};
    runs += run;
    loads += copy_time(*entry.task, entry.request.node);
    const bool failed =
        entry.request.state.load(std::memory_order_acquire) == memory::RequestState::failed;
    if (i < stay || failed || !can_run(*entry.task, to)) continue;
    const Time copies = copy_time(*entry.task, other);
    if (run.ns > 0 && 2 * copies.ns >= std::max(until_free, loads).ns) continue;
    if (best != window.pulled.size() && copies > least) continue;
    best = i;
    least = copies;
  }
  if (best == window.pulled.size() || !gate_.may_move(*window.pulled[best]->task, to)) {
    return nullptr;
  }
  residency_.withdraw(window.pulled[best]->request, actions);
  Task* const task = drop(window, best);
  move(*task, TaskState::scheduled);
  return task;
}

// Alone on the links, for what is not there.
Time Engine::copy_time(const Task& task, NodeId node) const {
  Time sum;
  for (const graph::Access& access : task.accesses()) {
    if (reads(access.mode) && !residency_.on_node(*access.handle, node)) {
      sum += transfer_time(*access.handle, node);
    }
  }
  return sum;
}

bool Engine::can_start(const Pulled& entry, WorkerId worker) const {
  return entry.for_all || can_run(*entry.task, worker);
}

bool Engine::has_one_for(const Window& window, WorkerId worker) const {
  return std::ranges::any_of(window.pulled,
                             [&](const auto& entry) { return can_start(*entry, worker); });
}

void Engine::keep(Window& window, Task& task) {
  move(task, TaskState::fetching);
  if (window.unused.empty()) window.unused.push_back(std::make_unique<Pulled>());
  std::unique_ptr<Pulled> entry = std::move(window.unused.back());
  window.unused.pop_back();
  entry->task = &task;
  entry->firm_for = kNoWorker;
  entry->request.kind = memory::RequestKind::task;
  entry->request.node = config_.machine.workers[window.workers.front().value].node;
  entry->request.operands = task.accesses();
  entry->request.error = nullptr;
  entry->request.state.store(memory::RequestState::idle, std::memory_order_relaxed);
  entry->working_set = residency_.working_set(task, entry->request.node);
  entry->for_all = window.alike && !task.only_worker();
  entry->lacks = nullptr;
  window.claimed += residency_.claim(task, entry->request.node);
  window.pulled.push_back(std::move(entry));
  window.none_for = kNoWorker;
  window.size.store(window.pulled.size(), std::memory_order_relaxed);
}

Task* Engine::drop(Window& window, std::size_t at) {
  std::unique_ptr<Pulled> entry = std::move(window.pulled[at]);
  window.pulled.erase(window.pulled.begin() + static_cast<std::ptrdiff_t>(at));
  window.size.store(window.pulled.size(), std::memory_order_relaxed);
  if (entry->firm_for != kNoWorker) --window.firm;
  if (at < window.complete) --window.complete;
  Task* task = entry->task;
  window.claimed -= residency_.unclaim(*task, entry->request.node);
  window.unused.push_back(std::move(entry));
  return task;
}

// Looks first at what was missing the last time: most often it still is.
bool Engine::still_lacks(Pulled& entry) const {
  if (entry.lacks != nullptr && !stays(*entry.lacks)) return true;
  for (const graph::Access& access : entry.task->accesses()) {
    entry.lacks = &residency_.look_at(*access.handle, entry.request.node);
    if (!stays(*entry.lacks)) return true;
  }
  return false;
}

// The first task, in the policy's order, whose operands are all here: pinned for it by its request,
// or pinned now.
Task* Engine::take_runnable(Window& window, WorkerId worker, memory::Actions& actions,
                            ReadyList& cancelled) {
  const std::uint64_t gains =
      residency_.gains(config_.machine.workers[window.workers.front().value].node);
  if (window.none_for == worker && window.none_at == gains && !cancelling()) return nullptr;
  bool all_lack = true;  // or wait for their request
  for (std::size_t i = 0; i < window.pulled.size();) {
    Pulled& entry = *window.pulled[i];
    const auto state = entry.request.state.load(std::memory_order_acquire);
    if (state == memory::RequestState::failed) {
      if (entry.request.error == residency_.broken()) tell_broken(entry.request.error);
      cancel(entry.request.error);
      cancelled.append(*drop(window, i));
      continue;
    }
    if (cancelling()) {
      residency_.withdraw(entry.request, actions);
      cancelled.append(*drop(window, i));
      continue;
    }
    const bool maybe = state == memory::RequestState::ready ||
                       (state == memory::RequestState::idle && !still_lacks(entry));
    if (maybe && can_start(entry, worker)) {
      const bool here = state == memory::RequestState::ready ||
                        residency_.try_pin(*entry.task, entry.request.node, actions);
      if (here) return drop(window, i);
      all_lack = false;  // until others use it no longer
    }
    ++i;
  }
  if (all_lack) {
    window.none_for = worker;
    window.none_at = gains;
  }
  return nullptr;
}

// The first tasks that the worker could start next get firm reservations. True if one has ended at
// once.
bool Engine::ask_firmly(Window& window, WorkerId worker, memory::Actions& actions) {
  std::size_t own = 0;
  std::size_t firm = window.firm;
  for (auto entry = window.pulled.begin(); firm > 0; ++entry) {
    if ((*entry)->firm_for == kNoWorker) continue;
    --firm;
    if ((*entry)->firm_for == worker) ++own;
  }
  bool ended = false;
  for (std::size_t i = own; i < window.firm_each; ++i) {
    ended |= ask_for_one(window, worker, actions);
  }
  return ended;
}

bool Engine::ask_for_one(Window& window, WorkerId worker, memory::Actions& actions) {
  const auto entry = std::ranges::find_if(window.pulled, [&](const auto& waits) {
    return waits->request.state.load(std::memory_order_acquire) == memory::RequestState::idle &&
           can_start(*waits, worker);
  });
  if (entry == window.pulled.end()) return false;
  Pulled* const first = entry->get();
  first->firm_for = worker;
  ++window.firm;
  residency_.request(first->request, actions);
  const auto state = first->request.state.load(std::memory_order_acquire);
  return state == memory::RequestState::ready || state == memory::RequestState::failed;
}

// Copies for the others, in their order, as far as room can be had without waiting; then some room is
// made for those that come next. False: one got no room.
bool Engine::copy_early(Window& window, memory::Actions& actions) {
  const NodeId node = config_.machine.workers[window.workers.front().value].node;
  const std::uint64_t losses = residency_.losses(node);
  if (window.complete_at != losses) {
    window.complete = 0;
    window.complete_at = losses;
  }
  const auto waits = [](const auto& entry) {
    return entry->request.state.load(std::memory_order_acquire) == memory::RequestState::idle;
  };
  for (; window.complete < window.pulled.size(); ++window.complete) {
    const auto& entry = window.pulled[window.complete];
    if (!waits(entry)) continue;
    for (const graph::Access& access : entry->task->accesses()) {
      if (!reads(access.mode) || residency_.comes_or_stays(*access.handle, node)) continue;
      if (!residency_.prefetch(*access.handle, node, actions)) return false;
    }
  }
  if (window.most_kept_free.value > 0) {
    Bytes largest;
    for (const auto& entry : window.pulled) {
      if (waits(entry)) largest = std::max(largest, entry->working_set);
    }
    residency_.keep_free(node, std::min(largest * 2, window.most_kept_free), actions);
  }
  return true;
}

// And then for tasks that are still with the policy, in the order of its wishes, up to the first that
// gets no room. They drive nothing out. StarPU's do, what no task that waits will use: that costs up to
// 2.8 times the bytes (dmdar, products) and saves none.
void Engine::grant_wishes(NodeId node, memory::Actions& actions) {
  Wishes& wishes = wishes_[node.value];
  if (!wishes.any()) return;
  const std::lock_guard lock(wishes.mutex);
  wishes.fresh.store(false, std::memory_order_relaxed);
  for (; !wishes.empty(); wishes.pop_front()) {
    const Wish& wish = wishes.front();
    const Task& task = *pool_.find(wish.task);
    const bool ready = task.state.load(std::memory_order_relaxed) == TaskState::ready;
    if (!ready || !graph::TaskPool::alive(task, wish.task)) continue;  // pulled meanwhile
    if (!residency_.prefetch(*wish.handle, node, actions, memory::EarlyRoom::free_alone)) return;
  }
}

// On whatever node it was to run: it may have been popped for another one.
[[gnu::noinline]] void Engine::forget_wishes(const Task& task) {
  for (std::uint32_t n = 0; n < wishes_.size(); ++n) {
    const std::lock_guard lock(wishes_[n].mutex);
    residency_.forget_uses(graph::TaskPool::slot(task), NodeId{n});
  }
}

[[gnu::noinline]] void Engine::grant_fresh_wishes(memory::Actions& actions) {
  fresh_wishes_.store(false, std::memory_order_relaxed);
  for (std::uint32_t n = 0; n < wishes_.size(); ++n) {
    if (wishes_[n].fresh.load(std::memory_order_relaxed)) grant_wishes(NodeId{n}, actions);
  }
}

// --- runnable, running: the driver of the worker --------------------------------------------

// To sleep and to be woken takes longer than a small task, so some microseconds are worth waiting for
// the next. Looking ever less often leaves the lines that are looked at to those who write them.
[[gnu::noinline]] Task* Engine::look_for_a_while(WorkerId worker) {
  if (config_.simulated) return nullptr;
  constexpr int kLooks = 5;
  for (int look = 0; look < kLooks; ++look) {
    for (int pauses = 16 << look; pauses > 0; --pauses) __builtin_ia32_pause();
    if (Task* task = next(worker)) return task;
  }
  return nullptr;
}

[[gnu::flatten]] bool Engine::advance(WorkerId worker) {
  clear_idle(worker);
  Task* task = next(worker);
  if (task == nullptr) task = look_for_a_while(worker);
  if (task == nullptr) {
    // Says that it sleeps, then looks once more: whoever pushes later sees it asleep (see wake_for).
    set_idle(worker);
    task = next(worker);
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
  in_task = {this, worker};
  graph::prefetch_successors(task);
  if (timed_) begin_run_time(task, worker);
  worker_drivers_[worker.value]->start_task(task, worker);
  in_task = {};
}

// The drivers of a machine that is there run a task inside start_task: what lies between this and
// task_done is its kernel and the call of it.
[[gnu::noinline]] void Engine::begin_run_time(const Task& task, WorkerId worker) {
  timers_[worker.value].begin(task, config_.now);
}

[[gnu::noinline]] void Engine::end_run_time(WorkerId worker, bool failed) {
  timers_[worker.value].end(failed, config_.now);
}

WorkerId Engine::inside_task() const {
  return in_task.engine == this ? in_task.worker : kNoWorker;
}

// --- done: memory takes note of what was written, graph releases the successors -------------

[[gnu::flatten]] void Engine::task_done(Task& task, WorkerId worker, std::exception_ptr error) {
  if (timed_) end_run_time(worker, error != nullptr);
  Lane& own = lanes_[worker.value];
  own.running.store(nullptr, std::memory_order_relaxed);
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
  const bool was_pushed =
      task.codelet != nullptr && task.state.load(std::memory_order_relaxed) != TaskState::ready;
  const bool shared = was_pushed && gate_.wants_ends();
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
  graph::release(task, ready);
  precedences_.end_life(task, ready);
  if (config_.count_bytes && task.codelet != nullptr) count_bytes(task, worker);
  Group* group = nullptr;
  if (task.extension) {
    if (task.extension->on_end) call_on_end(task, worker, outcome);
    group = task.extension->group;
  }
  // The group may be gone as soon as everything is counted as ended.
  const bool group_ended = group != nullptr && GroupAccess::end_one(*group);
  // Counted after on_end, which may submit more: whoever waits waits for that, too.
  auto& ended = lane(worker).ended[static_cast<std::size_t>(outcome)];
  if (worker == kNoWorker) {
    ended.fetch_add(1, std::memory_order_release);
  } else {
    ended.store(ended.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  if (group_ended) config_.notify_waiters();
  if (!shared || task.blocked.fetch_sub(1, std::memory_order_acq_rel) == 1) retire(task, worker);
}

// It counts as inside the task, wherever the task ends: it may submit, but not wait.
[[gnu::noinline]] void Engine::call_on_end(Task& task, WorkerId worker, Outcome outcome) {
  const InTask outer = std::exchange(in_task, InTask{this, worker});
  try {
    task.extension->on_end(outcome);
  } catch (const std::exception& error) {
    report_error(std::make_exception_ptr(
        TaskError("task " + std::string(task.name()) + ": its on_end threw: " + error.what())));
  } catch (...) {
    report_error(std::make_exception_ptr(
        TaskError("task " + std::string(task.name()) +
                  ": its on_end threw something that is no std::exception")));
  }
  in_task = outer;
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
  bool arrived = false;
  while (!actions.empty()) {
    memory::Actions todo;
    std::swap(todo, actions);
    arrived |= !todo.arrivals.empty();
    for (const memory::Notice& notice : todo.notices) gate_.notice(notice);
    for (const memory::Copy& copy : todo.copies) {
      const NodeId owner = copy.to.node == kRam ? copy.from.node : copy.to.node;
      node_drivers_[owner.value]->start_copy(copy);
    }
    for (const memory::VictimQuery& query : todo.queries) {
      residency_.answer(query, gate_.choose_victim(query), actions);
    }
    for (const NodeId node : todo.arrivals) {
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

void Engine::copy_done(std::uint64_t copy_id, std::exception_ptr error) {
  memory::Actions actions;
  performing_.fetch_add(1, std::memory_order_acq_rel);  // not stalled before what follows is done
  residency_.copy_done(copy_id, std::move(error), actions);
  if (const auto broken = residency_.broken()) tell_broken(broken);
  perform(actions);
  performing_.fetch_sub(1, std::memory_order_acq_rel);
  config_.notify_waiters();
}

}  // namespace vicinal::engine
