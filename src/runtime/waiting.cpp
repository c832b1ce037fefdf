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
//
// The thread that drives the slot calls this itself, from its vain look for work: then it is not woken, or it would look
// for ever. Nothing is lost: between that look and its sleep it asks whether what it waits for has come, and what others
// do after the epoch that it has taken before the look wakes it.
void RuntimeImpl::notify_waiters(WorkerId by) {
  if (waiting_.fetch_add(0, std::memory_order_acq_rel) == 0) return;
  {
    const std::lock_guard lock(wait_mutex_);
    ++wait_epoch_;
  }
  wait_changed_.notify_all();
  if (slot_taken_.load(std::memory_order_acquire)) {
    const WorkerId lent = *slot();
    if (lent != by) setup_.cpu->wake(lent);
  }
}

void RuntimeImpl::not_inside_task(const char* what) const {
  if (engine_->inside_task() == nullptr) return;
  throw UsageError(
      std::string(what) +
      " inside a task: a task must not wait; name the data among its operands, or submit "
      "another task that does what is to follow");
}

// Looks twice: others may be about to push a task or to start a copy.
void RuntimeImpl::throw_if_held(const char* what, const std::function<bool()>& done) {
  const auto counts = [this] {
    return std::pair(engine_->counts().ended(), engine_->counts().submitted());
  };
  const auto before = counts();
  const auto stuck = [&] {
    const bool awaits_ranks = sequence_ && sequence_->any_under_way();
    return engine_->stalled() && !awaits_ranks && !done() && counts() == before;
  };
  if (!application_->acquisitions.this_thread_alone_holds() || !stuck()) return;
  if (!setup_.simulated) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (!application_->acquisitions.this_thread_alone_holds() || !stuck()) return;
  throw UsageError(std::string(what) +
                   " waits for what this thread itself holds: it has acquired " +
                   application_->acquisitions.held_by_this_thread() + "; release that first");
}

Time RuntimeImpl::now() const {
  return setup_.simulated ? setup_.simulated->now() : drivers::monotonic_now();
}

