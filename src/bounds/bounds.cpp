#include "bounds/bounds.hpp"

#include <algorithm>
#include <utility>

#include "graph/bottom_level.hpp"

namespace vicinal::bounds {

namespace {

constexpr std::string_view kCounting = "counting";

// Beyond what a Time holds (292 years) it stays the largest one.
Time from_nanoseconds(double ns) {
  constexpr double kMost = 9.2e18;
  return {static_cast<std::int64_t>(std::min(ns, kMost))};
}

}  // namespace

Time rounded_down(double seconds) {
  constexpr double kPart = 1e-9;
  return from_nanoseconds(std::max(0.0, seconds) * (1 - kPart) * 1e9);
}

TimeBound work_bound(double flops, std::uint32_t workers, FlopsPerSecond rate) {
  TimeBound bound{.value = {}, .name = "work", .source = kCounting};
  const double together = workers * rate.value;
  if (together > 0) bound.value = from_nanoseconds(flops / together * 1e9);
  return bound;
}

TimeBound critical_path_bound(const graph::Graph& graph, std::vector<Time> durations) {
  TimeBound bound{.value = {}, .name = "critical path", .source = kCounting};
  for (const Time level : graph::bottom_levels(graph, std::move(durations))) {
    bound.value = std::max(bound.value, level);
  }
  return bound;
}

TimeBound transfer_bound(const BytesBound& bytes, BytesPerSecond rate) {
  TimeBound bound{.value = {}, .name = bytes.name, .source = bytes.source};
  if (rate.value > 0) {
    bound.value = from_nanoseconds(static_cast<double>(bytes.value.value) / rate.value * 1e9);
  }
  return bound;
}

}  // namespace vicinal::bounds
