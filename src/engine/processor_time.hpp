// The processor time of a worker's thread, looked at once a millisecond: that is a system call, and small tasks are not to
// pay for it. Where it grows less than the tasks took, the thread had no core meanwhile, or slept.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>

#include "vicinal/units.hpp"

namespace vicinal::engine {

// Used by the thread that runs the worker's tasks.
class ProcessorTimer {
 public:
  // Since the thread began. None: the last look was not long ago, or the system does not tell.
  std::optional<Time> look(Time now) {
    if (now < next_) return std::nullopt;
    next_ = now + kApart;
    timespec time{};
    if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) != 0) return std::nullopt;
    return Time{std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec};
  }

 private:
  static constexpr Time kApart{1'000'000};
  Time next_;
};

}  // namespace vicinal::engine
