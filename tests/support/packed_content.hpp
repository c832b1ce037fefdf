// The content that lies in memory by a layout, without the gaps between its columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vicinal/data.hpp"

namespace vicinal::testing {

inline std::vector<std::byte> packed_content(const std::vector<std::byte>& memory,
                                             const Layout& layout) {
  std::vector<std::byte> packed;
  for (std::uint64_t c = 0; c < layout.columns; ++c) {
    for (std::uint64_t r = 0; r < layout.column_bytes; ++r)
      packed.push_back(memory[c * layout.stride_bytes + r]);
  }
  return packed;
}

}  // namespace vicinal::testing
