#include "bounds/bounds.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "graph/bottom_level.hpp"

namespace vicinal::bounds {

namespace {

// Beyond what a Time holds (292 years) it stays the largest one.
Time from_nanoseconds(double ns) {
  constexpr double kMost = 9.2e18;
  return {static_cast<std::int64_t>(std::min(ns, kMost))};
}

// Tasks that commute on a datum follow each other in some order: the most that those of one datum take together.
Time longest_turns(const graph::Graph& graph, std::span<const Time> durations) {
  std::vector<Time> turns;
  Time longest;
  for (std::size_t t = 0; t < durations.size(); ++t) {
    for (const auto& [datum, mode] : graph.accesses_of(graph.tasks()[t])) {
      if (!commutes(mode)) continue;
      turns.resize(graph.data().size());
      turns[datum] += durations[t];
      longest = std::max(longest, turns[datum]);
    }
  }
  return longest;
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

TimeBound critical_path_bound(const graph::Graph& graph, std::vector<Time> durations,
                              std::span<const Time> combinations) {
  TimeBound bound{.value = {}, .name = "critical path", .source = kCounting};
  bound.value = longest_turns(graph, durations);
  for (const Time level : graph::bottom_levels(graph, std::move(durations), combinations)) {
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
