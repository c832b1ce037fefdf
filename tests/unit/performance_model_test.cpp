// What is learned of run times: outliers, evenness, and the law of sizes.
#include "machine/performance_model.hpp"

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/learned_runs.hpp"

namespace vicinal::machine {
namespace {

using vicinal::testing::add;
using vicinal::testing::footprint;
using vicinal::testing::kCpu;

RunHistory history_of(std::initializer_list<std::int64_t> runs) {
  RunHistory history;
  for (const std::int64_t ns : runs) history.add(Time{ns});
  return history;
}

// --- one footprint

TEST(RunHistory, ExpectsTheMeanOfItsRuns) {
  EXPECT_EQ(history_of({}).expected(), Time{0});
  EXPECT_EQ(history_of({100}).expected(), Time{100});
  EXPECT_EQ(history_of({100, 200}).expected(), Time{150});
  EXPECT_EQ(history_of({0}).expected(), Time{1});  // 0 would mean unknown
}

// Median 100: 401 is beyond four times it, 24 below a quarter; 400 and 25 count:
// (100 + 100 + 100 + 400 + 25) / 5 = 145.
TEST(RunHistory, LeavesOutWhatIsFourTimesOffTheMedian) {
  EXPECT_EQ(history_of({100, 100, 401, 100, 24}).expected(), Time{100});
  EXPECT_EQ(history_of({100, 100, 400, 100, 25}).expected(), Time{145});
  // A first run that found cold caches is left out as soon as there is another: the lower of two is
  // taken for their median.
  EXPECT_EQ(history_of({1'000'000, 100}).expected(), Time{100});
}

TEST(RunHistory, FollowsATrueChangeAfterEightRuns) {
  RunHistory history;
  for (int i = 0; i < 100; ++i) history.add(Time{1000});
  for (int i = 0; i < 7; ++i) history.add(Time{10'000});
  EXPECT_EQ(history.expected(), Time{1000});
  history.add(Time{10'000});  // eight of the last fifteen
  EXPECT_EQ(history.expected(), Time{10'000});
}

// Tasks that are alike have equal predictions: 1050 and 1090 are within a tenth of what is known.
TEST(RunHistory, KeepsWhatItSaidWhileTheMeanIsWithinATenthOfIt) {
  RunHistory history;
  for (int i = 0; i < 15; ++i) history.add(Time{1000});
  for (int i = 0; i < 15; ++i) history.add(Time{1090});
  EXPECT_EQ(history.expected(), Time{1000});
  for (int i = 0; i < 15; ++i) history.add(Time{1200});
  EXPECT_GT(history.expected(), Time{1100});
}

TEST(RunHistory, IsStableWithFifteenEvenRuns) {
  RunHistory even;
  for (int i = 0; i < 14; ++i) even.add(Time{i % 2 == 0 ? 950 : 1050});
  EXPECT_FALSE(even.stable());
  even.add(Time{1000});
  EXPECT_TRUE(even.stable());
  even.add(Time{100'000});  // an outlier does not make it uneven
  EXPECT_TRUE(even.stable());
  RunHistory uneven;  // a fifth off their mean
  for (int i = 0; i < 100; ++i) uneven.add(Time{i % 2 == 0 ? 800 : 1200});
  EXPECT_FALSE(uneven.stable());
}

TEST(RunHistory, FreshRunsComeAfterThoseStored) {
  RunHistory mine;
  const Time old[] = {Time{5}, Time{6}};
  mine.restore(2, old);
  EXPECT_EQ(mine.fresh(), 0U);
  mine.add(Time{7});
  RunHistory stored;  // by now another process has added 8
  const Time later[] = {Time{5}, Time{6}, Time{8}};
  stored.restore(3, later);
  const RunHistory both = mine.after(stored);
  ASSERT_EQ(both.count(), 4U);
  EXPECT_EQ(both.run(0), Time{5});
  EXPECT_EQ(both.run(2), Time{8});
  EXPECT_EQ(both.run(3), Time{7});
}

// --- the law of sizes

// 2e-9 s times bytes^1.5, exactly.
TEST(PowerLaw, FindsTheLawThatThePointsObey) {
  std::vector<PowerLaw::Point> points;
  for (const double bytes : {1e3, 1e4, 1e5}) points.push_back({bytes, 2e-9 * std::pow(bytes, 1.5)});
  const auto law = PowerLaw::fit(points);
  ASSERT_TRUE(law.has_value());
  EXPECT_NEAR(law->b, 1.5, 1e-12);
  EXPECT_NEAR((*law)(Bytes{20'000}).seconds(), 2e-9 * std::pow(2e4, 1.5), 1e-8);
  EXPECT_EQ((*law)(Bytes{99}), Time{0});  // more than ten times below the smallest
  EXPECT_GT((*law)(Bytes{1'000'000}), Time{0});
  EXPECT_EQ((*law)(Bytes{1'000'001}), Time{0});
}

TEST(PowerLaw, TakesThreeSizesAndNoLawByWhichLargerIsFaster) {
  const PowerLaw::Point two[] = {{1e3, 1}, {1e4, 2}, {1e4, 2.1}};
  EXPECT_FALSE(PowerLaw::fit(two).has_value());
  const PowerLaw::Point falling[] = {{1e3, 3}, {1e4, 2}, {1e5, 1}};
  EXPECT_FALSE(PowerLaw::fit(falling).has_value());
  EXPECT_FALSE(PowerLaw::fit({}).has_value());
}

// --- all of them

TEST(Footprint, TellsSizesModesAndTheirOrderApart) {
  const auto of = [](std::initializer_list<std::pair<std::uint64_t, AccessMode>> operands) {
    Footprint result;
    for (const auto& [bytes, mode] : operands) result.add(Bytes{bytes}, mode);
    return result.hash();
  };
  using enum AccessMode;
  EXPECT_EQ(of({{8, R}, {16, RW}}), of({{8, R}, {16, RW}}));
  EXPECT_NE(of({{8, R}, {16, RW}}), of({{16, R}, {8, RW}}));
  EXPECT_NE(of({{8, R}, {16, RW}}), of({{8, R}, {16, W}}));
  EXPECT_NE(of({{8, R}}), of({{8, R}, {0, R}}));
  // Stored in files: a change of this number is a new version of the file.
  EXPECT_EQ(footprint(4096).hash(), 0x574c46b8cb6376ecULL);
}

TEST(PerformanceModel, PredictsFromTheRunsOfTheFootprintThenByTheLawOfSizes) {
  PerformanceModel model;
  EXPECT_EQ(model.predict("f", kCpu, footprint(1000)), Time{0});
  add(model, 1000, 500);
  EXPECT_EQ(model.predict("f", kCpu, footprint(1000)), Time{500});
  EXPECT_EQ(model.predict("g", kCpu, footprint(1000)), Time{0});
  EXPECT_EQ(model.predict("f", ProcessorKind::emulated, footprint(1000)), Time{0});
  add(model, 2000, 1000);
  EXPECT_EQ(model.predict("f", kCpu, footprint(3000)), Time{0});  // of two sizes there is no law
  add(model, 4000, 2000);
  // Half a nanosecond a byte.
  EXPECT_NEAR(static_cast<double>(model.predict("f", kCpu, footprint(3000)).ns), 1500, 1);
  EXPECT_EQ(model.predict("f", kCpu, footprint(0)), Time{0});
  // The law follows what is learned: a whole nanosecond a byte, within the tenth of what is learned.
  for (const std::uint64_t bytes : {1000, 2000, 4000}) {
    add(model, bytes, static_cast<std::int64_t>(bytes), 15);
  }
  EXPECT_NEAR(static_cast<double>(model.predict("f", kCpu, footprint(3000)).ns), 3000, 300);
}

TEST(PerformanceModel, SaysWhenRunsAreEvenEnoughToTimeFewOfThem) {
  PerformanceModel model;
  const Time run{1000};
  for (int i = 0; i < 14; ++i) EXPECT_FALSE(model.add("f", kCpu, footprint(8), {&run, 1}));
  EXPECT_TRUE(model.add("f", kCpu, footprint(8), {&run, 1}));
}

TEST(PerformanceModel, KeepsABoundedNumberOfFootprints) {
  PerformanceModel model;
  for (std::uint64_t bytes = 1; bytes <= 5000; ++bytes) {
    add(model, bytes, static_cast<std::int64_t>(bytes));
  }
  EXPECT_EQ(model.runs("f", kCpu, footprint(1)), 1U);
  EXPECT_EQ(model.runs("f", kCpu, footprint(5000)), 0U);
  EXPECT_NEAR(static_cast<double>(model.predict("f", kCpu, footprint(5000)).ns), 5000, 5);
}
}  // namespace
}  // namespace vicinal::machine
