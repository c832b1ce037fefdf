// For how long some content of other ranks was awaited, whatever the number of it: beside the idle time of workers it tells
// why they had nothing to do.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "vicinal/units.hpp"

namespace vicinal::engine {

// Any thread. Times are of the monotonic clock, as the engine's are in a real run.
class AwaitedTime {
 public:
  void begin(Time now) {
    const std::lock_guard lock(mutex_);
    is_used_.store(true, std::memory_order_relaxed);
    if (count_++ == 0) since_ = now;
  }
  void end(Time now) {
    const std::lock_guard lock(mutex_);
    if (--count_ == 0) sum_ += now - since_;
  }
  // From the start on.
  Time until(Time now) const {
    if (!is_used_.load(std::memory_order_relaxed)) return {};
    const std::lock_guard lock(mutex_);
    // `now` may have been read before something began.
    return count_ > 0 && since_ < now ? sum_ + (now - since_) : sum_;
  }

 private:
  mutable std::mutex mutex_;
  std::atomic<bool> is_used_{false};
  std::uint64_t count_ = 0;  // of what is awaited now
  Time since_;
  Time sum_;
};

}  // namespace vicinal::engine
