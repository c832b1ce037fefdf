// Lines asked from memory before they are needed. Among a million tasks what a task leads to has left the
// caches when its turn comes, and each line of a chain (queue, task, handle, replica) costs as much as a
// hundred instructions; those that are asked for together cost that once.
#pragma once

#include <cstddef>

namespace vicinal::base {

inline constexpr std::size_t kLine = 64;

// Any address will do.
inline void warm(const void* at, std::size_t bytes = kLine) {
  for (std::size_t done = 0; done < bytes; done += kLine) {
    __builtin_prefetch(static_cast<const char*>(at) + done, 1);
  }
}

}  // namespace vicinal::base
