#include "graph/bottom_level.hpp"

#include <algorithm>
#include <utility>

namespace vicinal::graph {

std::vector<Time> bottom_levels(std::span<const PlannedTask> tasks, std::size_t data_count) {
  // What comes after the current task, per datum: the bottom level of the next writer, and the
  // largest of the readers before it. 0: none.
  struct Later {
    Time writer;
    Time readers;
  };
  std::vector<Later> later(data_count);
  std::vector<Time> levels(tasks.size());
  for (std::size_t t = tasks.size(); t-- > 0;) {
    const auto accesses = tasks[t].accesses;
    Time after;
    for (const auto& [data, mode] : accesses) {
      after = std::max(after, later[data].writer);
      if (writes(mode)) after = std::max(after, later[data].readers);
    }
    levels[t] = tasks[t].duration + after;
    // In a loop of its own: a task that names a datum twice does not follow itself.
    for (const auto& [data, mode] : accesses) {
      if (writes(mode)) {
        later[data] = {.writer = levels[t], .readers = {}};
      } else {
        later[data].readers = std::max(later[data].readers, levels[t]);
      }
    }
  }
  return levels;
}

std::vector<Time> bottom_levels(const Graph& graph, std::vector<Time> durations) {
  // What comes after the current task, per datum: the bottom level of the next writer, and the
  // largest of the readers before it. 0: none.
  struct Later {
    Time writer;
    Time readers;
  };
  std::vector<Later> later(graph.data().size());
  // Per task, of those that name it as a predecessor.
  std::vector<Time> named(graph.has_predecessors() ? graph.tasks().size() : 0);
  std::vector<Time> levels = std::move(durations);
  for (std::size_t t = graph.tasks().size(); t-- > 0;) {
    const auto accesses = graph.accesses_of(graph.tasks()[t]);
    Time after = named.empty() ? Time{0} : named[t];
    for (const auto& [datum, mode] : accesses) {
      after = std::max(after, later[datum].writer);
      if (writes(mode)) after = std::max(after, later[datum].readers);
    }
    levels[t] += after;
    // In a loop of its own: a task that names a datum twice does not follow itself.
    for (const auto& [datum, mode] : accesses) {
      if (writes(mode)) {
        later[datum] = {.writer = levels[t], .readers = {}};
      } else {
        later[datum].readers = std::max(later[datum].readers, levels[t]);
      }
    }
    for (const Graph::Number before : graph.predecessors_of(t)) {
      named[before] = std::max(named[before], levels[t]);
    }
  }
  return levels;
}

}  // namespace vicinal::graph
