// The clock of one rank as that of rank 0: the offset between them goes evenly from one comparison to the next, and
// stays before the first and behind the last.
#pragma once

#include <cstdint>
#include <vector>

namespace vicinal::trace {

// See Event::clock_compared.
struct ClockComparison {
  std::int64_t at = 0;
  std::int64_t offset = 0;
  std::uint64_t error = 0;
};

class ClockOfRank {
 public:
  // Times and offsets beyond these cannot be: sums and differences of two of them and of the length of a recording stay
  // in range.
  static constexpr std::int64_t kMost = std::int64_t{1} << 60;

  ClockOfRank() = default;
  // In any order.
  explicit ClockOfRank(std::vector<ClockComparison> comparisons);

  std::uint64_t comparisons() const { return comparisons_.size(); }
  // To be added to a time of this rank's clock. 0: it was never compared.
  std::int64_t offset_at(std::int64_t at) const;
  std::int64_t first_offset() const;
  // What the offset gains in ns per second, from the first comparison to the last.
  double drift() const;
  // By which it is wrong at most, next to its comparisons and between them.
  std::uint64_t error() const;

 private:
  std::vector<ClockComparison> comparisons_;  // in the order of time, one for each
};

}  // namespace vicinal::trace
