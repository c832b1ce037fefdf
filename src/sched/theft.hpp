// From whom a worker that has nothing takes a task.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vicinal::sched {

// Of the others, numbered below `count`, the one that has most to do, as `much` says of a number, of those where `find`
// finds a task to take; the first on ties; never one with 0. Returns what is found there; nullptr: nothing anywhere.
template <typename Much, typename Find>
auto find_where_most(std::size_t count, Much&& much, Find&& find) {
  decltype(find(std::uint32_t{0})) best = nullptr;
  auto most = decltype(much(std::uint32_t{0})){0};
  for (std::uint32_t other = 0; other < count; ++other) {
    const auto here = much(other);
    if (here <= most) continue;
    const auto found = find(other);
    if (found == nullptr) continue;
    best = found;
    most = here;
  }
  return best;
}

}  // namespace vicinal::sched
