// Where one thread sleeps until another wakes it, without a lost wake-up and without a lock.
//
//   const std::uint32_t epoch = gate.epoch();   // before looking for work
//   while (completions.advance(worker)) {}
//   gate.wait(epoch);                           // returns at once if a wake came since epoch()
//
// A futex of our own: std::atomic::wait has no timeout. A wake of a thread that is awake costs one
// compare-and-swap and no system call.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "vicinal/units.hpp"

namespace vicinal::drivers {

class alignas(64) WakeGate {
 public:
  // The owner, the only one that may wait.
  std::uint32_t epoch() const {
    // Acquire pairs with the release of wake: what was made before it is seen by the look for work.
    return word_.load(std::memory_order_acquire);
  }
  // Sleeps until a wake later than epoch(), or until the timeout. True if there was such a wake.
  bool wait(std::uint32_t epoch, std::optional<Time> timeout = std::nullopt);
  // Any thread, any locks.
  void wake();

 private:
  // Bit 0: the owner sleeps. Above it: wakes so far, modulo 2^31; the owner would have to miss 2^31
  // of them between epoch() and wait() to sleep wrongly.
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace vicinal::drivers
