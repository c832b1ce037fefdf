#include "graph/bottom_level.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/without_parts.hpp"

namespace vicinal::graph {

namespace {

// 0 if none is known.
double shortest_seconds(const Graph::Kernel& kernel) {
  double shortest = 0;
  for (const double seconds : kernel.seconds) {
    if (seconds > 0 && (shortest == 0 || seconds < shortest)) shortest = seconds;
  }
  return shortest;
}

// The length of a task of each kernel, for bottom levels. Operations are scaled to at most 10^9: the sum
// of a path of 10^9 tasks still fits.
std::vector<Time> lengths(std::span<const Graph::Kernel> kernels) {
  double most_seconds = 0;
  double most_flops = 0;
  for (const Graph::Kernel& kernel : kernels) {
    most_seconds = std::max(most_seconds, shortest_seconds(kernel));
    most_flops = std::max(most_flops, kernel.flops);
  }
  std::vector<Time> lengths;
  lengths.reserve(kernels.size());
  for (const Graph::Kernel& kernel : kernels) {
    double length = 1;
    if (most_seconds > 0) {
      length = shortest_seconds(kernel) * 1e9;
    } else if (most_flops > 0) {
      length = kernel.flops / most_flops * 1e9;
    }
    lengths.push_back({static_cast<std::int64_t>(std::ceil(length))});
  }
  return lengths;
}

// An access goes with the accesses behind it if `next`, the earliest of these, does not exclude it. Readers go with
// reducing tasks behind them, which work on copies. Between reducing tasks and later readers lies a combination.
bool goes_with(AccessMode mode, AccessMode next) {
  if (mode == AccessMode::R && next == AccessMode::reduction) return true;
  return !is_exclusive(mode) && mode == next;
}

}  // namespace

std::vector<Time> bottom_levels(const Graph& graph, std::vector<Time> durations,
                                std::span<const Time> combinations) {
  if (!graph.partitions().empty()) {
    return bottom_levels(without_parts(graph), std::move(durations), combinations);
  }
  // What comes after the current task, per datum: the next access that excludes others, or the next group of accesses
  // that do not exclude each other: readers, reductions, or commuting accesses.
  struct Later {
    Time group;   // how long it takes from their start to the end of the graph
    Time behind;  // the same of what comes after them
    Time sum;     // of the lengths of those that commute: they take turns
    AccessMode mode = AccessMode::RW;
  };
  std::vector<Later> later(graph.data().size());
  // Per task, of those that name it as a predecessor.
  std::vector<Time> named(graph.has_predecessors() ? graph.tasks().size() : 0);
  std::vector<Time> levels = std::move(durations);
  // Between a run of tasks that reduce and what comes after them.
  const auto combination = [&](Graph::Number datum, AccessMode mode) {
    const bool reduces = mode == AccessMode::reduction && datum < combinations.size();
    return reduces ? combinations[datum] : Time{0};
  };
  for (std::size_t t = graph.tasks().size(); t-- > 0;) {
    const auto accesses = graph.accesses_of(graph.tasks()[t]);
    Time after = named.empty() ? Time{0} : named[t];
    for (const auto& [datum, mode] : accesses) {
      if (mode == AccessMode::scratch) continue;
      const bool joins = goes_with(mode, later[datum].mode);
      after = std::max(after,
                       joins ? later[datum].behind : later[datum].group + combination(datum, mode));
    }
    const Time length = levels[t];
    levels[t] += after;
    // In a loop of its own: a task that names a datum twice does not follow itself.
    for (const auto& [datum, mode] : accesses) {
      if (mode == AccessMode::scratch) continue;
      Later& next = later[datum];
      if (goes_with(mode, next.mode)) {
        next.mode = mode;
      } else {
        next = {
            .group = {}, .behind = next.group + combination(datum, mode), .sum = {}, .mode = mode};
      }
      next.group = std::max(next.group, levels[t]);
      if (!commutes(mode)) continue;
      next.sum += length;
      next.group = std::max(next.group, next.sum + next.behind);
    }
    for (const Graph::Number before : graph.predecessors_of(t)) {
      named[before] = std::max(named[before], levels[t]);
    }
  }
  return levels;
}

void set_bottom_level_priorities(Graph& graph) {
  const std::vector<Time> length = lengths(graph.kernels());
  std::vector<Time> durations;
  durations.reserve(graph.tasks().size());
  for (const Graph::Task& task : graph.tasks()) durations.push_back(length[task.kernel]);
  std::vector<Time> combinations(graph.reductions().empty() ? 0 : graph.data().size());
  for (const Graph::Reduction& reduction : graph.reductions()) {
    combinations[reduction.datum] = length[reduction.combine];
  }
  const std::vector<Time> levels = bottom_levels(graph, std::move(durations), combinations);

  std::vector<Time> ranks = levels;
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (std::size_t t = 0; t < levels.size(); ++t) {
    const auto rank = std::lower_bound(ranks.begin(), ranks.end(), levels[t]) - ranks.begin();
    graph.set_priority(t, static_cast<int>(rank));
  }
}

}  // namespace vicinal::graph
