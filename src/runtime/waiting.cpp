// What an application's thread does while it waits: run tasks, sleep, or find out that it waits for
// itself.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.hpp"
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
  throw UsageError(std::string(what) +
                   " inside a task: a task must not wait; name the data among its operands, or submit "
                   "another task that does what is to follow");
}

void RuntimeImpl::throw_if_held(const char* what) {
  std::string own;
  {
    const std::lock_guard lock(held_mutex_);
    for (const Acquisition* held : held_) {
      if (held->thread != std::this_thread::get_id()) return;  // may be released any time
      own += (own.empty() ? "" : ", ") + held->task->accesses()[0].handle->name;
    }
  }
  if (own.empty() || !engine_->stalled()) return;
  throw UsageError(std::string(what) + " waits for what this thread itself holds: it has acquired " +
                   own + "; release that first");
}

void RuntimeImpl::wait_simulated(const std::function<bool()>& done, const char* what) {
  while (!done()) {
    if (setup_.simulated->step()) continue;
    if (done()) return;
    throw_if_held(what);
    throw Error(std::string(what) + ": nothing is left to simulate, but it has not ended\n" +
                stall_report());
  }
}

void RuntimeImpl::wait_until(const std::function<bool()>& done, const char* what) {
  if (done()) return;
  if (setup_.simulated) return wait_simulated(done, what);
  const std::optional<WorkerId> slot = this->slot();
  const bool works = slot && !slot_taken_.exchange(true, std::memory_order_acq_rel);
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  if (works) engine_->worker_comes(*slot);
  struct Leave {
    RuntimeImpl& self;
    std::optional<WorkerId> slot;
    ~Leave() {
      if (slot) {
        self.engine_->worker_leaves(*slot);
        self.slot_taken_.store(false, std::memory_order_release);
      }
      self.waiting_.fetch_sub(1, std::memory_order_seq_cst);
    }
  } leave{*this, works ? slot : std::nullopt};
  for (;;) {
    const std::uint32_t slot_epoch = works ? setup_.cpu->wake_epoch() : 0;
    std::uint64_t epoch = 0;
    {
      const std::lock_guard lock(wait_mutex_);
      epoch = wait_epoch_;
    }
    if (done()) return;
    if (works && engine_->advance(*slot)) continue;
    if (done()) return;
    throw_if_held(what);
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
  wait_until([this] { return engine_->all_ended(); }, "wait");
  const std::exception_ptr error = engine_->take_error();
  if (refused) std::rethrow_exception(refused);
  if (error) std::rethrow_exception(error);
}

void RuntimeImpl::wait(Group& group) {
  not_inside_task("wait");
  flush_planned();
  engine_->submission_closed();
  wait_until([&] { return group.pending() == 0; }, "wait for a group");
  if (engine_->cancelling()) wait();  // throws the error that ended the tasks
}

void RuntimeImpl::wait(graph::Handle& handle) {
  not_inside_task("wait");
  flush_planned();
  const auto access = order(handle, handle.written ? AccessMode::R : AccessMode::W);
  const bool poisoned = handle.poisoned.load(std::memory_order_relaxed);
  engine_->end_acquisition(*access->task, false);
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
  task.inline_accesses[0] = {&handle, nullptr, &task, mode};
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
    if (access->state.compare_exchange_strong(expected, State::granted, std::memory_order_acq_rel)) {
      notify_waiters();
    } else {  // whoever wanted it is gone
      delete access;
      engine_->end_acquisition(self, false);
    }
  });
  access->task = &task;
  engine_->submit(task, {}, kNoWorker);
  const auto granted = [&] {
    return access->state.load(std::memory_order_acquire) == State::granted;
  };
  try {
    wait_until(granted, "acquire");
  } catch (...) {
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
  auto access = order(handle, mode);
  const auto give_up = [&](std::exception_ptr error) {
    engine_->end_acquisition(*access->task, false);
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
    if (!engine_->residency().fits(*access->task, kRam)) {
      give_up(std::make_exception_ptr(CapacityError(
          "acquire: handle " + handle.name + " of " + std::to_string(handle.bytes().value) +
          " bytes does not fit in RAM under the memory limit; raise the option memory")));
    }
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
  held_.push_back(access.get());
  return access;
}

void RuntimeImpl::release(Acquisition& acquisition) {
  {
    const std::lock_guard lock(held_mutex_);
    std::erase(held_, &acquisition);
  }
  engine_->end_acquisition(*acquisition.task, true);
}

std::string RuntimeImpl::stall_report() const {
  std::string text = engine_->describe();
  const std::lock_guard lock(held_mutex_);
  for (const Acquisition* held : held_) {
    const graph::Handle& handle = *held->task->accesses()[0].handle;
    text += "acquired by the application: " + handle.name + "\n";
    for (const graph::Access* waits = handle.head; waits != nullptr; waits = waits->next) {
      text += "  cycle, if that thread waits: task " + std::string(waits->task->name()) +
              " -> handle " + handle.name + " -> the thread that acquired it -> the task\n";
      break;
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
    if (ended == last && ended != engine_->submitted_tasks()) {
      base::process_log().warn("no task has ended for " + std::to_string(options_.stall_seconds) +
                               " s\n" + stall_report());
    }
    last = ended;
    lock.lock();
  }
}

}  // namespace vicinal::runtime
