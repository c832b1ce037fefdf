#include "analysis/critical_path.hpp"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/made_run.hpp"

namespace vicinal::analysis {
namespace {

using ::testing::ElementsAre;
using vicinal::testing::MadeRun;
using Predecessors = std::vector<std::vector<std::uint32_t>>;

PathSegment segment(PathCause cause, std::int64_t from, std::int64_t to, std::uint32_t task,
                    std::uint32_t copy = kNobody) {
  return {from, to, cause, task, copy};
}

// A core writes a, an accelerator reads it. From its end back, the second task ran since 265, got its operands at 260
// by a copy that began at 200 and had been wanted since 150, when there was room, for which it had waited since 120; the
// policy had had it since 110. The first task ended at 100.
TEST(CriticalPath, GoesThroughAllThatATaskWaitedFor) {
  MadeRun made(1, 1);
  const std::uint32_t a = made.datum("a", 1000);
  made.task(
      "writes",
      {.worker = 0, .submitted = 5, .ready = 10, .scheduled = 20, .started = 30, .ended = 100},
      {{a, AccessMode::W}});
  made.task("reads",
            {.worker = 1,
             .submitted = 6,
             .ready = 110,
             .scheduled = 120,
             .wanted = 120,
             .granted = 150,
             .operands = 260,
             .started = 265,
             .ended = 300},
            {{a, AccessMode::R}});
  made.copy(
      {.datum = a, .from = 0, .to = 1, .bytes = 1000, .wanted = 150, .started = 200, .ended = 260});
  const CriticalPath path = critical_path(made.run, Predecessors{{}, {0}});
  using enum PathCause;
  EXPECT_THAT(path.segments,
              ElementsAre(segment(submission, 0, 5, 0), segment(release, 5, 10, 0),
                          segment(policy, 10, 20, 0), segment(worker, 20, 30, 0),
                          segment(run, 30, 100, 0), segment(release, 100, 110, 1),
                          segment(policy, 110, 120, 1), segment(room, 120, 150, 1),
                          segment(link, 150, 200, 1, 0), segment(copy, 200, 260, 1, 0),
                          segment(worker, 260, 265, 1), segment(run, 265, 300, 1)));
  EXPECT_EQ(path.end, 300);
  EXPECT_EQ(path.of(run), 70 + 35);
  EXPECT_EQ(path.of(worker), 10 + 5);
}

// Both are ready from the beginning: the second waited for the worker alone, not for the policy.
TEST(CriticalPath, GoesOnWithTheTaskBeforeOnTheSameWorker) {
  MadeRun made(1);
  made.task("a",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 0, .started = 0, .ended = 50});
  made.task("b",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 52, .started = 55, .ended = 90});
  using enum PathCause;
  EXPECT_THAT(critical_path(made.run, Predecessors{{}, {}}).segments,
              ElementsAre(segment(run, 0, 50, 0), segment(policy, 50, 52, 1),
                          segment(worker, 52, 55, 1), segment(run, 55, 90, 1)));
}

// The second is put on the queue while the first runs, and runs when that has ended.
TEST(CriticalPath, LetsATaskInTheQueueOfAnAcceleratorBeginBehindTheOneBefore) {
  MadeRun made(0, 1);
  made.task("a",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 0, .started = 0, .ended = 100});
  made.task(
      "b", {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 10, .started = 20, .ended = 180});
  using enum PathCause;
  EXPECT_THAT(critical_path(made.run, Predecessors{{}, {}}).segments,
              ElementsAre(segment(run, 0, 100, 0), segment(run, 100, 180, 1)));
}

// The copy was asked for when the task was placed, at 60, long before it was given to its worker: had it been given
// sooner, the copy would not have come sooner.
TEST(CriticalPath, GoesWithACopyThatWasWantedBeforeTheTaskWasScheduled) {
  MadeRun made(1, 1);
  const std::uint32_t a = made.datum("a", 1000);
  made.task("writes",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 0, .started = 0, .ended = 50},
            {{a, AccessMode::W}});
  made.task("reads",
            {.worker = 1,
             .submitted = 0,
             .ready = 50,
             .scheduled = 200,
             .wanted = 200,
             .granted = 200,
             .operands = 300,
             .started = 300,
             .ended = 400},
            {{a, AccessMode::R}});
  made.copy(
      {.datum = a, .from = 0, .to = 1, .bytes = 1000, .wanted = 60, .started = 100, .ended = 300});
  using enum PathCause;
  EXPECT_THAT(
      critical_path(made.run, Predecessors{{}, {0}}).segments,
      ElementsAre(segment(run, 0, 50, 0), segment(policy, 50, 60, 1), segment(link, 60, 100, 1, 0),
                  segment(copy, 100, 300, 1, 0), segment(run, 300, 400, 1)));
}

