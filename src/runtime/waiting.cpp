// What an application's thread does while it waits: run tasks, sleep, or find out that it waits for
// itself.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "base/thread_end.hpp"
#include "drivers/clock.hpp"
#include "graph/dependencies.hpp"
#include "runtime/runtime_impl.hpp"
#include "runtime/waits_between.hpp"
#include "vicinal/error.hpp"

namespace vicinal::runtime {

// The last CPU worker.
std::optional<WorkerId> RuntimeImpl::slot() const {
  if (!options_.submitter_works || setup_.simulated) return std::nullopt;
  std::optional<WorkerId> last;
  for (const WorkerDescription& worker : setup_.machine.workers) {
    if (worker.kind == ProcessorKind::cpu) last = worker.id;
  }
  return last;
}

// An exchange, not a load: either this call sees the waiting threads, or they see all stores before the call.
void RuntimeImpl::notify_waiters() {
  recursions_.look();
  if (waiting_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
  {
    const std::lock_guard lock(wait_mutex_);
    ++wait_epoch_;
  }
  wait_changed_.notify_all();
  if (slot_taken_.load(std::memory_order_acquire)) {
    setup_.cpu->wake(*slot());
  }
}

void RuntimeImpl::not_inside_task(const char* what) const {
  if (engine_->inside_task() == nullptr) return;
  throw UsageError(
      std::string(what) +
      " inside a task: a task must not wait; name the data among its operands, or submit "
      "another task that does what is to follow");
}

// If not, another thread has something that it may release any time, or this one holds nothing. Whoever waits asks
// again and again: it takes no memory.
bool RuntimeImpl::this_thread_alone_holds() const {
  bool holds = false;
  const std::lock_guard lock(held_mutex_);
  for (const Acquisition* acquisition : acquisitions_) {
    if (acquisition->thread == std::this_thread::get_id()) {
      holds |= acquisition->held;  // or it is what it waits for now
    } else if (acquisition->state.load(std::memory_order_acquire) == Acquisition::State::granted &&
               acquisition->request.state.load(std::memory_order_acquire) !=
                   memory::RequestState::queued) {
      return false;
    }
  }
  return holds;
}

std::string RuntimeImpl::held_by_this_thread() const {
  std::string own;
  const std::lock_guard lock(held_mutex_);
  for (const Acquisition* acquisition : acquisitions_) {
    if (acquisition->thread != std::this_thread::get_id() || !acquisition->held) continue;
    own += (own.empty() ? "" : ", ") + acquisition->handle->name;
  }
  return own;
}

// Looks twice: others may be about to push a task or to start a copy.
void RuntimeImpl::throw_if_held(const char* what, const std::function<bool()>& done) {
  const auto counts = [this] {
    return std::pair(engine_->counts().ended(), engine_->counts().submitted());
  };
  const auto before = counts();
  const auto stuck = [&] { return engine_->stalled() && !done() && counts() == before; };
  if (!this_thread_alone_holds() || !stuck()) return;
  if (!setup_.simulated) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (!this_thread_alone_holds() || !stuck()) return;
  throw UsageError(std::string(what) +
                   " waits for what this thread itself holds: it has acquired " +
                   held_by_this_thread() + "; release that first");
}

Time RuntimeImpl::now() const {
  return setup_.simulated ? setup_.simulated->now() : drivers::monotonic_now();
}

RuntimeImpl::Deadline RuntimeImpl::in_time(Time duration) const {
  const Time begin = now();
  const std::int64_t left = std::numeric_limits<std::int64_t>::max() - begin.ns;
  return begin + Time{std::clamp<std::int64_t>(duration.ns, 0, left)};
}

// Nothing is left to simulate until the deadline. What tasks may still take must be in range after it; else the clock
// stays.
void RuntimeImpl::pass_simulated(Time deadline) {
  sim::World& world = setup_.world->world;
  const Time rest = deadline - world.now();
  if (rest > sim::World::kEndOfTime - world.claimed()) return;
  world.claim(rest);
  world.pass(rest);
}

bool RuntimeImpl::wait_simulated(const std::function<bool()>& done, const char* what,
                                 Deadline deadline) {
  sim::World& world = setup_.world->world;
  if (world.stepping()) {
    throw UsageError(std::string(what) +
                     " inside a task of another runtime of the same simulated world: time must not "
                     "pass there; submit a task "
                     "that does what is to follow");
  }
  while (!done()) {
    planner_->look();
    if (world.step(deadline.value_or(sim::World::kNoTime))) continue;
    if (done()) return true;
    if (deadline) {
      pass_simulated(*deadline);
      return done();
    }
    throw_if_held(what, done);
    throw Error(std::string(what) + ": nothing is left to simulate, but it has not ended\n" +
                stall_report());
  }
  return true;
}

void RuntimeImpl::pass_time() {
  sim::World& world = setup_.world->world;
  const bool inside = world.stepping() || engine_->inside_task() != nullptr;
  if (!inside) world.pass(setup_.machine.submit_overhead);
}

void RuntimeImpl::require_same_process(const char* what) const {
  if (!forked()) return;
  throw UsageError(
      std::string(what) +
      ": this process was forked from the one that made the runtime, whose threads are "
      "not in it; make the runtime after the fork, or call exec in the child");
}

// Tasks that are held back: a thread that holds a task back reads `waiting_` afterwards; a waiting thread looks for
// such tasks after it has raised `waiting_`.
void RuntimeImpl::wait_until(const std::function<bool()>& is_done, const char* what, Looks looks) {
  static_cast<void>(wait_until(is_done, what, looks, std::nullopt));
}

bool RuntimeImpl::wait_until(const std::function<bool()>& is_done, const char* what, Looks looks,
                             Deadline deadline, Time longest_sleep) {
  if (is_done()) return true;
  require_same_process(what);
  base::watch_thread_end();  // a task that runs here may call exit
  std::optional<WaitsBetween> inside_others;
  if (engine::Engine::this_threads_task() != nullptr) inside_others.emplace(*engine_, what);
  const std::function<bool()> done = [&] {
    pass_on_held_back();
    return is_done();
  };
  if (setup_.simulated) return wait_simulated(done, what, deadline);
  const auto left = [&] {
    return std::min(longest_sleep, Time{std::max<std::int64_t>((*deadline - now()).ns, 0)});
  };
  const auto is_late = [&] { return deadline && left().ns == 0; };
  if (is_late()) return done();  // before others are disturbed
  const bool looks_often = looks == Looks::after_each_task || deadline;
  const std::optional<WorkerId> slot = this->slot();
  bool works = false;  // this thread is the worker that has none of its own
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  struct Leave {
    RuntimeImpl& self;
    const bool& works;
    ~Leave() {
      if (works) {
        self.engine_->worker_leaves(*self.slot());
        self.slot_taken_.store(false, std::memory_order_release);
      }
      self.waiting_.fetch_sub(1, std::memory_order_seq_cst);
      if (works) self.notify_waiters();  // another one works from now on
    }
  } leave{*this, works};
  for (;;) {
    std::uint64_t epoch = 0;
    {
      const std::lock_guard lock(wait_mutex_);
      epoch = wait_epoch_;
    }
    if (!works && slot && !slot_taken_.exchange(true, std::memory_order_acq_rel)) {
      works = true;
      engine_->worker_comes(*slot);
    }
    const std::uint32_t slot_epoch = works ? setup_.cpu->wake_epoch() : 0;
    if (done()) return true;
    if (is_late()) return false;
    while (works && !is_left() && engine_->advance(*slot)) {
      if (looks_often && (done() || is_late())) return done();
    }
    if (done()) return true;
    while (!works && engine_->run_slice(kNoWorker)) {
      if (done() || is_late()) return done();
    }
    if (!deadline) throw_if_held(what, done);
    std::optional<Time> timeout;
    if (deadline) timeout = left();
    if (works) {
      setup_.cpu->wait_for_wake(slot_epoch, timeout);
      continue;
    }
    std::unique_lock lock(wait_mutex_);
    const auto is_called = [&] { return wait_epoch_ != epoch; };
    if (timeout) {
      wait_changed_.wait_for(lock, std::chrono::nanoseconds(timeout->ns), is_called);
    } else {
      wait_changed_.wait(lock, is_called);
    }
  }
}

void RuntimeImpl::wait() {
  static_cast<void>(wait(std::nullopt));
}

bool RuntimeImpl::wait(Deadline deadline) {
  const char* const what = deadline ? "wait_for" : "wait";
  not_inside_task(what);
  pass_on_held_back();
  engine_->submission_closed();
  const auto all_ended = [this] {
    return !(setup_.simulated && setup_.simulated->any_running()) && engine_->counts().all_ended();
  };
  if (!wait_until(all_ended, what, Looks::when_idle, deadline)) return false;
  partitions_.reclaim(Partitions::Meanwhile::leaves_it);
  departures_.sweep();
  const std::exception_ptr error = engine_->take_error();
  if (error) throw_failure(error);
  return true;
}

void RuntimeImpl::throw_failure(const std::exception_ptr& error) {
  has_thrown_.store(true, std::memory_order_relaxed);
  std::rethrow_exception(error);
}

bool RuntimeImpl::wait(Group& group, Deadline deadline) {
  not_inside_task(deadline ? "wait_for" : "wait");
  pass_on_held_back();
  engine_->submission_closed();
  const auto all_ended = [&] { return group.pending() == 0; };
  if (!wait_until(all_ended, "wait for a group", Looks::after_each_task, deadline)) return false;
  engine::Errors::forgive(Opener::count(group));
  if (engine_->errors().cancelling() || engine_->errors().any())
    return wait(deadline);  // throws it
  return true;
}

void RuntimeImpl::cancel(Group& group) {
  engine_->errors().cancel(Opener::count(group));
}

bool RuntimeImpl::is_ready(Group& group) {
  if (holds_any_back()) pass_on_held_back();
  return group.pending() == 0;
}

bool RuntimeImpl::is_ready(Handle registered, const char* what) {
  graph::Handle& handle = check(registered, what);
  if (holds_any_back()) pass_on_held_back();
  if (!graph::is_readable(handle)) return false;
  return !handle.has_family.load(std::memory_order_acquire) || partitions_.is_readable(handle);
}

// Without a place in the handle's queue, which could not be given up at the deadline. So nobody calls whoever waits when
// the handle becomes ready while other tasks go on.
bool RuntimeImpl::wait_for(Handle registered, Time duration) {
  constexpr Time kLongestSleep{1'000'000};
  constexpr const char* kWhat = "wait_for a handle";
  not_inside_task("wait_for");
  graph::Handle& handle = check(registered, "wait_for");
  const Deadline deadline = in_time(duration);
  pass_on_held_back();
  engine_->submission_closed();
  if (handle.has_family.load(std::memory_order_acquire)) {
    static_cast<void>(partitions_.settle(handle, AccessMode::R));
  }
  const auto is_done = [&] {
    return handle.life() != registered.life() || graph::is_readable(handle);
  };
  if (!wait_until(is_done, kWhat, Looks::after_each_task, deadline, kLongestSleep)) return false;
  if (engine_->errors().cancelling() && !wait(deadline)) return false;
  if (handle.life() == registered.life() && handle.poisoned.load(std::memory_order_relaxed)) {
    throw_lost(handle);
  }
  return true;
}

void RuntimeImpl::throw_lost(const graph::Handle& handle) {
  std::rethrow_exception(engine_->errors().tell_lost(
      handle, "handle " + handle.name + ": its writer failed or was cancelled"));
}

void RuntimeImpl::wait(Handle registered) {
  not_inside_task("wait");
  graph::Handle& handle = check(registered, "wait");
  pass_on_held_back();
  if (handle.has_family.load(std::memory_order_acquire)) {
    static_cast<void>(partitions_.settle(handle, AccessMode::R));
  }
  if (!graph::has_content(handle)) {  // nothing will be there to read
    const auto idle_or_gone = [&] {
      return graph::idle(handle) || handle.life() != registered.life();
    };
    return wait_until(idle_or_gone, "wait for a handle");
  }
  const auto access = order(handle, registered.life(), AccessMode::R, "wait for a handle");
  const bool poisoned = handle.poisoned.load(std::memory_order_relaxed);
  end(*access, false);
  if (engine_->errors().cancelling()) wait();
  if (poisoned) throw_lost(handle);
}

// Not a task of the application's: it is named as it is called.
graph::Task& RuntimeImpl::plain_task(graph::Handle& handle, std::uint32_t life, AccessMode mode,
                                     Call call, std::function<void(graph::Task&)> then) {
  graph::Task& task = engine_->new_plain_task(call.kind, call.what);
  task.inline_accesses[0] = graph::Access(handle, life, mode, 0, false);
  task.commutes = commutes(mode);
  task.extension->on_runnable = std::move(then);
  return task;
}

// Each pins its data: there are no more than pins can count.
void RuntimeImpl::note_acquisition(Acquisition& access) {
  const std::lock_guard lock(held_mutex_);
  if (acquisitions_.size() >= memory::kMostAcquisitions) {
    throw UsageError("acquire: handle " + access.handle->name + " and " +
                     std::to_string(acquisitions_.size()) +
                     " others would be acquired at once, more than there may be; release some");
  }
  acquisitions_.push_back(&access);
}

std::unique_ptr<Acquisition> RuntimeImpl::order(graph::Handle& handle, std::uint32_t life,
                                                AccessMode mode, const char* what) {
  using State = Acquisition::State;
  auto access = std::make_unique<Acquisition>();
  access->thread = std::this_thread::get_id();
  const auto on_runnable = [this, access = access.get()](graph::Task& self) {
    State expected = State::queued;
    if (access->state.compare_exchange_strong(expected, State::granted,
                                              std::memory_order_acq_rel)) {
      notify_waiters();
    } else {  // whoever wanted it is gone
      delete access;
      engine_->end_plain_task(self, engine::Engine::Obtained::nothing);
    }
  };
  const Call call{graph::TaskKind::acquisition, what};
  graph::Task& task = plain_task(handle, life, mode, call, on_runnable);
  access->handle = &handle;
  access->task = &task;
  const auto forget = [&] {
    const std::lock_guard lock(held_mutex_);
    std::erase(acquisitions_, access.get());
  };
  try {
    note_acquisition(*access);
  } catch (...) {
    engine_->discard(task, kNoWorker);
    throw;
  }
  try {
    const Partitions::Lock settled = settle(task, kNoWorker);
    submit_plain(task);
  } catch (...) {
    forget();
    throw;
  }
  const auto granted = [&] {
    return access->state.load(std::memory_order_acquire) == State::granted;
  };
  try {
    wait_until(granted, what);
  } catch (...) {
    forget();
    // It cannot be taken back from the queue: it ends by itself when it is granted.
    State expected = State::queued;
    if (access->state.compare_exchange_strong(expected, State::abandoned,
                                              std::memory_order_acq_rel)) {
      static_cast<void>(access.release());
    } else {
      engine_->end_plain_task(task, engine::Engine::Obtained::nothing);
    }
    throw;
  }
  return access;
}

// A task that does `then` when it has access.
graph::Task& RuntimeImpl::task_for(Handle handle, AccessMode mode, Call call,
                                   std::function<void()> then) {
  const auto on_runnable = [this, then = std::move(then)](graph::Task& self) {
    then();
    engine_->end_plain_task(self, engine::Engine::Obtained::order);
  };
  return plain_task(*handle.impl(), handle.life(), mode, call, on_runnable);
}

void RuntimeImpl::when_granted(Handle handle, AccessMode mode, Call call,
                               std::function<void()> then) {
  graph::Task& task = task_for(handle, mode, call, std::move(then));
  const Partitions::Lock settled = settle(task, kNoWorker);
  submit_plain(task);
}

std::unique_ptr<Acquisition> RuntimeImpl::acquire(Handle registered, AccessMode mode,
                                                  const char* call) {
  not_inside_task(call);
  graph::Handle& handle = check(registered, call);
  if (mode == AccessMode::scratch) {
    throw UsageError(std::string(call) + ": handle " + handle.name +
                     " as scratch, which only tasks have; acquire it to read or write it");
  }
  if (mode == AccessMode::reduction) {
    throw UsageError(std::string(call) + ": handle " + handle.name +
                     " to reduce into it, which only tasks do; acquire it to read and write");
  }
  if (writes(mode) && !handle.home.writable) {
    throw UsageError(std::string(call) + ": handle " + handle.name +
                     " would be written, but its file was registered read-only");
  }
  const memory::Residency& residency = engine_->residency();
  if (const auto limit = residency.limit(kRam);
      limit && residency.footprint(handle, kRam) > *limit) {
    throw CapacityError(std::string(call) + ": handle " + handle.name + " of " +
                        std::to_string(handle.bytes().value) +
                        " bytes does not fit in RAM under the memory limit of " +
                        std::to_string(limit->value) + " bytes; raise the option memory");
  }
  if (writes(mode) && !handle.takes_writes.load(std::memory_order_acquire)) {
    engine_->residency().give_room(handle, registered.life());
  }
  if (leaves_content(mode) && counts_sole_copies()) count_acquired(handle, registered.life());
  auto access = order(handle, registered.life(), mode, call);
  try {
    bring_to_ram(handle, *access, mode, call);
    const std::lock_guard lock(held_mutex_);
    access->held = true;
  } catch (...) {
    end(*access, false);
    throw;
  }
  return access;
}

// It has access in the graph.
void RuntimeImpl::bring_to_ram(const graph::Handle& handle, Acquisition& access, AccessMode mode,
                               const char* call) {
  if (reads(mode) && handle.poisoned.load(std::memory_order_relaxed)) {
    std::rethrow_exception(engine_->errors().tell_lost(
        handle, std::string(call) + ": handle " + handle.name +
                    " has no content: its writer failed or was cancelled"));
  }
  if (engine_->residency().trivial()) return;
  memory::Request& request = access.request;
  request.kind = memory::RequestKind::task;
  request.node = kRam;
  request.operands = access.task->accesses();
  engine_->request(request);
  try {
    wait_until(
        [&request] {
          const auto state = request.state.load(std::memory_order_acquire);
          return state == memory::RequestState::ready || state == memory::RequestState::failed;
        },
        call);
  } catch (...) {
    engine_->withdraw(request);
    throw;
  }
  if (request.state.load() == memory::RequestState::failed) throw_failure(request.error);
}

void RuntimeImpl::release(Acquisition& acquisition) {
  end(acquisition, true);
}

void RuntimeImpl::end(Acquisition& acquisition, bool written) {
  {
    const std::lock_guard lock(held_mutex_);
    std::erase(acquisitions_, &acquisition);
  }
  using engine::Engine;
  engine_->end_plain_task(*acquisition.task,
                          written ? Engine::Obtained::content : Engine::Obtained::nothing);
}

std::string RuntimeImpl::stall_report() const {
  constexpr std::size_t kMost = 20;
  std::string text = engine_->describe() + recursions_.describe();
  if (held_back_) text += held_back_->describe();
  const std::lock_guard handles_lock(handles_mutex_);
  std::size_t listed = 0;
  for (graph::Handle& handle : handles_) {
    if (listed == kMost) break;
    const std::string queue = graph::describe_queue(handle, 4);
    if (queue.empty()) continue;
    ++listed;
    text += queue + "\n";
  }
  const std::lock_guard lock(held_mutex_);
  for (const Acquisition* held : acquisitions_) {
    graph::Handle& handle = *held->handle;
    if (!held->held) {
      text += "a thread of the application waits for: " + handle.name + "\n";
      continue;
    }
    text += "acquired by the application: " + handle.name + "\n";
    if (!graph::describe_queue(handle, 1).empty()) {
      text += "  cycle, if the acquiring thread waits: this thread -> the tasks that wait for " +
              handle.name + " -> this thread\n";
    }
  }
  return text;
}

// One thread, only if asked for: no task has ended for so long although some have not.
void RuntimeImpl::watch() {
  const auto interval = std::chrono::duration<double>(options_.stall_seconds);
  std::uint64_t last = engine_->counts().ended();
  std::unique_lock lock(wait_mutex_);
  while (!watcher_wakes_.wait_for(lock, interval, [this] { return stopping_; })) {
    lock.unlock();
    const std::uint64_t ended = engine_->counts().ended();
    const std::uint64_t held = held_back_ ? held_back_->count() : 0;
    if (ended == last && ended + held != engine_->counts().submitted()) {
      try {
        base::process_log().warn("no task has ended for " + std::to_string(options_.stall_seconds) +
                                 " s\n" + stall_report());
      } catch (const std::bad_alloc&) {  // it is told the next time
      }
    }
    last = ended;
    lock.lock();
  }
}

}  // namespace vicinal::runtime
