#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/idle.hpp"
#include "support/made_run.hpp"

namespace vicinal::analysis {
namespace {

using ::testing::ElementsAre;
using vicinal::testing::MadeRun;

IdleInterval idle(std::uint32_t worker, std::int64_t from, std::int64_t to, IdleCause cause,
                  std::uint32_t task = kNobody) {
  return {worker, from, to, cause, task};
}

// One task, submitted at 10: the policy has it from 20 to 30, its turn comes at 40, room at 60, its data at 90; it starts
// at 95. The recording goes on for 50 ns after its end.
TEST(IdleTimes, AreCutWhereTheNextTaskCameAStepFurther) {
  MadeRun made(1);
  made.task("t", {.worker = 0,
                  .submitted = 10,
                  .ready = 20,
                  .scheduled = 30,
                  .wanted = 40,
                  .granted = 60,
                  .operands = 90,
                  .started = 95,
                  .ended = 150});
  made.run.end = 200;
  const Idle found = idle_times(made.run);
  using enum IdleCause;
  EXPECT_THAT(found.intervals,
              ElementsAre(idle(0, 0, 10, before, 0), idle(0, 10, 20, nothing_ready, 0),
                          idle(0, 20, 40, scheduling, 0), idle(0, 40, 60, room, 0),
                          idle(0, 60, 90, data, 0), idle(0, 90, 95, scheduling, 0),
                          idle(0, 150, 200, after)));
  EXPECT_EQ(found.wall, 200);
  EXPECT_EQ(found.workers[0].run, 55);
  EXPECT_EQ(found.workers[0].of(scheduling), 25);
}

// Worker 1 has no task until 80. Meanwhile the policy has the task that worker 0 gets at 50, from 30 on.
TEST(IdleTimes, AreSchedulingWhileThePolicyHasATaskThatTheWorkerCouldRun) {
  MadeRun made(2);
  made.task("t",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 0, .started = 0, .ended = 50});
  made.task(
      "t", {.worker = 0, .submitted = 0, .ready = 30, .scheduled = 50, .started = 50, .ended = 80});
  made.task(
      "t", {.worker = 1, .submitted = 0, .ready = 80, .scheduled = 80, .started = 80, .ended = 90});
  using enum IdleCause;
  EXPECT_THAT(idle_times(made.run).intervals,
              ElementsAre(idle(0, 80, 90, nothing_ready), idle(1, 0, 30, nothing_ready, 2),
                          idle(1, 30, 50, scheduling, 2), idle(1, 50, 80, nothing_ready, 2)));
}

// Both cores work in RAM. Worker 0 is given its task at 0, and may ask for its operands at 50, when those of worker 1's
// have come: that one waited for room until 20, and for copies until 45.
TEST(IdleTimes, CountWaitsOfTasksBeforeItOnTheMemoryNode) {
  MadeRun made(2);
  made.task("t", {.worker = 1,
                  .submitted = 0,
                  .ready = 0,
                  .scheduled = 0,
                  .wanted = 0,
                  .granted = 20,
                  .operands = 45,
                  .started = 45,
                  .ended = 60});
  made.task("t", {.worker = 0,
                  .submitted = 0,
                  .ready = 0,
                  .scheduled = 0,
                  .wanted = 50,
                  .granted = 50,
                  .operands = 50,
                  .started = 50,
                  .ended = 60});
  using enum IdleCause;
  EXPECT_THAT(
      idle_times(made.run).intervals,
      ElementsAre(idle(0, 0, 20, room, 1), idle(0, 20, 45, data, 1), idle(0, 45, 50, scheduling, 1),
                  idle(1, 0, 20, room, 0), idle(1, 20, 45, data, 0)));
}

// The accelerator never ran a task of this codelet: it could not.
TEST(IdleTimes, CountNoTaskThatOnlyOtherKindsOfWorkersRan) {
  MadeRun made(1, 1);
  made.task("core's",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 0, .started = 0, .ended = 50});
  made.task("core's",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 50, .started = 50, .ended = 80});
  using enum IdleCause;
  EXPECT_THAT(idle_times(made.run).intervals, ElementsAre(idle(1, 0, 80, nothing_ready)));
}

// Two in the queue of an accelerator: 10 to 60 and 30 to 80 are 70 ns.
TEST(IdleTimes, CountTasksThatOverlapOnce) {
  MadeRun made(0, 1);
  made.task("t",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 0, .started = 10, .ended = 60});
  made.task("t",
            {.worker = 0, .submitted = 0, .ready = 0, .scheduled = 0, .started = 30, .ended = 80});
  const Idle found = idle_times(made.run);
  EXPECT_EQ(found.all.run, 70);
  EXPECT_THAT(found.intervals, ElementsAre(idle(0, 0, 10, IdleCause::scheduling, 0)));
}

TEST(IdleTimes, AndRunTimesOfAWorkerAreTheWholeRecording) {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto upto = [&](std::int64_t most) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
    };
    MadeRun made(2, 2);
    for (int t = 0; t < 20; ++t) {
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
      made.task(upto(1) == 0 ? "t" : "u", task);
    }
    made.run.end += upto(20);
    const Idle found = idle_times(made.run);
    std::vector<std::int64_t> idle_of(4, 0);
    for (const IdleInterval& interval : found.intervals) {
      ASSERT_LT(interval.from, interval.to);
      idle_of[interval.worker] += interval.length();
    }
    ASSERT_EQ(found.workers.size(), 4U);
    for (std::size_t w = 0; w < 4; ++w) {
      const auto& of = found.workers[w].by_cause;
      const std::int64_t idle = std::accumulate(of.begin(), of.end(), std::int64_t{0});
      EXPECT_EQ(found.workers[w].run + idle, made.run.end);
      EXPECT_EQ(idle, idle_of[w]);
    }
  }
}

// Ready 10 to 30 and 20 to 40; the third goes to its worker at once.
TEST(ReadyTasks, AreCountedFromReadyToScheduled) {
  MadeRun made(1);
  made.task("t", {.worker = 0, .ready = 10, .scheduled = 30, .started = 30, .ended = 40});
  made.task("t", {.worker = 0, .ready = 20, .scheduled = 40, .started = 40, .ended = 50});
  made.task("t", {.worker = 0, .ready = 50, .scheduled = 50, .started = 50, .ended = 60});
  EXPECT_THAT(ready_tasks(made.run), ElementsAre(ReadyTasks{10, 1}, ReadyTasks{20, 2},
                                                 ReadyTasks{30, 1}, ReadyTasks{40, 0}));
}

}  // namespace
}  // namespace vicinal::analysis
