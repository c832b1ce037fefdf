// What an application's thread does while it waits: run tasks, sleep, or find out that it waits for
// itself.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.hpp"
#include "graph/dependencies.hpp"
#include "runtime/runtime_impl.hpp"
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

void RuntimeImpl::notify_waiters() {
  if (waiting_.load(std::memory_order_seq_cst) == 0) return;
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
  if (engine_->inside_task() == kNoWorker) return;
  throw UsageError(
      std::string(what) +
      " inside a task: a task must not wait; name the data among its operands, or submit "
      "another task that does what is to follow");
}

// Names, or nothing: then another thread has something that it may release any time, or this one
// holds nothing.
std::string RuntimeImpl::held_by_this_thread_alone() const {
  std::string own;
  const std::lock_guard lock(held_mutex_);
  for (const Acquisition* acquisition : acquisitions_) {
    if (acquisition->thread == std::this_thread::get_id()) {
      if (!acquisition->held) continue;  // what it waits for now
      own += (own.empty() ? "" : ", ") + acquisition->task->accesses()[0].handle->name;
    } else if (acquisition->state.load(std::memory_order_acquire) == Acquisition::State::granted &&
               acquisition->request.state.load(std::memory_order_acquire) !=
                   memory::RequestState::queued) {
      return {};
    }
  }
  return own;
}

// Looks twice: others may be about to push a task or to start a copy.
void RuntimeImpl::throw_if_held(const char* what, const std::function<bool()>& done) {
  const auto counts = [this] {
    return std::pair(engine_->ended_tasks(), engine_->submitted_tasks());
  };
  const auto before = counts();
  const auto stuck = [&] { return engine_->stalled() && !done() && counts() == before; };
  if (held_by_this_thread_alone().empty() || !stuck()) return;
  if (!setup_.simulated) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::string own = held_by_this_thread_alone();
  if (own.empty() || !stuck()) return;
  throw UsageError(std::string(what) +
                   " waits for what this thread itself holds: it has acquired " + own +
                   "; release that first");
}

void RuntimeImpl::wait_simulated(const std::function<bool()>& done, const char* what) {
  while (!done()) {
    if (setup_.simulated->step()) continue;
    if (done()) return;
    throw_if_held(what, done);
    throw Error(std::string(what) + ": nothing is left to simulate, but it has not ended\n" +
                stall_report());
  }
}

void RuntimeImpl::pass_time() {
  if (engine_->inside_task() == kNoWorker) setup_.simulated->pass(setup_.machine.submit_overhead);
}

void RuntimeImpl::wait_until(const std::function<bool()>& done, const char* what, Looks looks) {
  if (done()) return;
  if (setup_.simulated) return wait_simulated(done, what);
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
    if (done()) return;
    while (works && engine_->advance(*slot)) {
      if (looks == Looks::after_each_task && done()) return;
    }
    if (done()) return;
    throw_if_held(what, done);
    if (works) {
      setup_.cpu->wait_for_wake(slot_epoch);
    } else {
      std::unique_lock lock(wait_mutex_);
      wait_changed_.wait(lock, [&] { return wait_epoch_ != epoch; });
    }
  }
}

void RuntimeImpl::wait() {
  not_inside_task("wait");
  std::exception_ptr refused;
  try {
    flush_planned();
  } catch (...) {
    refused = std::current_exception();
  }
  engine_->submission_closed();
  const auto all_ended = [this] {
    return !(setup_.simulated && setup_.simulated->any_running()) && engine_->all_ended();
  };
  wait_until(all_ended, "wait", Looks::when_idle);
  const std::exception_ptr error = engine_->take_error();
  if (refused) std::rethrow_exception(refused);
  if (error) std::rethrow_exception(error);
}

void RuntimeImpl::wait(Group& group) {
  not_inside_task("wait");
  flush_planned();
  engine_->submission_closed();
  wait_until([&] { return group.pending() == 0; }, "wait for a group");
  if (engine_->cancelling() || engine_->has_error()) wait();  // throws it
}

void RuntimeImpl::wait(graph::Handle& handle) {
  not_inside_task("wait");
  flush_planned();
  if (!graph::has_content(handle)) {  // nothing will be there to read
    return wait_until([&] { return graph::idle(handle); }, "wait for a handle");
  }
  const auto access = order(handle, AccessMode::R);
  const bool poisoned = handle.poisoned.load(std::memory_order_relaxed);
  end(*access, false);
  if (engine_->cancelling()) wait();
  if (poisoned) {
    throw PoisonedError("handle " + handle.name + ": its writer failed or was cancelled");
  }
}

graph::Task& RuntimeImpl::plain_task(graph::Handle& handle, AccessMode mode,
                                     std::function<void(graph::Task&)> then) {
  graph::Task& task = engine_->new_task(kNoWorker);
  task.codelet = nullptr;
  task.priority = 0;
  task.access_count = 1;
  task.inline_accesses[0] = graph::Access(handle, mode);
  task.extension = std::make_unique<graph::TaskExtension>();
  task.extension->on_runnable = std::move(then);
  return task;
}

