// The monotonic clock, as drivers need it for timeouts and for the pace of emulated links.
#pragma once

#include <cstdint>
#include <ctime>

#include "vicinal/units.hpp"

namespace vicinal::drivers {

inline constexpr std::int64_t kNsPerSecond = 1'000'000'000;

inline timespec to_timespec(Time time) {
  return {time.ns / kNsPerSecond, time.ns % kNsPerSecond};
}

inline Time monotonic_now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return {time.tv_sec * kNsPerSecond + time.tv_nsec};
}

}  // namespace vicinal::drivers
