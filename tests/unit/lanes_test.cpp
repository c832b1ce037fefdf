// Counts by thread, and the time without a task.
#include "engine/lanes.hpp"

#include <functional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace vicinal::engine {
namespace {

constexpr WorkerId kFirstWorker{0};
constexpr WorkerId kSecondWorker{1};

class LanesTest : public ::testing::Test {
 protected:
  std::int64_t ns_ = 0;
  const std::function<Time()> now_ = [this] { return Time{ns_}; };
  trace::Recorder recorder_;
  Lanes lanes_{2, now_, false, recorder_};
};

TEST_F(LanesTest, TheThreadThatMadeTheEngineHasALaneAndTheOthersShareTheLast) {
  EXPECT_EQ(lanes_.count(), 4U);  // two workers, the maker, the others
  EXPECT_EQ(lanes_.index(kSecondWorker), 1U);
  EXPECT_EQ(lanes_.index(kNoWorker), 2U);
  EXPECT_FALSE(lanes_.shared(2));
  std::thread([&] { EXPECT_TRUE(lanes_.shared(lanes_.index(kNoWorker))); }).join();
}

TEST_F(LanesTest, AllHasEndedWhenEveryOutcomeTogetherIsWhatWasSubmitted) {
  for (std::size_t lane = 0; lane < lanes_.count(); ++lane) lanes_.count_submitted(lane, 1);
  lanes_.count_submitted(2, 1);
  lanes_.count_submitted(2, -1);  // refused
  EXPECT_EQ(lanes_.submitted(), 4U);
  lanes_.count_ended(kFirstWorker, Outcome::done);
  lanes_.count_ended(kFirstWorker, Outcome::failed);
  lanes_.count_ended(kSecondWorker, Outcome::cancelled);
  EXPECT_FALSE(lanes_.all_ended());
  lanes_.count_ended(kNoWorker, Outcome::cancelled);
  EXPECT_TRUE(lanes_.all_ended());
  EXPECT_EQ(lanes_.tasks_run(kFirstWorker), 2U);
  EXPECT_EQ(lanes_.tasks_run(kSecondWorker), 0U);  // what is cancelled does not run
  Statistics statistics;
  lanes_.report(statistics);
  EXPECT_EQ(statistics.tasks_done, 1U);
  EXPECT_EQ(statistics.tasks_failed, 1U);
  EXPECT_EQ(statistics.tasks_cancelled, 2U);
}

TEST_F(LanesTest, AWorkerIsBusyForTheTimeSinceTheStartInWhichItWasNotIdle) {
  ns_ = 100;
  lanes_.start();
  EXPECT_TRUE(lanes_.idle(kFirstWorker));
  ns_ = 150;
  lanes_.end_idle(kFirstWorker);
  ns_ = 170;
  EXPECT_EQ(lanes_.busy(kFirstWorker, Time{170}), Time{20});
  lanes_.begin_idle(kFirstWorker);
  ns_ = 200;
  lanes_.begin_idle(kFirstWorker);  // it is already
  EXPECT_EQ(lanes_.busy(kFirstWorker, Time{200}), Time{20});
  lanes_.end_idle(kFirstWorker);
  EXPECT_EQ(lanes_.busy(kFirstWorker, Time{205}), Time{25});
  EXPECT_EQ(lanes_.busy(kSecondWorker, Time{205}), Time{0});
}

TEST_F(LanesTest, ARunIsNamedForItsTaskOrElseForItsCodelet) {
  const Codelet codelet{.name = "gemm"};
  graph::Task task;
  task.codelet = &codelet;
  EXPECT_EQ(lanes_.running_name(kFirstWorker), "");
  lanes_.begin_run(kFirstWorker, task);
  EXPECT_EQ(lanes_.running_name(kFirstWorker), "gemm");
  lanes_.end_run(kFirstWorker, task);
  EXPECT_EQ(lanes_.running_name(kFirstWorker), "");
  task.extension = std::make_unique<graph::TaskExtension>();
  task.extension->name = std::string(60, 'x');
  lanes_.begin_run(kFirstWorker, task);
  EXPECT_EQ(lanes_.running_name(kFirstWorker),
            std::string(47, 'x'));  // six words, the last byte ends it
  lanes_.end_run(kFirstWorker, task);
  EXPECT_EQ(lanes_.running_name(kFirstWorker), "");
}

}  // namespace
}  // namespace vicinal::engine
