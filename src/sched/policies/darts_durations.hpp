// Durations that hardly differ, made equal.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/sure_memory.hpp"

namespace vicinal::sched::darts {

// DARTS lives on ties: among data that set equally much work free, the next rules choose. Measured durations of equal
// tasks differ a little, and a choice by such differences is one by chance. So a duration counts as the nearest one
// that is known and not more than 2 % away; without one it becomes known itself. Comparisons stay exact, and what
// really differs differs still.
class Durations {
 public:
  // O(log n) of n known ones, of which there are no more than 120 for each factor of 10.
  std::int64_t nearest(std::int64_t ns) {
    const auto above = std::ranges::lower_bound(known_, ns);
    const std::int64_t up = above != known_.end() ? *above - ns : kFar;
    const std::int64_t down = above != known_.begin() ? ns - *(above - 1) : kFar;
    if (std::min(up, down) <= ns / kOneIn) return up < down ? *above : *(above - 1);
    known_.insert(above, ns);
    return ns;
  }

 private:
  static constexpr std::int64_t kFar = INT64_MAX;
  static constexpr std::int64_t kOneIn = 50;

  base::SureVector<std::int64_t> known_;  // ascending
};

}  // namespace vicinal::sched::darts
