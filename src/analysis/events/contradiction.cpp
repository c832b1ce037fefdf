#include "analysis/events/contradiction.hpp"

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::analysis {

void refuse_events(const std::string& path, std::string_view what) {
  throw UsageError(
      fmt::format("{}: the events of the recording contradict each other: {}; record the run again",
                  path, what));
}

}  // namespace vicinal::analysis