std::unique_ptr<Acquisition> RuntimeImpl::order(graph::Handle& handle, AccessMode mode) {
  using State = Acquisition::State;
  auto access = std::make_unique<Acquisition>();
  access->thread = std::this_thread::get_id();
  flush_planned();
  graph::Task& task = plain_task(handle, mode, [this, access = access.get()](graph::Task& self) {
    State expected = State::queued;
    if (access->state.compare_exchange_strong(expected, State::granted,
                                              std::memory_order_acq_rel)) {
      notify_waiters();
    } else {  // whoever wanted it is gone
      delete access;
      engine_->end_acquisition(self, false);
    }
  });
  access->task = &task;
  const auto forget = [&] {
    const std::lock_guard lock(held_mutex_);
    std::erase(acquisitions_, access.get());
  };
  {
    const std::lock_guard lock(held_mutex_);
    acquisitions_.push_back(access.get());
  }
  try {
    engine_->submit(task, {}, kNoWorker);
  } catch (...) {
    forget();
    throw;
  }
  const auto granted = [&] {
    return access->state.load(std::memory_order_acquire) == State::granted;
  };
  try {
    wait_until(granted, "acquire");
  } catch (...) {
    forget();
    // It cannot be taken back from the queue: it ends by itself when it is granted.
    State expected = State::queued;
    if (access->state.compare_exchange_strong(expected, State::abandoned,
                                              std::memory_order_acq_rel)) {
      static_cast<void>(access.release());
    } else {
      engine_->end_acquisition(task, false);
    }
    throw;
  }
  return access;
}

void RuntimeImpl::when_granted(graph::Handle& handle, AccessMode mode, std::function<void()> then) {
  flush_planned();  // "after the tasks submitted so far"
  graph::Task& task = plain_task(handle, mode, [this, then = std::move(then)](graph::Task& self) {
    then();
    engine_->end_acquisition(self, false);
  });
  engine_->submit(task, {}, kNoWorker);
}

std::unique_ptr<Acquisition> RuntimeImpl::acquire(graph::Handle& handle, AccessMode mode) {
  not_inside_task("acquire");
  if (writes(mode) && !handle.home.writable) {
    throw UsageError("acquire: handle " + handle.name +
                     " would be written, but its file was registered read-only");
  }
  const memory::Residency& residency = engine_->residency();
  if (const auto limit = residency.limit(kRam);
      limit && residency.footprint(handle, kRam) > *limit) {
    throw CapacityError("acquire: handle " + handle.name + " of " +
                        std::to_string(handle.bytes().value) +
                        " bytes does not fit in RAM under the memory limit of " +
                        std::to_string(limit->value) + " bytes; raise the option memory");
  }
  auto access = order(handle, mode);
  const auto give_up = [&](const std::exception_ptr& error) {
    end(*access, false);
    std::rethrow_exception(error);
  };
  if (reads(mode) && handle.poisoned.load(std::memory_order_relaxed)) {
    give_up(std::make_exception_ptr(PoisonedError(
        "acquire: handle " + handle.name + " has no content: its writer failed or was cancelled")));
  }
  if (!engine_->residency().trivial()) {
    memory::Request& request = access->request;
    request.kind = memory::RequestKind::task;
    request.node = kRam;
    request.operands = access->task->accesses();
    engine_->request(request);
    try {
      wait_until(
          [&] {
            const auto state = request.state.load(std::memory_order_acquire);
            return state == memory::RequestState::ready || state == memory::RequestState::failed;
          },
          "acquire");
    } catch (...) {
      engine_->withdraw(request);
      give_up(std::current_exception());
    }
    if (request.state.load() == memory::RequestState::failed) give_up(request.error);
  }
  const std::lock_guard lock(held_mutex_);
  access->held = true;
  return access;
}

void RuntimeImpl::release(Acquisition& acquisition) {
  end(acquisition, true);
}

void RuntimeImpl::end(Acquisition& acquisition, bool written) {
  {
    const std::lock_guard lock(held_mutex_);
    std::erase(acquisitions_, &acquisition);
  }
  engine_->end_acquisition(*acquisition.task, written);
}

std::string RuntimeImpl::stall_report() const {
  constexpr std::size_t kMost = 20;
  std::string text = engine_->describe();
  const std::lock_guard handles_lock(handles_mutex_);
  std::size_t listed = 0;
  for (graph::Handle& handle : handles_) {
    if (handle.owner != this || listed == kMost) continue;
    const std::string queue = graph::describe_queue(handle, 4);
    if (queue.empty()) continue;
    ++listed;
    text += queue + "\n";
  }
  const std::lock_guard lock(held_mutex_);
  for (const Acquisition* held : acquisitions_) {
    graph::Handle& handle = *held->task->accesses()[0].handle;
    if (!held->held) {
      text += "a thread of the application waits for: " + handle.name + "\n";
      continue;
    }
    text += "acquired by the application: " + handle.name + "\n";
    if (!graph::describe_queue(handle, 1).empty()) {
      text +=
          "  cycle, if the thread that acquired it waits: that thread -> the tasks that wait for " +
          handle.name + " -> that thread\n";
    }
  }
  return text;
}

// One thread, only if asked for: no task has ended for so long although some have not.
void RuntimeImpl::watch() {
  const auto interval = std::chrono::duration<double>(options_.stall_seconds);
  std::uint64_t last = engine_->ended_tasks();
  std::unique_lock lock(wait_mutex_);
  while (!watcher_wakes_.wait_for(lock, interval, [this] { return stopping_; })) {
    lock.unlock();
    const std::uint64_t ended = engine_->ended_tasks();
    const std::uint64_t planned = planned_count_.load(std::memory_order_relaxed);
    if (ended == last && ended + planned != engine_->submitted_tasks()) {
      base::process_log().warn("no task has ended for " + std::to_string(options_.stall_seconds) +
                               " s\n" + stall_report());
    }
    last = ended;
    lock.lock();
  }
}

}  // namespace vicinal::runtime
