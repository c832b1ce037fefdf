// Sets of moments as intervals [from, to), in ns: what several of them cover together, and how much of one lies in
// such a set.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace vicinal::analysis {

struct Interval {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t length() const { return to - from; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// The same moments: in order, apart from each other, none empty.
inline std::vector<Interval> united(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& interval) { return interval.length() <= 0; });
  std::ranges::sort(intervals, {}, &Interval::from);
  std::size_t kept = 0;
  for (const Interval& next : intervals) {
    if (kept > 0 && next.from <= intervals[kept - 1].to) {
      intervals[kept - 1].to = std::max(intervals[kept - 1].to, next.to);
    } else {
      intervals[kept++] = next;
    }
  }
  intervals.resize(kept);
  return intervals;
}

// Calls `covered(piece)` for what of `whole` lies in the set, and `bare(piece)` for the rest, in order. The set is
// united. O(log n) and the number of pieces.
template <typename Covered, typename Bare>
void cut(const std::vector<Interval>& set, Interval whole, Covered&& covered, Bare&& bare) {
  auto at = std::ranges::upper_bound(set, whole.from, {}, &Interval::to);
  while (whole.from < whole.to) {
    if (at == set.end() || at->from >= whole.to) return bare(whole);
    if (whole.from < at->from) bare(Interval{whole.from, at->from});
    const Interval inside{std::max(whole.from, at->from), std::min(whole.to, at->to)};
    covered(inside);
    whole.from = inside.to;
    ++at;
  }
}

// How long `whole` is in the set, which is united.
inline std::int64_t overlap(const std::vector<Interval>& set, Interval whole) {
  std::int64_t sum = 0;
  cut(
      set, whole, [&](const Interval& piece) { sum += piece.length(); }, [](const Interval&) {});
  return sum;
}

}  // namespace vicinal::analysis
