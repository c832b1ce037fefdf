// How a task uses a handle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vicinal {

// Of one task, at most.
inline constexpr std::size_t kMostOperands = 8192;

// What a task does with an operand.
enum class AccessMode : std::uint8_t {
  R = 1,   // reads the content; many readers at once
  W = 2,   // overwrites all of the content; nothing is copied in
  RW = 3,  // reads, then changes
  // Reads, then changes, in any order with the commuting accesses that stand next to it in the order of submission;
  // one at a time. To all other accesses it is a RW.
  commute = 7,
  // Room for the task alone, see Scratch in data.hpp: nobody has written it, nobody reads it afterwards.
  scratch = 10,
  // Adds to the content in a private copy, which is combined into the data later: see Runtime::set_reduction. The
  // data themselves are neither read nor written by the task.
  reduction = 0,
};

// Whether the task sees the content of before.
constexpr bool reads(AccessMode mode) {
  return (static_cast<unsigned>(mode) & 1U) != 0;
}
// Whether the task may change the operand's bytes.
constexpr bool writes(AccessMode mode) {
  return (static_cast<unsigned>(mode) & 2U) != 0;
}

// Whether the order among the task and its neighbours of this mode is free.
constexpr bool commutes(AccessMode mode) {
  return mode == AccessMode::commute;
}
// Whether the task writes, and all other accesses keep the order of submission with it.
constexpr bool is_exclusive(AccessMode mode) {
  return (static_cast<unsigned>(mode) & 6U) == 2;
}
// Whether later tasks can read the written content.
constexpr bool leaves_content(AccessMode mode) {
  return (static_cast<unsigned>(mode) & 10U) == 2;
}

// A handle named twice in one task is accessed once, in the mode that covers both. Accesses that commute do so only
// with their like.
constexpr AccessMode strongest(AccessMode a, AccessMode b) {
  if (a == b) return a;
  return static_cast<AccessMode>((static_cast<unsigned>(a) | static_cast<unsigned>(b)) & 3U);
}

// "R", "W", "RW", "commute", "scratch" or "reduction".
constexpr std::string_view to_string(AccessMode mode) {
  if (mode == AccessMode::commute) return "commute";
  if (mode == AccessMode::scratch) return "scratch";
  constexpr std::string_view names[] = {"reduction", "R", "W", "RW"};
  return names[static_cast<std::size_t>(mode)];
}

}  // namespace vicinal
