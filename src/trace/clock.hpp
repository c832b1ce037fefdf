// The clock of a recording: a counter of the processor where all cores share one that never changes its pace, else the
// raw monotonic clock (which nobody adjusts). Ticks are made into nanoseconds by pairs of readings of both.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/processor.hpp"

namespace vicinal::trace {

enum class ClockKind : std::uint8_t { counter, monotonic_raw, simulated };

std::string_view to_string(ClockKind kind);

// The processor says that its counter keeps its pace; the environment is not asked.
bool has_steady_counter();

std::int64_t monotonic_raw_now();  // ns

// ns that a recording may last: 73 years.
inline constexpr std::int64_t kLongestRecording = std::int64_t{1} << 61;

// Both clocks at one moment: of several attempts that in which least time passed between them.
struct ClockPair {
  std::int64_t ticks = 0;
  std::int64_t ns = 0;  // of the raw monotonic clock
};
ClockPair read_both(ClockKind kind);

inline std::int64_t ticks_now(ClockKind kind) {
  return kind == ClockKind::counter ? base::ticks_now() : monotonic_raw_now();
}

// From ticks to nanoseconds since `origin`. The pace is what two pairs give that lie far enough apart.
class ClockScale {
 public:
  ClockScale() = default;
  explicit ClockScale(double ns_per_tick) : ns_per_tick_(ns_per_tick) {}
  ClockScale(const ClockPair& first, const ClockPair& last);
  std::int64_t ns_since(std::int64_t origin, std::int64_t ticks) const {
    const double scaled = static_cast<double>(ticks - origin) * ns_per_tick_;
    return static_cast<std::int64_t>(scaled + (scaled < 0 ? -0.5 : 0.5));
  }
  double ns_per_tick() const { return ns_per_tick_; }

 private:
  double ns_per_tick_ = 1;
};

}  // namespace vicinal::trace
