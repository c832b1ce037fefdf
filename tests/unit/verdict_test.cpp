// What simulations cannot show; the rest of the verdicts is in tests/cli/verdicts.py.
#include "analysis/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/binding.hpp"
#include "analysis/comparison.hpp"
#include "support/made_run.hpp"

namespace vicinal::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using vicinal::testing::MadeRun;

constexpr std::int64_t kMs = 1'000'000;

TaskOfRun task(std::uint32_t worker, std::int64_t submitted, std::int64_t started,
               std::int64_t ended) {
  return {.worker = worker,
          .submitted = submitted,
          .ready = submitted,
          .scheduled = submitted,
          .started = started,
          .ended = ended};
}

Verdict verdict_of(const RecordedRun& run) {
  return verdict(run, analyse(run));
}

// Two workers with 20 tasks each of 10 ms, one behind the other.
MadeRun busy_workers() {
  MadeRun made(2);
  for (std::int64_t i = 0; i < 20; ++i) {
    for (std::uint32_t worker = 0; worker < 2; ++worker) {
      made.task("work", task(worker, 0, 10 * i * kMs, 10 * (i + 1) * kMs));
    }
  }
  return made;
}

// Looks at both workers every 10 ms, which had their cores for `had` of them.
void look_at_processors(RecordedRun& run, std::int64_t had) {
  for (std::int64_t i = 0; 10 * i * kMs <= run.end; ++i) {
    for (std::uint32_t worker = 0; worker < 2; ++worker) {
      run.processor_times.push_back({worker, 10 * i * kMs, had * i});
    }
  }
}

TEST(Verdict, WorkersThatAlwaysHaveTasksAreBoundByTheWork) {
  const Verdict found = verdict_of(busy_workers().run);
  EXPECT_EQ(found.binder, Binder::work);
  EXPECT_THAT(found.sentence, HasSubstr("2 workers had tasks for 100 % of the time"));
}

// Half of the time of every task, and so half of the run.
TEST(Verdict, TasksThatHadNoCoreWereKeptByOtherPrograms) {
  MadeRun made = busy_workers();
  look_at_processors(made.run, 5 * kMs);
  const Verdict found = verdict_of(made.run);
  EXPECT_EQ(found.binder, Binder::processors);
  EXPECT_NEAR(found.share, 0.5, 1e-6);
  EXPECT_THAT(found.sentence, StartsWith("A busy machine binds: tasks had their cores for 50 %"));
}

// 400 ms of work that alone takes 160 on two workers: 80 each.
TEST(Verdict, KernelsThatHadTheirCoresAndTookLongerShareTheMemory) {
  MadeRun made = busy_workers();
  look_at_processors(made.run, 10 * kMs);
  made.run.facts.told = {{"bound.work_seconds", "0.08"}};
  const Verdict found = verdict_of(made.run);
  EXPECT_EQ(found.binder, Binder::contention);
  EXPECT_NEAR(found.share, 0.6, 1e-6);
  EXPECT_THAT(found.sentence, HasSubstr("2.5 times as long as alone"));
}

// Ten times: 4 tasks of 10 ms, then the application does something else for 30 ms.
TEST(Verdict, APauseOfTheApplicationIsNoSlowSubmission) {
  MadeRun made(4);
  for (std::int64_t step = 0; step < 10; ++step) {
    for (std::uint32_t worker = 0; worker < 4; ++worker) {
      const std::int64_t begin = 40 * step * kMs;
      made.task("work", task(worker, begin + 1000 * worker, begin + 1000 * worker,
                             begin + 10 * kMs + 1000 * worker));
    }
  }
  const Verdict found = verdict_of(made.run);
  EXPECT_EQ(found.binder, Binder::application);
  EXPECT_GT(found.share, 0.6);
}

TEST(Verdict, ARunWithoutTasksIsBoundByNothing) {
  const Verdict found = verdict_of(MadeRun(2).run);
  EXPECT_EQ(found.binder, Binder::nothing);
  EXPECT_EQ(found.sentence, "No task ran.");
}

// Whatever was recorded, the parts are the whole.
TEST(TimeOfRun, AddsUp) {
  MadeRun made = busy_workers();
  made.task("late", task(0, 230 * kMs, 250 * kMs, 300 * kMs));
  look_at_processors(made.run, 7 * kMs);
  const TimeOfRun time = time_of(made.run, analyse(made.run));
  const std::int64_t sum = time.work + time.dependencies + time.slow_worker + time.descheduled +
                           time.contention + time.data + time.room + time.runtime + time.policy +
                           time.submission + time.application;
  EXPECT_EQ(time.length, 300 * kMs);
  EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(time.length), 20);
}

TEST(Comparison, OfARunWithItselfFindsNothing) {
  const MadeRun made = busy_workers();
  const Analyses of = analyse(made.run);
  const Comparison same = compared({made.run, of, "A"}, {made.run, of, "B"});
  EXPECT_EQ(same.sentence, "B takes as long as A (200 ms).");
  EXPECT_TRUE(same.changes.empty());
}

}  // namespace
}  // namespace vicinal::analysis
