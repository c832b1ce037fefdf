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
  return mode == AccessMode::R ? "R" : mode == AccessMode::W ? "W" : "RW";
}

}  // namespace vicinal
