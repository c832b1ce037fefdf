// Lower bounds on the time of a graph and on the bytes it moves: what no schedule can beat. Reports
// set them beside what a run took. All are rounded down.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "vicinal/units.hpp"

namespace vicinal::bounds {

struct FlopsPerSecond {
  double value = 0;
};

// The source of a bound that needs no theorem.
inline constexpr std::string_view kCounting = "counting";

struct TimeBound {
  Time value;
  std::string_view name;    // "work"
  std::string_view source;  // who proved it
};

struct BytesBound {
  Bytes value;
  // The leading term alone, for comparison with papers; it is no bound at this size. 0 if there is none.
  Bytes leading;
  std::string_view name;
  std::string_view source;  // of the term that `value` is
};

// A bound that was computed in floating point: less a part in 10^9, which is more than the rounding
// of any sum here, and down to a nanosecond.
Time rounded_down(double seconds);

// --- Time ----------------------------------------------------------------------------------------

// The work shared evenly by all workers, which are alike; `rate` is that of one. 0 without workers or rate.
TimeBound work_bound(double flops, std::uint32_t workers, FlopsPerSecond rate);
// The longest path of the graph; `durations` and `combinations` as for graph::bottom_levels.
TimeBound critical_path_bound(const graph::Graph& graph, std::vector<Time> durations,
                              std::span<const Time> combinations = {});
// `bytes` over a link, or over several of `rate` together. 0 if the rate is 0 (not known).
TimeBound transfer_bound(const BytesBound& bytes, BytesPerSecond rate);

}  // namespace vicinal::bounds