RuntimeImpl::Deadline RuntimeImpl::in_time(Time duration) {
  if (engine_->inside_task() == nullptr) catch_up();
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
  const engine::SimulatedSubmitter* const submitter = application_->submissions.submitter();
  while (!done()) {
    if (submitter == nullptr || !submitter->spends()) planner_->look();
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

void RuntimeImpl::begin_wait(const char* what) {
  not_inside_task(what);
  catch_up();
}

// Inside a task of another runtime it does not: whoever waits there is refused.
void RuntimeImpl::catch_up() {
  engine::SimulatedSubmitter* const submitter = application_->submissions.submitter();
  if (submitter == nullptr || submitter->within()) return;
  const auto is_free = [submitter] {
    submitter->look();
    return submitter->is_free();
  };
  static_cast<void>(wait_simulated(is_free, kWindowIsFull, std::nullopt));
}

void RuntimeImpl::pass_time() {
  if (application_->submissions.submitter() != nullptr) return;
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

namespace {
// While the application's thread waits.
struct TellsRanks {
  TellsRanks(RankSequence& its_sequence, const char* what) : sequence(its_sequence) {
    sequence.waits(what);
  }
  TellsRanks(const TellsRanks&) = delete;
  TellsRanks& operator=(const TellsRanks&) = delete;
  ~TellsRanks() { sequence.waits(nullptr); }
  RankSequence& sequence;
};
}  // namespace

// Deferred tasks: a thread that defers a task reads `waiting_` afterwards; a waiting thread looks for
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
  if (engine::this_threads_task() != nullptr) inside_others.emplace(*engine_, what);
  // A condition that has come true is not asked again: it may be a step that is taken once, like the removal of copies.
  bool has_come_true = false;
  const std::function<bool()> done = [&] {
    if (has_come_true) return true;
    application_->submissions.pass_on_deferred();
    has_come_true = is_done();
    return has_come_true;
  };
  if (setup_.simulated) return wait_simulated(done, what, deadline);
  const auto left = [&] {
    return std::min(longest_sleep, Time{std::max<std::int64_t>((*deadline - now()).ns, 0)});
  };
  const auto is_late = [&] { return deadline && left().ns == 0; };
  if (is_late()) return done();  // before others are disturbed
  const bool looks_often = looks != Looks::when_idle || deadline;
  std::optional<TellsRanks> tells;
  if (sequence_) tells.emplace(*sequence_, what);
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
    if (works && looks == Looks::after_tasks_of_any) {
      engine_->await_ends();
      if (done()) return true;
    }
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

bool RuntimeImpl::wait(Deadline deadline) {
  const char* const what = deadline ? "wait_for" : "wait";
  begin_wait(what);
  // Attempts until a deadline are not the same on all ranks.
  if (sequence_ && !deadline) sequence_->close();
  application_->submissions.pass_on_deferred();
  engine_->submission_closed();
  const auto all_ended = [this] {
    return !(setup_.simulated && setup_.simulated->any_running()) && engine_->counts().all_ended();
  };
  if (!wait_until(all_ended, what, Looks::when_idle, deadline)) return false;
  application_->partitions.reclaim(engine::Partitions::Meanwhile::leaves_it);
  application_->departures.sweep();
  const std::exception_ptr error = engine_->take_error();
  if (error) throw_failure(error);
  return true;
}

// The application may go on, and nobody knows whether the other ranks can.
void RuntimeImpl::fail_on_all_ranks(const std::exception_ptr& error) {
  sequence_->told();
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    sequence_->fail(known.what());
  }
}

void RuntimeImpl::throw_failure(const std::exception_ptr& error) {
  has_thrown_.store(true, std::memory_order_relaxed);
  if (sequence_) fail_on_all_ranks(error);
  std::rethrow_exception(error);
}

bool RuntimeImpl::wait(Group& group, Deadline deadline) {
  begin_wait(deadline ? "wait_for" : "wait");
  application_->submissions.pass_on_deferred();
  engine_->submission_closed();
  const auto all_ended = [&] { return group.pending() == 0; };
  if (!wait_until(all_ended, "wait for a group", Looks::after_each_task, deadline)) return false;
  engine::Errors::forgive(internals::Opener::count(group));
  if (engine_->errors().cancelling() || engine_->errors().any())
    return wait(deadline);  // throws it
  return true;
}

bool RuntimeImpl::is_ready(Group& group) {
  application_->submissions.pass_on_deferred();
  return group.pending() == 0;
}

bool RuntimeImpl::is_ready(Handle registered, const char* what) {
  if (is_unused_here(registered)) return true;
  registered = application_->declared.local(registered, what);
  graph::Handle& handle = check(registered, what);
  const engine::SimulatedSubmitter* const submitter = application_->submissions.submitter();
  if (submitter != nullptr && submitter->will_write(handle)) return false;
  application_->submissions.pass_on_deferred();
  if (!graph::is_readable(handle)) return false;
  return !handle.has_family.load(std::memory_order_acquire) ||
         application_->partitions.is_readable(handle);
}

// Without a place in the handle's queue, which could not be given up at the deadline. So nobody calls whoever waits when
// the handle becomes ready while other tasks go on.
bool RuntimeImpl::wait_for(Handle registered, Time duration) {
  constexpr Time kLongestSleep{1'000'000};
  constexpr const char* kWhat = "wait_for a handle";
  begin_wait("wait_for");
  if (sequence_) sequence_->require_no_gap(registered, "wait_for");
  if (is_unused_here(registered)) return true;
  registered = application_->declared.local(registered, "wait_for");
  graph::Handle& handle = check(registered, "wait_for");
  const Deadline deadline = in_time(duration);
  application_->submissions.pass_on_deferred();
  engine_->submission_closed();
  if (handle.has_family.load(std::memory_order_acquire)) {
    static_cast<void>(application_->partitions.settle(handle, AccessMode::R));
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
  begin_wait("wait");
  if (sequence_) sequence_->require_no_gap(registered, "wait");
  if (is_unused_here(registered)) return;
  registered = application_->declared.local(registered, "wait");
  graph::Handle& handle = check(registered, "wait");
  application_->submissions.pass_on_deferred();
  if (handle.has_family.load(std::memory_order_acquire)) {
    static_cast<void>(application_->partitions.settle(handle, AccessMode::R));
  }
  if (!graph::has_content(handle)) {  // nothing will be there to read
    const auto idle_or_gone = [&] {
      return graph::idle(handle) || handle.life() != registered.life();
    };
    return wait_until(idle_or_gone, "wait for a handle", Looks::after_tasks_of_any);
  }
  const auto access = order(handle, registered.life(), AccessMode::R, "wait for a handle");
  const bool poisoned = handle.poisoned.load(std::memory_order_relaxed);
  end(*access);
  if (engine_->errors().cancelling()) wait();
  if (poisoned) throw_lost(handle);
}

std::unique_ptr<Acquisition> RuntimeImpl::order(graph::Handle& handle, std::uint32_t life,
                                                AccessMode mode, const char* what) {
  engine::Acquisitions& acquisitions = application_->acquisitions;
  std::unique_ptr<Acquisition> access = acquisitions.queue(handle, life, mode, what);
  try {
    wait_until([&] { return engine::Acquisitions::is_granted(*access); }, what);
  } catch (...) {
    acquisitions.abandon(std::move(access));
    throw;
  }
  return access;
}

std::unique_ptr<Acquisition> RuntimeImpl::acquire(Handle registered, AccessMode mode,
                                                  const char* call) {
  begin_wait(call);
  registered = application_->declared.local(registered, call);
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
  if (leaves_content(mode) && application_->sole_copies.limited())
    count_acquired(handle, registered.life());
  auto access = order(handle, registered.life(), mode, call);
  try {
    bring_to_ram(handle, *access, mode, call);
    application_->acquisitions.note_held(*access);
  } catch (...) {
    end(*access);
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
  engine_->data().request(request);
  try {
    wait_until(
        [&request] {
          const auto state = request.state.load(std::memory_order_acquire);
          return state == memory::RequestState::ready || state == memory::RequestState::failed;
        },
        call);
  } catch (...) {
    engine_->data().withdraw(request);
    throw;
  }
  if (request.state.load() == memory::RequestState::failed) throw_failure(request.error);
}

void RuntimeImpl::release(Acquisition& acquisition) {
  application_->acquisitions.end(acquisition, engine::Acquisitions::Content::written);
}

void RuntimeImpl::end(Acquisition& acquisition) {
  application_->acquisitions.end(acquisition, engine::Acquisitions::Content::unchanged);
}

std::string RuntimeImpl::stall_report() const {
  constexpr std::size_t kMost = 20;
  std::string text = engine_->describe() + application_->recursions.describe() +
                     application_->submissions.describe();
  std::size_t listed = 0;
  application_->handles.for_each([&](graph::Handle& handle) {
    if (listed == kMost) return;
    const std::string queue = graph::describe_queue(handle, 4);
    if (queue.empty()) return;
    ++listed;
    text += queue + "\n";
  });
  return text + application_->acquisitions.describe();
}

void RuntimeImpl::warn_of_stall() const {
  if (progress_) return progress_->stalled();
  try {
    base::process_log().warn("no task has ended for " + std::to_string(options_.stall_seconds) +
                             " s\n" + stall_report());
  } catch (const std::bad_alloc&) {  // it is told the next time
  }
}

// One thread, only if asked for: no task has ended for so long although some have not.
void RuntimeImpl::watch() {
  const auto interval = std::chrono::duration<double>(options_.stall_seconds);
  std::uint64_t last = engine_->counts().ended();
  std::unique_lock lock(wait_mutex_);
  while (!watcher_wakes_.wait_for(lock, interval, [this] { return stopping_; })) {
    lock.unlock();
    const std::uint64_t ended = engine_->counts().ended();
    const std::uint64_t deferred = application_->submissions.count_deferred();
    if (ended == last && ended + deferred != engine_->counts().submitted()) {
      warn_of_stall();
    }
    last = ended;
    lock.lock();
  }
}

}  // namespace vicinal::runtime
