// Copies between packed and strided layouts, column by column. "Packed order" numbers the bytes of a
// layout column after column without the gaps between them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "vicinal/data.hpp"

namespace vicinal::engine {

namespace detail {

// Calls visit(byte of the strided memory, offset from `begin` in packed order, length) for each
// contiguous part of bytes begin .. begin + bytes - 1.
template <typename Address, typename Visit>
void for_each_part(Address memory, const Layout& layout, std::uint64_t begin, std::uint64_t bytes,
                   Visit visit) {
  if (bytes == 0) return;
  if (layout.contiguous()) {
    visit(memory + begin, std::uint64_t{0}, bytes);
    return;
  }
  for (std::uint64_t done = 0; done < bytes;) {
    const std::uint64_t column = (begin + done) / layout.column_bytes;
    const std::uint64_t row = (begin + done) % layout.column_bytes;
    const std::uint64_t length = std::min(bytes - done, layout.column_bytes - row);
    visit(memory + column * layout.stride_bytes + row, done, length);
    done += length;
  }
}

}  // namespace detail

// Bytes begin .. begin + bytes - 1, in packed order, of `from` to contiguous memory.
inline void gather(std::byte* to, const std::byte* from, const Layout& layout, std::uint64_t begin,
                   std::uint64_t bytes) {
  detail::for_each_part(from, layout, begin, bytes,
                        [&](const std::byte* part, std::uint64_t at, std::uint64_t length) {
                          std::memcpy(to + at, part, length);
                        });
}

// The reverse: contiguous memory to bytes begin .. begin + bytes - 1 of `to`.
inline void scatter(std::byte* to, const Layout& layout, const std::byte* from, std::uint64_t begin,
                    std::uint64_t bytes) {
  detail::for_each_part(to, layout, begin, bytes,
                        [&](std::byte* part, std::uint64_t at, std::uint64_t length) {
                          std::memcpy(part, from + at, length);
                        });
}

// All of one layout to all of another of as many bytes; both may be strided.
inline void strided_copy(std::byte* to, const Layout& to_layout, const std::byte* from,
                         const Layout& from_layout) {
  const std::uint64_t bytes = from_layout.bytes().value;
  if (to_layout.contiguous()) {
    gather(to, from, from_layout, 0, bytes);
    return;
  }
  detail::for_each_part(from, from_layout, 0, bytes,
                        [&](const std::byte* part, std::uint64_t at, std::uint64_t length) {
                          scatter(to, to_layout, part, at, length);
                        });
}

}  // namespace vicinal::engine
