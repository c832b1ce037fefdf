// What went wrong in a run: the first error is kept, the others are consequences. While the run is cancelled tasks
// of the application that have not started do not start. Those of the runtime that hand on what was done do. A group
// that is cancelled is so for its tasks alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>

#include "base/sure_memory.hpp"
#include "engine/sleepers.hpp"
#include "graph/group.hpp"
#include "graph/handle.hpp"
#include "graph/task.hpp"

namespace vicinal::engine {

class Errors {
 public:
  explicit Errors(Sleepers& sleepers) : sleepers_(sleepers) {}

  bool cancelling() const { return (cancelling_.load(std::memory_order_relaxed) & kRun) != 0; }
  // It, or a group.
  bool cancels_any() const {
    return (cancelling_.load(std::memory_order_relaxed) & (kRun | kGroups)) != 0;
  }
  // Nothing is cancelled, and no handle was ever poisoned: one look for each task.
  bool none_yet() const { return cancelling_.load(std::memory_order_relaxed) == 0; }
  // Before a handle is poisoned. Relaxed: who gets access to the handle sees it with that.
  void note_poison() { cancelling_.fetch_or(kPoison, std::memory_order_relaxed); }
  // This task does not start.
  bool cancels(const graph::Task& task) const { return cancels_any() && cancels_this(task); }
  bool any() const { return first() != nullptr; }
  std::exception_ptr first() const;  // null: none
  // The application knows of the first error, by a call that has thrown it without taking it.
  bool is_told() const;
  void report(const std::exception_ptr& error);
  // Tasks that have not started do not, until everything has ended and the errors are taken. `cause`: null if the
  // application wants it.
  void cancel(const std::exception_ptr& cause = nullptr);
  // Tasks of this group alone, until the errors are taken or `forgive`.
  void cancel(graph::GroupCount& group);
  // All tasks of the group have ended.
  static void forgive(graph::GroupCount& group) { group.cancel(0); }
  // Also the runtime's own tasks: nobody can run them.
  void cancel_all(const std::exception_ptr& cause);
  // A write-back has failed. Told once, and at once with the note that it was told: copies end when they
  // will, also after the wait that threw the error. Whoever needs room later has a request that fails.
  void cancel_broken(const std::exception_ptr& error);
  // What the task's kernel threw, nested in a TaskError with the task's name; the run is cancelled.
  void fail(const graph::Task& task, const std::exception_ptr& error);
  void report_poisoned(const graph::Task& task, const graph::Handle& handle);

  // --- why content is lost: kept by handle until it is written anew, or registered
  // What the task would have written, which did not run or has failed in others that it waited for.
  void note_cancelled(const graph::Task& task);
  void note_written(const graph::Handle& handle) {
    if (any_failures_.load(std::memory_order_relaxed)) forget_failure(handle);
  }
  // A PoisonedError that says `text` and why, and nests what the kernel threw; for who asks for the content.
  std::exception_ptr tell_lost(const graph::Handle& handle, const std::string& text);

  struct Taken {
    std::exception_ptr error;
    bool broken = false;  // a failed write-back was told since the last time
  };
  // The run goes on.
  Taken take();

 private:
  // Bits of `cancelling_`.
  static constexpr std::uint32_t kRun = 1;
  static constexpr std::uint32_t kGroups = 2;  // some of them
  static constexpr std::uint32_t kPoison = 4;  // some handle was poisoned; for ever
  bool cancels_this(const graph::Task& task) const;
  void set_first(const std::exception_ptr& error, const std::exception_ptr& failure);
  void note_lost(const graph::Task& task, const std::exception_ptr& failure);
  void forget_failure(const graph::Handle& handle);
  std::exception_ptr failure_of(const graph::Handle& handle) const;

  Sleepers& sleepers_;  // who sleeps is woken, to end what it would have run
  std::atomic<std::uint32_t> cancelling_{0};
  // Of groups, since the errors were taken; 0: none was cancelled. No two runtimes have the same.
  std::atomic<std::uint64_t> cancellation_{0};
  std::atomic<bool> all_{false};
  mutable std::mutex mutex_;  // guards what follows
  std::exception_ptr error_;
  std::exception_ptr
      failure_;  // behind it: another, where the task only read what that has left poisoned
  bool is_told_ = false;
  bool told_broken_ = false;
  base::SureUnorderedMap<const graph::Handle*, std::exception_ptr> failures_;
  std::atomic<bool> any_failures_{false};  // ever
};

}  // namespace vicinal::engine
