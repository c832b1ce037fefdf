#include "trace/joined_clock.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace vicinal::trace {

ClockOfRank::ClockOfRank(std::vector<ClockComparison> comparisons)
    : comparisons_(std::move(comparisons)) {
  std::ranges::sort(comparisons_, [](const ClockComparison& a, const ClockComparison& b) {
    return std::tie(a.at, a.error) < std::tie(b.at, b.error);
  });
  const auto twice =
      std::unique(comparisons_.begin(), comparisons_.end(),
                  [](const ClockComparison& a, const ClockComparison& b) { return a.at == b.at; });
  comparisons_.erase(twice, comparisons_.end());
}

std::int64_t ClockOfRank::offset_at(std::int64_t at) const {
  if (comparisons_.empty()) return 0;
  const auto next = std::ranges::upper_bound(comparisons_, at, {}, &ClockComparison::at);
  if (next == comparisons_.begin()) return next->offset;
  const ClockComparison& last = *(next - 1);
  if (next == comparisons_.end()) return last.offset;
  const double part = static_cast<double>(at - last.at) / static_cast<double>(next->at - last.at);
  return last.offset + std::llround(static_cast<double>(next->offset - last.offset) * part);
}

std::int64_t ClockOfRank::first_offset() const {
  return comparisons_.empty() ? 0 : comparisons_.front().offset;
}

double ClockOfRank::drift() const {
  if (comparisons_.size() < 2) return 0;
  const ClockComparison& first = comparisons_.front();
  const ClockComparison& last = comparisons_.back();
  constexpr double kNsPerSecond = 1e9;
  return static_cast<double>(last.offset - first.offset) / static_cast<double>(last.at - first.at) *
         kNsPerSecond;
}

std::uint64_t ClockOfRank::error() const {
  std::uint64_t most = 0;
  for (const ClockComparison& each : comparisons_) most = std::max(most, each.error);
  return most;
}

}  // namespace vicinal::trace
