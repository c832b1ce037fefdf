#include "analysis/traffic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/made_run.hpp"

namespace vicinal::analysis {
namespace {

using ::testing::ElementsAre;
using vicinal::testing::MadeRun;
using Kind = RoomChange::Kind;

// a comes to gpu0, is evicted, comes again; b comes, becomes void there, and comes again, which is no reload.
struct TwoData {
  TwoData() {
    a = made.datum("a", 100);
    b = made.datum("b", 30);
    made.copy(
        {.datum = a, .from = 0, .to = 1, .bytes = 100, .wanted = 0, .started = 0, .ended = 10});
    made.copy(
        {.datum = b, .from = 0, .to = 1, .bytes = 30, .wanted = 5, .started = 10, .ended = 20});
    made.copy({.datum = a,
               .from = 1,
               .to = 0,
               .bytes = 100,
               .cause = Cause::eviction,
               .wanted = 30,
               .started = 30,
               .ended = 45});
    made.copy(
        {.datum = a, .from = 0, .to = 1, .bytes = 100, .wanted = 60, .started = 70, .ended = 90});
    made.copy(
        {.datum = b, .from = 0, .to = 1, .bytes = 30, .wanted = 60, .started = 80, .ended = 95});
    made.run.room = {
        {.time = 30, .node = 1, .datum = a, .kind = Kind::evicted, .saved_first = true},
        {.time = 50, .node = 1, .datum = b, .kind = Kind::became_void}};
    made.run.end = 100;
  }
  MadeRun made{1, 1};
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

TEST(Traffic, CountsWhatCameAgainAfterItWasEvicted) {
  const TwoData two;
  const Traffic found = traffic(two.made.run);
  ASSERT_EQ(found.data.size(), 2U);
  EXPECT_EQ(found.data[0].datum, two.a);  // 300 bytes: more than 60
  EXPECT_EQ(found.data[0].bytes, 300U);
  EXPECT_EQ(found.data[0].copies, 3U);
  EXPECT_EQ(found.data[0].reloads, 1U);
  EXPECT_EQ(found.data[0].evictions, 1U);
  ASSERT_EQ(found.data[0].nodes.size(), 2U);
  EXPECT_EQ(found.data[0].nodes[0].loads, 1U);  // RAM: what was saved
  EXPECT_EQ(found.data[0].nodes[1].loads, 2U);
  EXPECT_EQ(found.data[1].bytes, 60U);
  EXPECT_EQ(found.data[1].reloads, 0U);
  EXPECT_THAT(found.is_reload, ElementsAre(false, false, false, true, false));
  ASSERT_EQ(found.evictions.size(), 1U);
  EXPECT_EQ(found.evictions[0].change, 0U);
  EXPECT_EQ(found.evictions[0].reload, 3U);
}

// ram -> gpu0: 0 to 20 and 70 to 95, where two copies overlap; waited 0 + 5 + 10 + 20.
TEST(Traffic, KnowsHowLongALinkWasBusy) {
  const TwoData two;
  const Traffic found = traffic(two.made.run);
  ASSERT_EQ(found.links.size(), 2U);
  EXPECT_EQ(found.links[0].from, 0U);
  EXPECT_EQ(found.links[0].to, 1U);
  EXPECT_EQ(found.links[0].bytes, 260U);
  EXPECT_EQ(found.links[0].copies, 4U);
  EXPECT_EQ(found.links[0].busy, 45);
  EXPECT_EQ(found.links[0].waited, 35);
  EXPECT_EQ(found.links[1].busy, 15);
}

// Two tasks of gpu0 wait for the fourth copy, which is wanted at 60 and ends at 90: one from 65 to 90, one from 50 to 75.
// Together they wait for 30 ns of its course. A task of RAM that waits for the same datum does not wait for this copy.
TEST(Traffic, CopyCostsTheTimeThatSomebodyWaitedForIt) {
  TwoData two;
  const std::vector<AccessOfTask> reads_a{{two.a, AccessMode::R}};
  two.made.task(
      "t", {.worker = 1, .wanted = 60, .granted = 65, .operands = 90, .started = 90, .ended = 99},
      reads_a);
  two.made.task(
      "t", {.worker = 1, .wanted = 50, .granted = 50, .operands = 75, .started = 75, .ended = 80},
      reads_a);
  two.made.task(
      "t", {.worker = 0, .wanted = 0, .granted = 0, .operands = 100, .started = 100, .ended = 100},
      reads_a);
  const std::vector<std::int64_t> costs = copy_costs(two.made.run);
  EXPECT_EQ(costs[3], 30);
  EXPECT_EQ(costs[0], 0);
  EXPECT_EQ(costs[2], 15);  // to RAM, where the third waits
  EXPECT_EQ(traffic(two.made.run).data[0].cost, 45);
}

// An eviction without a copy behind it was no reload; of two evictions the second was followed by one.
TEST(Traffic, GivesAnEvictionTheCopyThatCameNext) {
  MadeRun made(1, 1);
  const std::uint32_t a = made.datum("a", 10);
  made.copy({.datum = a, .from = 0, .to = 1, .bytes = 10, .started = 0, .ended = 5});
  made.copy({.datum = a, .from = 0, .to = 1, .bytes = 10, .started = 20, .ended = 25});
  made.copy({.datum = a, .from = 0, .to = 1, .bytes = 10, .started = 26, .ended = 29});
  made.run.room = {{.time = 20, .node = 1, .datum = a, .kind = Kind::evicted},
                   {.time = 40, .node = 1, .datum = a, .kind = Kind::evicted}};
  const Traffic found = traffic(made.run);
  EXPECT_THAT(found.is_reload, ElementsAre(false, true, false));
  ASSERT_EQ(found.evictions.size(), 2U);
  EXPECT_EQ(found.evictions[0].reload, 1U);
  EXPECT_EQ(found.evictions[1].reload, kNobody);
}

// It was to leave at 20, and stayed; at 40 it left. What came at 50 came for that alone.
TEST(Traffic, CountsNoEvictionAfterWhichADatumStayed) {
  MadeRun made(1, 1);
  const std::uint32_t a = made.datum("a", 10);
  made.copy({.datum = a, .from = 0, .to = 1, .bytes = 10, .started = 0, .ended = 5});
  made.copy({.datum = a, .from = 0, .to = 1, .bytes = 10, .started = 30, .ended = 35});
  made.copy({.datum = a, .from = 0, .to = 1, .bytes = 10, .started = 50, .ended = 55});
  made.run.room = {{.time = 20, .node = 1, .datum = a, .kind = Kind::evicted},
                   {.time = 25, .node = 1, .datum = a, .kind = Kind::kept},
                   {.time = 40, .node = 1, .datum = a, .kind = Kind::evicted}};
  const Traffic found = traffic(made.run);
  EXPECT_THAT(found.is_reload, ElementsAre(false, false, true));
  EXPECT_EQ(found.data[0].evictions, 1U);
  ASSERT_EQ(found.evictions.size(), 2U);
  EXPECT_TRUE(found.evictions[0].kept);
  EXPECT_FALSE(found.evictions[1].kept);
  EXPECT_EQ(found.evictions[1].reload, 2U);
}

}  // namespace
}  // namespace vicinal::analysis
