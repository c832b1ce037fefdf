// Durations that DARTS takes for equal.
#include <set>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sched/policies/darts_speeds.hpp"

namespace vicinal::sched::darts {
namespace {

TEST(DartsDurations, OfEqualTasksMeasuredWithinHalfAPercentAreOne) {
  base::Random random(1);
  Durations durations;
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    for (const double nominal : {70e3, 141e3, 282e3}) {
      const double factor = 1 + 0.005 * (2 * random.uniform() - 1);
      seen.insert(durations.nearest(static_cast<std::int64_t>(nominal * factor)));
    }
  }
  EXPECT_EQ(seen.size(), 3U);
}

TEST(DartsDurations, ThatReallyDifferStayApart) {
  Durations durations;
  EXPECT_EQ(durations.nearest(1000), 1000);
  EXPECT_EQ(durations.nearest(1019), 1000);
  EXPECT_EQ(durations.nearest(1030), 1030);
  EXPECT_EQ(durations.nearest(1016), 1030);  // the nearer one
  EXPECT_EQ(durations.nearest(1014), 1000);
}

TEST(DartsDurations, OfAFewNanosecondsAreExact) {
  Durations durations;
  for (std::int64_t ns = 1; ns < 50; ++ns) EXPECT_EQ(durations.nearest(ns), ns);
}

TEST(DartsDurations, OfAnyLengthAreFewAndNeverTwoPercentOff) {
  base::Random random(1);
  Durations durations;
  std::set<std::int64_t> seen;
  for (int i = 0; i < 100'000; ++i) {
    const auto ns = static_cast<std::int64_t>(1000 + random.below(9000));
    const std::int64_t taken = durations.nearest(ns);
    EXPECT_LE(std::abs(taken - ns) * 50, ns);
    seen.insert(taken);
  }
  EXPECT_LE(seen.size(), 120U);
}

}  // namespace
}  // namespace vicinal::sched::darts
