// What random programs leave out, each for a named reason. All false: everything is tried. What is true is
// known to fail at present.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace vicinal::testing {

// By name in TEST_EXCLUDE_VICINAL, with commas, to look at the rest while something is being mended.
inline bool excluded_by_hand(std::string_view name) {
  const char* const text = std::getenv("TEST_EXCLUDE_VICINAL");
  if (text == nullptr) return false;
  const std::string_view all(text);
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find(',', at), all.size());
    if (all.substr(at, end - at) == name) return true;
    at = end + 1;
  }
  return false;
}

// The one place where something is left out for everybody.
struct Exclusions {
  bool darts = false || excluded_by_hand("darts");
  // Simulated: workers of two kinds beside one memory.
  bool mixed_kinds = false || excluded_by_hand("mixed_kinds");
  bool computed_priorities = false || excluded_by_hand("computed_priorities");
  // Where several threads submit.
  bool computed_priorities_of_threads = false || excluded_by_hand("computed_priorities_of_threads");
  // A kernel submits to a runtime that is not its own.
  bool across_runtimes = false || excluded_by_hand("across_runtimes");
  // One thread unregisters what others still submit.
  bool retire = false || excluded_by_hand("retire");
  // Where on_end functions of cancelled tasks submit.
  bool window_with_failures = false || excluded_by_hand("window_with_failures");
  // The option memory_rules.
  bool memory_rules = false || excluded_by_hand("memory_rules");
  // Allocations of the runtime that fail.
  bool failing_allocations = false || excluded_by_hand("failing_allocations");
  bool cancel = false || excluded_by_hand("cancel");
};

inline const Exclusions& excluded() {
  static const Exclusions all;
  return all;
}

}  // namespace vicinal::testing
