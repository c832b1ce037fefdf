// A lock held for some nanoseconds.
#pragma once

#include <atomic>
#include <thread>

#include "base/processor.hpp"

namespace vicinal::base {

// Yields where there are more threads than cores and its holder sleeps.
class SpinLock {
 public:
  bool try_lock() {
    return !locked_.load(std::memory_order_relaxed) &&
           !locked_.exchange(true, std::memory_order_acquire);  // pairs with unlock
  }
  void lock() {
    if (locked_.exchange(true, std::memory_order_acquire)) wait();  // pairs with unlock
  }
  void unlock() { locked_.store(false, std::memory_order_release); }

 private:
  // Looks ever less often, so that the holder keeps the line it has to write.
  [[gnu::noinline]] void wait() {
    constexpr int kMostPauses = 64;
    for (int pauses = 1; !try_lock(); pauses *= 2) {
      if (pauses > kMostPauses) {
        std::this_thread::yield();
        pauses = kMostPauses;
      }
      for (int i = 0; i < pauses; ++i) pause();
    }
  }
  std::atomic<bool> locked_{false};
};

}  // namespace vicinal::base
