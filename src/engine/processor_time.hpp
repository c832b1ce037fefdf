// The processor time of some of a worker's tasks, one each millisecond: asking for it is a system call, and small tasks
// are not to pay for it. Less than the time that a task took says that its thread had no core meanwhile, or slept.
#pragma once

#include <ctime>
#include <optional>

#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

// Used by the thread that runs the worker's tasks.
class ProcessorTimer {
 public:
  void begin(TaskId task, Time now) {
    task_ = {};
    if (now < next_) return;
    next_ = now + kApart;
    begun_ = thread_time();
    if (begun_.ns > 0) task_ = task;
  }
  // None: this task is none of them.
  std::optional<Time> end(TaskId task) {
    if (!task_ || *task_ != task) return std::nullopt;
    task_.reset();
    return thread_time() - begun_;
  }

 private:
  static constexpr Time kApart{1'000'000};
  // 0: the system does not tell.
  static Time thread_time() {
    timespec time{};
    if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return {};
    return Time{std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec};
  }

  std::optional<TaskId> task_;
  Time next_;
  Time begun_;
};

}  // namespace vicinal::engine
