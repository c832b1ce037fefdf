#include "trace/clock.hpp"

#include <ctime>
#include <limits>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace vicinal::trace {

std::string_view to_string(ClockKind kind) {
  constexpr std::string_view names[] = {"counter", "monotonic_raw", "simulated"};
  return names[static_cast<std::size_t>(kind)];
}

bool has_steady_counter() {
#if defined(__x86_64__)
  // Bit 8 of EDX: it ticks at one pace in all states of power.
  constexpr unsigned kPowerLeaf = 0x80000007U;
  constexpr unsigned kInvariant = 1U << 8;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(kPowerLeaf, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariant) != 0;
#elif defined(__aarch64__)
  return true;  // the architecture says so
#else
  return false;
#endif
}

std::int64_t monotonic_raw_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

ClockPair read_both(ClockKind kind) {
  if (kind != ClockKind::counter) {
    const std::int64_t now = monotonic_raw_now();
    return {now, now};
  }
  // The processor may be taken away between two readings, hardly each time.
  constexpr int kAttempts = 16;
  ClockPair best;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const std::int64_t before = monotonic_raw_now();
    const std::int64_t ticks = base::ticks_now();
    const std::int64_t passed = monotonic_raw_now() - before;
    if (passed >= least) continue;
    least = passed;
    best = {ticks, before + passed / 2};
  }
  return best;
}

ClockScale::ClockScale(const ClockPair& first, const ClockPair& last) {
  const std::int64_t ticks = last.ticks - first.ticks;
  if (ticks == 0) return;
  ns_per_tick_ = static_cast<double>(last.ns - first.ns) / static_cast<double>(ticks);
}

}  // namespace vicinal::trace
