// Clocks that differ and drift, compared over messages that are delayed at random: the error is a bound.
#include "comm/clock_rounds.hpp"

#include <cmath>
#include <cstdint>
#include <random>

#include "gtest/gtest.h"

namespace vicinal::comm {
namespace {

TEST(ClockRounds, TheOffsetIsWrongByTheErrorAtMost) {
  constexpr int kComparisons = 1000;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::int64_t> delay(1'000, 300'000);
    // Rank 0's clock is the true time. The clock here was set otherwise, and runs 50 millionths too fast.
    const auto here = [](std::int64_t now) { return Time{now + now / 20'000 + 7'000'000'000'123}; };
    ClockRounds rounds({.rounds = 8, .period = Time{1'000'000'000}});
    std::int64_t now = 0;
    for (int comparison = 0; comparison < kComparisons; ++comparison) {
      ASSERT_TRUE(rounds.tick({now}));
      ClockRounds::Answered answered{.asks_again = true, .comparison = {}, .was_last = false};
      while (answered.asks_again) {
        const Time asked = here(now);
        const std::int64_t there = now += delay(random);
        now += delay(random);
        answered = rounds.answered(asked, {there}, here(now));
      }
      ASSERT_TRUE(answered.comparison.has_value());
      const ClockComparison& found = *answered.comparison;
      // The true time at which the clock here showed `at`.
      const double at = static_cast<double>(found.at.ns - 7'000'000'000'123) * 20'000 / 20'001;
      const double told = static_cast<double>(found.at.ns + found.offset.ns);
      // Besides, the clock drifts by some ns between question and answer.
      EXPECT_LE(std::abs(told - at), static_cast<double>(found.error.ns) + 20)
          << "seed " << seed << ", comparison " << comparison;
      now += 1'000'000'000;
    }
  }
}

TEST(ClockRounds, AsksNothingWithoutRounds) {
  ClockRounds rounds({.rounds = 0});
  EXPECT_FALSE(rounds.tick({0}));
}

}  // namespace
}  // namespace vicinal::comm
