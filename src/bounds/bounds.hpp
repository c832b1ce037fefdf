// Lower bounds on the time of a graph and on the bytes it moves: what no schedule can beat. Reports
// set them beside what a run took. All are rounded down.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "graph/bottom_level.hpp"
#include "vicinal/units.hpp"

namespace vicinal::bounds {

struct FlopsPerSecond {
  double value = 0;
};

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

// The work shared evenly by all workers. They must be alike: of unlike ones, give each task its
// shortest duration. 0 without workers.
TimeBound work_bound(std::span<const graph::PlannedTask> tasks, std::uint32_t workers);
// `rate` is that of one worker. 0 without workers or rate.
TimeBound work_bound(double flops, std::uint32_t workers, FlopsPerSecond rate);
// The longest path of the graph.
TimeBound critical_path_bound(std::span<const graph::PlannedTask> tasks, std::size_t data_count);
// `bytes` over a link, or over several of `rate` together. 0 if the rate is 0 (not known).
TimeBound transfer_bound(const BytesBound& bytes, BytesPerSecond rate);

}  // namespace vicinal::bounds
