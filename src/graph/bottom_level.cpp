#include "graph/bottom_level.hpp"

#include <algorithm>

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

}  // namespace vicinal::graph