// It never asked for its operands: they came early, by a copy that was wanted at 20, after it was scheduled. The time
// until then it stood behind another one of its memory node.
TEST(CriticalPath, GoesThroughAPrefetchThatCameAfterATaskWasScheduled) {
  MadeRun made(0, 1);
  const std::uint32_t a = made.datum("a", 1000);
  made.task("first",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 0, .started = 0, .ended = 15});
  made.task("reads",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 5, .started = 62, .ended = 90},
            {{a, AccessMode::R}});
  made.copy({.datum = a,
             .from = 0,
             .to = 1,
             .bytes = 1000,
             .cause = Cause::prefetch,
             .wanted = 20,
             .started = 25,
             .ended = 60});
  using enum PathCause;
  EXPECT_THAT(critical_path(made.run, Predecessors{{}, {}}).segments,
              ElementsAre(segment(run, 0, 15, 0), segment(worker, 15, 20, 1),
                          segment(link, 20, 25, 1, 0), segment(copy, 25, 60, 1, 0),
                          segment(worker, 60, 62, 1), segment(run, 62, 90, 1)));
}

// From one accelerator to the other by way of RAM: the second copy, wanted at 100, begins when the first has ended.
TEST(CriticalPath, GoesThroughBothCopiesOfAWayThroughRam) {
  MadeRun made(0, 2);
  const std::uint32_t a = made.datum("a", 1000);
  made.task("writes",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 0, .started = 0, .ended = 100},
            {{a, AccessMode::W}});
  made.task("reads",
            {.worker = 1,
             .submitted = 0,
             .ready = 100,
             .scheduled = 100,
             .wanted = 100,
             .granted = 100,
             .operands = 350,
             .started = 350,
             .ended = 400},
            {{a, AccessMode::R}});
  made.copy({.datum = a,
             .from = 1,
             .to = 0,
             .bytes = 1000,
             .cause = Cause::through_ram,
             .wanted = 105,
             .started = 110,
             .ended = 200});
  made.copy(
      {.datum = a, .from = 0, .to = 2, .bytes = 1000, .wanted = 100, .started = 210, .ended = 350});
  using enum PathCause;
  EXPECT_THAT(critical_path(made.run, Predecessors{{}, {0}}).segments,
              ElementsAre(segment(run, 0, 100, 0), segment(copy, 100, 105, 1),
                          segment(link, 105, 110, 1, 0), segment(copy, 110, 200, 1, 0),
                          segment(link, 200, 210, 1, 1), segment(copy, 210, 350, 1, 1),
                          segment(run, 350, 400, 1)));
}

// The application waits for the first, and submits the second 30 ns later; the third came while the second ran.
TEST(CriticalPath, GoesOnWithTheLastTaskWhereTheApplicationHadWaited) {
  MadeRun made(2);
  made.task("a",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 0, .started = 0, .ended = 100});
  made.task("b", {.worker = 0,
                  .submitted = 130,
                  .ready = 130,
                  .scheduled = 130,
                  .started = 130,
                  .ended = 180});
  made.task("c", {.worker = 1,
                  .submitted = 140,
                  .ready = 140,
                  .scheduled = 140,
                  .started = 140,
                  .ended = 200});
  using enum PathCause;
  EXPECT_THAT(critical_path(made.run, Predecessors{{}, {}, {}}).segments,
              ElementsAre(segment(run, 0, 100, 0), segment(submission, 100, 140, 2),
                          segment(run, 140, 200, 2)));
}

// Nothing but starts and ends: a task waited for what it depends on, or for its worker.
TEST(CriticalPath, OfTaskEventsAloneKnowsDependenciesAndWorkers) {
  MadeRun made(2);
  made.task("a", {.worker = 0, .started = 10, .ended = 50});
  made.task("b", {.worker = 1, .started = 60, .ended = 90});
  const CriticalPath path = critical_path(made.run, Predecessors{{}, {0}});
  using enum PathCause;
  EXPECT_THAT(path.segments, ElementsAre(segment(worker, 0, 10, 0), segment(run, 10, 50, 0),
                                         segment(worker, 50, 60, 1), segment(run, 60, 90, 1)));
  // And c, which depends on a alone, waits for b.
  made.task("c", {.worker = 1, .started = 95, .ended = 99});
  EXPECT_THAT(
      critical_path(made.run, Predecessors{{}, {0}, {0}}).segments,
      ElementsAre(segment(worker, 0, 10, 0), segment(run, 10, 50, 0), segment(worker, 50, 60, 1),
                  segment(run, 60, 90, 1), segment(worker, 90, 95, 2), segment(run, 95, 99, 2)));
}

