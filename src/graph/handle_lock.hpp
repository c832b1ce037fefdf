// The lock bit of a handle, under which its queue of accesses changes.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/processor.hpp"
#include "graph/handle.hpp"

namespace vicinal::graph {

inline constexpr std::uint64_t kReadersMask = ~std::uint64_t{0xff};

inline void pause(int& spins) {
  if (++spins % 64 == 0) {
    std::this_thread::yield();  // the holder may have lost its core
  } else {
    base::pause();
  }
}

[[gnu::noinline]] inline std::uint64_t wait_for_lock(Handle& handle) {
  int spins = 0;
  std::uint64_t word = handle.word.load(std::memory_order_relaxed);
  for (;;) {
    if ((word & kLocked) == 0) {
      if (handle.word.compare_exchange_weak(word, word | kLocked, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
        return word;
      }
    } else {
      pause(spins);
      word = handle.word.load(std::memory_order_relaxed);
    }
  }
}

// Returns the word without the lock bit.
inline std::uint64_t lock(Handle& handle) {
  std::uint64_t word = handle.word.load(std::memory_order_relaxed);
  if ((word & kLocked) == 0 &&
      handle.word.compare_exchange_strong(word, word | kLocked, std::memory_order_acquire,
                                          std::memory_order_relaxed)) [[likely]] {
    return word;
  }
  return wait_for_lock(handle);
}

// Pairs with the acquire in lock().
inline void unlock(Handle& handle, std::uint64_t word) {
  handle.word.store(word, std::memory_order_release);
}

// For what takes memory under the lock: it is given back also when there is none.
class Unlocks {
 public:
  Unlocks(Handle& handle, std::uint64_t word) : handle_(handle), word_(word) {}
  ~Unlocks() { unlock(handle_, word_); }
  Unlocks(const Unlocks&) = delete;
  Unlocks& operator=(const Unlocks&) = delete;

 private:
  Handle& handle_;
  const std::uint64_t word_;
};

}  // namespace vicinal::graph
