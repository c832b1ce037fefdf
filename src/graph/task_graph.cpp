#include "graph/task_graph.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "graph/bottom_level.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graph {

namespace {

double longest_seconds(const GraphKernel& kernel) {
  return *std::max_element(kernel.seconds.begin(), kernel.seconds.end());
}

// 0 if none is known.
double shortest_seconds(const GraphKernel& kernel) {
  double shortest = 0;
  for (const double seconds : kernel.seconds) {
    if (seconds > 0 && (shortest == 0 || seconds < shortest)) shortest = seconds;
  }
  return shortest;
}

void require_sums(const TaskGraph& graph, const std::string& origin) {
  double seconds = 0;
  for (const GraphTask& task : graph.tasks) seconds += longest_seconds(graph.kernels[task.kernel]);
  if (!(seconds <= kMostGraphSeconds)) {
    throw UsageError(
        fmt::format("{}: the tasks take {:.3g} s one after the other; at most {:.3g} s are "
                    "accepted. Are the kernels' times in seconds?",
                    origin, seconds, kMostGraphSeconds));
  }
  Bytes bytes;
  for (const GraphDatum& datum : graph.data) {
    if (datum.bytes > kMostGraphBytes - bytes) {
      throw UsageError(fmt::format("{}: the data up to \"{}\" have more than {} bytes altogether",
                                   origin, datum.name, kMostGraphBytes.value));
    }
    bytes += datum.bytes;
  }
  for (const GraphDatum& datum : graph.data) {
    if (datum.bytes > kLargestData) {
      throw UsageError(fmt::format("{}: \"{}\" has {} bytes; one datum has at most {} (1 PiB)",
                                   origin, datum.name, datum.bytes.value, kLargestData.value));
    }
  }
}

void require_first_writes(const TaskGraph& graph, const std::string& origin) {
  std::vector<bool> has_content(graph.data.size());
  for (std::size_t d = 0; d < graph.data.size(); ++d) has_content[d] = graph.data[d].has_home;
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    for (const GraphAccess& access : graph.accesses_of(graph.tasks[t])) {
      if (reads(access.mode) && !has_content[access.datum]) {
        const GraphTask& task = graph.tasks[t];
        throw UsageError(
            fmt::format("{}: tasks[{}] ({}) reads \"{}\", which has no home and which no task "
                        "before it writes. Give "
                        "the datum a home, \"ram\" or \"disk\", or let a task write it first",
                        origin, t, task.name.empty() ? graph.kernels[task.kernel].name : task.name,
                        graph.data[access.datum].name));
      }
    }
    for (const GraphAccess& access : graph.accesses_of(graph.tasks[t])) {
      if (writes(access.mode)) has_content[access.datum] = true;
    }
  }
}

// The length of a task of each kernel, for bottom levels. Operations are scaled to at most 10^9: the sum
// of a path of 10^9 tasks still fits.
std::vector<Time> lengths(const std::vector<GraphKernel>& kernels) {
  double most_seconds = 0;
  double most_flops = 0;
  for (const GraphKernel& kernel : kernels) {
    most_seconds = std::max(most_seconds, shortest_seconds(kernel));
    most_flops = std::max(most_flops, kernel.flops);
  }
  std::vector<Time> lengths;
  lengths.reserve(kernels.size());
  for (const GraphKernel& kernel : kernels) {
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

}  // namespace

void require_sound(const TaskGraph& graph, const std::string& origin) {
  if (graph.tasks.empty()) throw UsageError(origin + ": the graph has no task");
  require_sums(graph, origin);
  require_first_writes(graph, origin);
}

void set_bottom_level_priorities(TaskGraph& graph) {
  std::vector<PlannedAccess> accesses;
  accesses.reserve(graph.accesses.size());
  for (const GraphAccess& access : graph.accesses) accesses.push_back({access.datum, access.mode});

  const std::vector<Time> length = lengths(graph.kernels);
  std::vector<PlannedTask> tasks;
  tasks.reserve(graph.tasks.size());
  for (const GraphTask& task : graph.tasks) {
    tasks.push_back(
        {length[task.kernel], std::span(accesses).subspan(task.first_access, task.access_count)});
  }
  const std::vector<Time> levels = bottom_levels(tasks, graph.data.size());

  std::vector<Time> ranks = levels;
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  for (std::size_t t = 0; t < levels.size(); ++t) {
    const auto rank = std::lower_bound(ranks.begin(), ranks.end(), levels[t]) - ranks.begin();
    graph.tasks[t].priority = static_cast<int>(rank);
  }
}

}  // namespace vicinal::graph
