// Lines asked from memory before they are needed. Among a million tasks what a task leads to has left the
// caches when its turn comes, and each line of a chain (queue, task, handle, replica) costs as much as a
// hundred instructions; those that are asked for together cost that once.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vicinal::base {

inline constexpr std::size_t kLine = 64;

// The line of an address. Any will do, also null.
inline void warm(const void* at) {
  __builtin_prefetch(at, 1);
}
// The lines of [at, at + bytes).
inline void warm(const void* at, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(at);
  for (std::uintptr_t line = first & ~(kLine - 1); line < first + bytes; line += kLine) {
    warm(reinterpret_cast<const void*>(line));
  }
}

}  // namespace vicinal::base
