// What the tasks of random programs on handles in parts do with the numbers of their operands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vicinal/codelet.hpp"

namespace vicinal::testing {

// What a task is told. Its first `writes` operands are written; those whose bit is set are overwritten.
struct Told {
  std::uint64_t key = 0;
  std::uint32_t writes = 0;
  std::uint32_t overwritten = 0;
};

struct Numbers {
  std::uint64_t* data = nullptr;
  std::size_t count = 0;
};

inline std::vector<Numbers> numbers_of(KernelContext& k) {
  std::vector<Numbers> operands;
  for (std::size_t i = 0; i < k.operands(); ++i) {
    operands.push_back({k.data<std::uint64_t>(i), k.count<std::uint64_t>(i)});
  }
  return operands;
}

inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t key) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL + b * 0xbf58476d1ce4e5b9ULL + key;
  x ^= x >> 29;
  return x * 0x94d049bb133111ebULL;
}

// The operation of all tasks: each number that is written depends on those at its place in what is read.
inline void mix(const std::vector<Numbers>& operands, const Told& told) {
  for (std::size_t w = 0; w < told.writes; ++w) {
    const bool overwritten = (told.overwritten >> w & 1U) != 0;
    for (std::size_t i = 0; i < operands[w].count; ++i) {
      std::uint64_t value = overwritten ? 0 : operands[w].data[i];
      for (std::size_t r = told.writes; r < operands.size(); ++r) {
        value = mixed(value, operands[r].data[i % operands[r].count], told.key);
      }
      operands[w].data[i] = mixed(value, w, told.key);
    }
  }
}

}  // namespace vicinal::testing
