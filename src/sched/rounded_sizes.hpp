// Sizes of data as rules compare them that look for the least: nearly equal ones are equal.
#pragma once

#include <cstdint>

namespace vicinal::sched {

// The first size times the power of 4 that is nearest to a size, of ratios: what is between half and twice the first is
// equal to it. Otherwise, where no two tiles have the same size, chance decides what the next rule should.
class RoundedSizes {
 public:
  std::uint64_t of(std::uint64_t bytes) {
    if (bytes == 0) return 0;
    if (first_ == 0) first_ = bytes;
    std::uint64_t rounded = first_;
    while (bytes / 2 > rounded && rounded <= kMost / 4) rounded *= 4;
    while (bytes < rounded / 2 && rounded >= 4) rounded /= 4;
    return rounded;
  }

 private:
  static constexpr std::uint64_t kMost = ~std::uint64_t{0};
  std::uint64_t first_ = 0;
};

}  // namespace vicinal::sched
