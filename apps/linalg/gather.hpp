// What each rank knows, on all ranks.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

// Each rank's value, by rank; called by all ranks. Returns when all have called it. Small values: each is sent to all.
template <typename T>
std::vector<T> gather(Runtime& runtime, const T& mine) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::uint32_t ranks = runtime.rank_count();
  std::vector<T> all(ranks, mine);
  if (ranks == 1) return all;
  std::vector<Handle> handles;
  handles.reserve(ranks);
  T own = mine;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    handles.push_back(
        runtime.register_buffer(RankId{r}, &own, Bytes{sizeof(T)}, "what each rank tells"));
  }
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const Acquired held = runtime.acquire(handles[r], AccessMode::R);
    std::memcpy(&all[r], held.data<std::byte>(), sizeof(T));
  }
  for (const Handle handle : handles) runtime.unregister(handle, WriteBack::no);
  return all;
}

// Returns when all ranks have called it.
inline void meet(Runtime& runtime) {
  gather(runtime, std::uint64_t{0});
}

}  // namespace vicinal::linalg
