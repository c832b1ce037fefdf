// What went wrong in a run: the first error is kept, the others are consequences. While the run is cancelled tasks
// that have not started do not start.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>

#include "engine/sleepers.hpp"
#include "graph/handle.hpp"
#include "graph/task.hpp"

namespace vicinal::engine {

class Errors {
 public:
  explicit Errors(Sleepers& sleepers) : sleepers_(sleepers) {}

  bool cancelling() const { return cancelling_.load(std::memory_order_relaxed); }
  bool any() const;
  void report(std::exception_ptr error);
  // Until the errors are taken. `cause`: null if the application wants it.
  void cancel(std::exception_ptr cause);
  // A write-back has failed. Told once, and at once with the note that it was told: copies end when they
  // will, also after the wait that threw the error. Whoever needs room later has a request that fails.
  void cancel_broken(const std::exception_ptr& error);
  // What the task's kernel threw, with the task's name before it; the run is cancelled.
  void fail(const graph::Task& task, const std::exception_ptr& error);
  void report_poisoned(const graph::Task& task, const graph::Handle& handle);

  struct Taken {
    std::exception_ptr error;
    bool broken = false;  // a failed write-back was told since the last time
  };
  // The run goes on.
  Taken take();

 private:
  Sleepers& sleepers_;  // who sleeps is woken, to end what it would have run
  std::atomic<bool> cancelling_{false};
  mutable std::mutex mutex_;  // guards what follows
  std::exception_ptr error_;
  bool told_broken_ = false;
};

}  // namespace vicinal::engine
