// How a task uses a handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vicinal {

// Of one task, at most.
inline constexpr std::size_t kMostOperands = 8192;

enum class AccessMode : std::uint8_t {
  R = 1,   // reads the content; many readers at once
  W = 2,   // overwrites all of the content; nothing is copied in
  RW = 3,  // reads, then changes
  // Adds to the content in a private copy, which is combined into the data later: see Runtime::set_reduction. The
  // data themselves are neither read nor written by the task.
  reduction = 0,
};

constexpr bool reads(AccessMode mode) {
  return (static_cast<unsigned>(mode) & 1U) != 0;
}
constexpr bool writes(AccessMode mode) {
  return (static_cast<unsigned>(mode) & 2U) != 0;
}

// A handle named twice in one task is accessed once, in the mode that covers both.
constexpr AccessMode strongest(AccessMode a, AccessMode b) {
  return static_cast<AccessMode>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

constexpr std::string_view to_string(AccessMode mode) {
  constexpr std::string_view names[] = {"reduction", "R", "W", "RW"};
  return names[static_cast<std::size_t>(mode)];
}

}  // namespace vicinal
