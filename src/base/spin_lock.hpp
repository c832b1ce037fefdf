// A lock held for some nanoseconds.
#pragma once

#include <atomic>
#include <thread>

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
  static constexpr int kSpinsBeforeYield = 64;
  void wait() {
    for (int spins = 1; !try_lock(); ++spins) {
      if (spins % kSpinsBeforeYield == 0) std::this_thread::yield();
    }
  }
  std::atomic<bool> locked_{false};
};

}  // namespace vicinal::base