// Both cores work in RAM. The second task was given to its worker at 10, but asked for room when the other core's had
// got its own, for which that had waited since 10.
TEST(CriticalPath, GoesOnWithATaskOfTheSameMemoryNodeThatAskedForRoomBefore) {
  MadeRun made(2);
  made.task("a", {.worker = 1,
                  .submitted = 0,
                  .ready = 0,
                  .scheduled = 10,
                  .wanted = 10,
                  .granted = 60,
                  .operands = 60,
                  .started = 60,
                  .ended = 80});
  made.task("b", {.worker = 0,
                  .submitted = 0,
                  .ready = 0,
                  .scheduled = 10,
                  .wanted = 60,
                  .granted = 70,
                  .operands = 70,
                  .started = 70,
                  .ended = 100});
  using enum PathCause;
  EXPECT_THAT(critical_path(made.run, Predecessors{{}, {}}).segments,
              ElementsAre(segment(policy, 0, 10, 0), segment(room, 10, 60, 0),
                          segment(room, 60, 70, 1), segment(run, 70, 100, 1)));
}

TEST(CriticalPath, OfNothingIsEmpty) {
  const CriticalPath path = critical_path(RecordedRun(), {});
  EXPECT_TRUE(path.segments.empty());
  EXPECT_EQ(path.end, 0);
}

// 0 -> 1 -> 3 takes 40 + 10 + 30, 0 -> 2 -> 3 takes 40 + 25 + 30; the fourth waits for nobody.
TEST(CriticalPath, KnowsTheLongestChainOfRunTimes) {
  MadeRun made(2);
  made.task("t", {.worker = 0, .started = 0, .ended = 40});
  made.task("t", {.worker = 0, .started = 50, .ended = 60});
  made.task("t", {.worker = 1, .started = 50, .ended = 75});
  made.task("t", {.worker = 0, .started = 90, .ended = 120});
  made.task("t", {.worker = 1, .started = 80, .ended = 120});
  EXPECT_EQ(longest_chain(made.run, Predecessors{{}, {0}, {0}, {1, 2}, {}}), 95);
}

// Tasks of arbitrary times, also such that contradict each other: some steps are not known, some come too late.
TEST(CriticalPath, CoversEachMomentOnce) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto upto = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
    };
    MadeRun made(2, 2);
    for (int i = 0; i < 3; ++i) made.datum("d", 10);
    Predecessors predecessors;
    for (std::uint32_t t = 0; t < 30; ++t) {
      TaskOfRun task;
      std::int64_t time = upto(400);
      for (std::int64_t TaskOfRun::*step :
           {&TaskOfRun::submitted, &TaskOfRun::ready, &TaskOfRun::scheduled, &TaskOfRun::wanted,
            &TaskOfRun::granted, &TaskOfRun::operands}) {
        time = std::max<std::int64_t>(0, time + upto(20) - 2);
        if (upto(4) > 0) task.*step = time;
      }
      task.worker = static_cast<std::uint32_t>(upto(3));
      task.started = time;
      task.ended = time + upto(30);
      made.task("t", task, {{static_cast<std::uint32_t>(upto(2)), AccessMode::R}});
      auto& of = predecessors.emplace_back();
      for (std::uint32_t p = 0; p < t; ++p) {
        if (upto(9) == 0) of.push_back(p);
      }
    }
    for (int i = 0; i < 30; ++i) {
      const std::int64_t from = upto(400);
      made.copy({.datum = static_cast<std::uint32_t>(upto(2)),
                 .from = static_cast<std::uint32_t>(upto(2)),
                 .to = static_cast<std::uint32_t>(upto(2)),
                 .wanted = from - upto(5),
                 .started = from,
                 .ended = from + upto(40)});
    }
    const CriticalPath path = critical_path(made.run, predecessors);
    EXPECT_EQ(path.end, made.run.end);
    std::int64_t at = 0;
    std::int64_t sum = 0;
    for (const PathSegment& segment : path.segments) {
      ASSERT_EQ(segment.from, at);
      ASSERT_LT(segment.from, segment.to);
      at = segment.to;
    }
    for (const std::int64_t time : path.by_cause) sum += time;
    EXPECT_EQ(at, path.end);
    EXPECT_EQ(sum, path.end);
  }
}

}  // namespace
}  // namespace vicinal::analysis
