// Counts by thread, and the time without a task.
#include "engine/thread_counters.hpp"

#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace vicinal::engine {
namespace {

constexpr WorkerId kFirstWorker{0};
constexpr WorkerId kSecondWorker{1};

class ThreadCountersTest : public ::testing::Test {
 protected:
  std::int64_t ns_ = 0;
  const std::function<Time()> now_ = [this] { return Time{ns_}; };
  trace::Recorder recorder_;
  AwaitedTime awaited_;
  ThreadCounters counters_{2, now_, false, recorder_, awaited_};
};

TEST_F(ThreadCountersTest, TheThreadThatMadeTheEngineHasCountersOfItsOwnAndTheOthersShareTheLast) {
  EXPECT_EQ(counters_.count(), 4U);  // two workers, the maker, the others
  EXPECT_EQ(counters_.index(kSecondWorker), 1U);
  EXPECT_EQ(counters_.index(kNoWorker), 2U);
  EXPECT_FALSE(counters_.shared(2));
  std::thread([&] { EXPECT_TRUE(counters_.shared(counters_.index(kNoWorker))); }).join();
}

TEST_F(ThreadCountersTest, AllHasEndedWhenEveryOutcomeTogetherIsWhatWasSubmitted) {
  for (std::size_t thread = 0; thread < counters_.count(); ++thread) {
    counters_.count_submitted(thread, 1);
  }
  counters_.count_submitted(2, 1);
  counters_.count_submitted(2, -1);  // refused
  EXPECT_EQ(counters_.submitted(), 4U);
  counters_.count_ended(kFirstWorker, Outcome::done);
  counters_.count_ended(kFirstWorker, Outcome::failed);
  counters_.count_ended(kSecondWorker, Outcome::cancelled);
  EXPECT_FALSE(counters_.all_ended());
  counters_.count_ended(kNoWorker, Outcome::cancelled);
  EXPECT_TRUE(counters_.all_ended());
  EXPECT_EQ(counters_.tasks_run(kFirstWorker), 2U);
  EXPECT_EQ(counters_.tasks_run(kSecondWorker), 0U);  // what is cancelled does not run
  Statistics statistics;
  counters_.report(statistics);
  EXPECT_EQ(statistics.tasks_done, 1U);
  EXPECT_EQ(statistics.tasks_failed, 1U);
  EXPECT_EQ(statistics.tasks_cancelled, 2U);
}

TEST_F(ThreadCountersTest, AWorkerIsBusyForTheTimeSinceTheStartInWhichItWasNotIdle) {
  ns_ = 100;
  counters_.start();
  EXPECT_TRUE(counters_.idle(kFirstWorker));
  ns_ = 150;
  counters_.end_idle(kFirstWorker);
  ns_ = 170;
  EXPECT_EQ(counters_.busy(kFirstWorker, Time{170}), Time{20});
  counters_.begin_idle(kFirstWorker);
  ns_ = 200;
  counters_.begin_idle(kFirstWorker);  // it is already
  EXPECT_EQ(counters_.busy(kFirstWorker, Time{200}), Time{20});
  counters_.end_idle(kFirstWorker);
  EXPECT_EQ(counters_.busy(kFirstWorker, Time{205}), Time{25});
  EXPECT_EQ(counters_.busy(kSecondWorker, Time{205}), Time{0});
}

TEST_F(ThreadCountersTest, AnIdleWorkerAwaitsContentWhileSomeIsAwaited) {
  counters_.start();
  ns_ = 10;
  awaited_.begin(Time{10});
  EXPECT_EQ(counters_.awaiting(kFirstWorker, Time{15}), Time{5});
  ns_ = 20;
  counters_.end_idle(kFirstWorker);  // and it is busy until 40
  awaited_.begin(Time{25});          // two at once
  awaited_.end(Time{30});
  ns_ = 40;
  counters_.begin_idle(kFirstWorker);
  EXPECT_EQ(counters_.awaiting(kFirstWorker, Time{40}), Time{10});
  awaited_.end(Time{45});
  ns_ = 60;
  counters_.end_idle(kFirstWorker);
  EXPECT_EQ(counters_.awaiting(kFirstWorker, Time{70}), Time{15});
  EXPECT_EQ(counters_.awaiting(kSecondWorker, Time{70}), Time{35});
}

TEST_F(ThreadCountersTest, ARunIsNamedForItsTaskOrElseForItsCodelet) {
  const Codelet codelet{.name = "gemm"};
  graph::Task task;
  task.codelet = &codelet;
  EXPECT_EQ(counters_.running_name(kFirstWorker), "");
  counters_.begin_run(kFirstWorker, task);
  EXPECT_EQ(counters_.running_name(kFirstWorker), "gemm");
  counters_.end_run(kFirstWorker, task);
  EXPECT_EQ(counters_.running_name(kFirstWorker), "");
  task.extension = std::make_unique<graph::TaskExtension>();
  task.extension->name = std::string(60, 'x');
  counters_.begin_run(kFirstWorker, task);
  EXPECT_EQ(counters_.running_name(kFirstWorker),
            std::string(47, 'x'));  // six words, the last byte ends it
  counters_.end_run(kFirstWorker, task);
  EXPECT_EQ(counters_.running_name(kFirstWorker), "");
}

}  // namespace
}  // namespace vicinal::engine
