// Wall time spent in many short calls, by any number of threads. The processor's counter is read, not a
// clock: a clock, read twice per call of a policy, took a twentieth of a simulation.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/processor.hpp"
#include "vicinal/units.hpp"

namespace vicinal::base {

class Stopwatch {
 public:
  // Adds the ticks of its life. Null: nothing is timed.
  class Lap {
   public:
    explicit Lap(Stopwatch* watch) : watch_(watch), begin_(watch != nullptr ? ticks_now() : 0) {}
    Lap(const Lap&) = delete;
    Lap& operator=(const Lap&) = delete;
    ~Lap() {
      if (watch_ == nullptr) return;
      watch_->ticks_.fetch_add(ticks_now() - begin_, std::memory_order_relaxed);
    }

   private:
    Stopwatch* const watch_;
    const std::int64_t begin_;
  };

  // Of all laps. How long a tick is comes out of the whole life until now.
  Time time() const {
    using std::chrono::nanoseconds;
    const auto passed = std::chrono::duration_cast<nanoseconds>(Clock::now() - first_time_).count();
    const auto passed_ticks = static_cast<double>(ticks_now() - first_ticks_);
    if (passed_ticks <= 0) return {0};
    const auto ticks = static_cast<double>(ticks_.load(std::memory_order_relaxed));
    return {static_cast<std::int64_t>(ticks * static_cast<double>(passed) / passed_ticks)};
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::atomic<std::int64_t> ticks_{0};
  const std::int64_t first_ticks_ = ticks_now();
  const Clock::time_point first_time_ = Clock::now();
};

}  // namespace vicinal::base
