#include "trace/clock.hpp"

#include <cstdint>

#include <gtest/gtest.h>

namespace vicinal::trace {
namespace {

TEST(ClockScale, GivesNanosecondsByThePaceOfTwoPairs) {
  // 3'000 ticks in 1'000 ns: a third of a nanosecond each.
  const ClockScale scale({.ticks = 500, .ns = 70}, {.ticks = 3'500, .ns = 1'070});
  EXPECT_DOUBLE_EQ(scale.ns_per_tick(), 1.0 / 3);
  EXPECT_EQ(scale.ns_since(500, 500), 0);
  EXPECT_EQ(scale.ns_since(500, 3'500), 1'000);
  EXPECT_EQ(scale.ns_since(500, 502), 1);   // 0.67
  EXPECT_EQ(scale.ns_since(500, 498), -1);  // before the origin
  EXPECT_EQ(scale.ns_since(0, 9'000'000'000), 3'000'000'000);
}

TEST(ClockScale, TakesTicksForNanosecondsIfNoTickLiesBetweenThePairs) {
  EXPECT_EQ(ClockScale({.ticks = 5, .ns = 1}, {.ticks = 5, .ns = 9}).ns_per_tick(), 1);
  EXPECT_EQ(ClockScale().ns_since(10, 25), 15);
}

TEST(ReadBoth, ReadsTheMonotonicClockAsBothWhereItIsTheClock) {
  const ClockPair pair = read_both(ClockKind::monotonic_raw);
  EXPECT_EQ(pair.ticks, pair.ns);
}

TEST(ReadBoth, ReadsBothClocksBetweenWhatIsReadBeforeAndAfter) {
  const std::int64_t before = monotonic_raw_now();
  const std::int64_t ticks_before = ticks_now(ClockKind::counter);
  const ClockPair pair = read_both(ClockKind::counter);
  const std::int64_t ticks_after = ticks_now(ClockKind::counter);
  const std::int64_t after = monotonic_raw_now();
  EXPECT_LE(before, pair.ns);
  EXPECT_LE(pair.ns, after);
  if (has_steady_counter()) {
    EXPECT_LE(ticks_before, pair.ticks);
    EXPECT_LE(pair.ticks, ticks_after);
  }
}

TEST(ClockKind, HasTheNamesOfTheHeadOfTheFile) {
  EXPECT_EQ(to_string(ClockKind::counter), "counter");
  EXPECT_EQ(to_string(ClockKind::monotonic_raw), "monotonic_raw");
  EXPECT_EQ(to_string(ClockKind::simulated), "simulated");
}

}  // namespace
}  // namespace vicinal::trace
