// Bytes that tests fill, read and compare: from a key, mixed into a key, and through a layout.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/random.hpp"
#include "vicinal/codelet.hpp"

namespace vicinal::testing {

using Content = std::vector<std::uint8_t>;

inline std::uint64_t mixed(std::uint64_t hash, const std::uint8_t* bytes, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  }
  for (; i < count; ++i) hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
  return hash;
}

inline void fill(std::uint8_t* bytes, std::size_t count, std::uint64_t key) {
  base::Random random(key);
  for (std::size_t i = 0; i < count; i += 8) {
    const std::uint64_t word = random.next();
    std::memcpy(bytes + i, &word, std::min<std::size_t>(8, count - i));
  }
}

inline Content gather(const OperandView& view) {
  Content content(view.layout.bytes().value);
  for (std::uint64_t c = 0; c < view.layout.columns && !content.empty(); ++c) {
    std::memcpy(content.data() + c * view.layout.column_bytes,
                view.address + c * view.layout.stride_bytes, view.layout.column_bytes);
  }
  return content;
}
inline void scatter(const Content& content, const OperandView& view) {
  for (std::uint64_t c = 0; c < view.layout.columns && !content.empty(); ++c) {
    std::memcpy(view.address + c * view.layout.stride_bytes,
                content.data() + c * view.layout.column_bytes, view.layout.column_bytes);
  }
}

}  // namespace vicinal::testing
