#include "graphs/limits.hpp"

#include <fmt/format.h>

#include "graph/sound.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphs {

void require_within(std::string_view graph, std::string_view parameter, std::uint64_t value,
                    std::uint64_t lowest, std::uint64_t highest) {
  if (value >= lowest && value <= highest) return;
  throw UsageError(fmt::format("{}: {} is {}: choose it from {} to {}", graph, parameter, value,
                               lowest, highest));
}

void require_tasks(std::string_view graph, double count, std::string_view remedy) {
  if (count <= kMostTasks) return;
  throw UsageError(
      fmt::format("{}: the graph would have {:.0f} tasks, and at most {:.0f} are generated: "
                  "choose {}",
                  graph, count, kMostTasks, remedy));
}

void require_seconds(std::string_view graph, double seconds) {
  if (seconds > 0 && seconds <= graph::kMostTaskSeconds) return;
  throw UsageError(fmt::format("{}: seconds is {}: choose it above 0 and up to {}", graph, seconds,
                               graph::kMostTaskSeconds));
}

}  // namespace vicinal::graphs
