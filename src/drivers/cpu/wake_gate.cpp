#include "drivers/cpu/wake_gate.hpp"

#include <algorithm>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drivers/clock.hpp"

namespace vicinal::drivers {

namespace {

constexpr std::uint32_t kAsleep = 1;
constexpr std::uint32_t kOneWake = 2;
// 30 years, so that the sum with the clock does not overflow.
constexpr Time kLongest{1'000'000'000 * kNsPerSecond};

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// Returns when woken, when the word is not `value`, at the deadline, or without a cause.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::optional<Time> deadline) {
  timespec at{};
  if (deadline) at = to_timespec(*deadline);
  // WAIT_BITSET, because its time is absolute, on the monotonic clock.
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, deadline ? &at : nullptr, nullptr,
          FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

bool WakeGate::wait(std::uint32_t epoch, std::optional<Time> timeout) {
  std::uint32_t expected = epoch;
  const std::uint32_t asleep = epoch | kAsleep;
  std::optional<Time> deadline;
  if (timeout) deadline = monotonic_now() + std::clamp(*timeout, Time{0}, kLongest);
  // Acquire, here and below, pairs with the release of wake.
  if (!word_.compare_exchange_strong(expected, asleep, std::memory_order_acquire)) return true;
  while (word_.load(std::memory_order_acquire) == asleep) {
    if (deadline && monotonic_now() >= *deadline) {
      expected = asleep;
      return !word_.compare_exchange_strong(expected, epoch, std::memory_order_acquire);
    }
    futex_wait(word_, asleep, deadline);
  }
  return true;
}

void WakeGate::wake() {
  std::uint32_t word = word_.load(std::memory_order_relaxed);
  // The first wake clears the mark of the sleeper, so that later ones make no system call. Release
  // pairs with the acquires of epoch and wait.
  while (!word_.compare_exchange_weak(word, (word & ~kAsleep) + kOneWake, std::memory_order_release,
                                      std::memory_order_relaxed)) {
  }
  if ((word & kAsleep) != 0) syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace vicinal::drivers
