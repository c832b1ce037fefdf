#include "analysis/recorded_plan.hpp"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/made_run.hpp"
#include "support/small_runs.hpp"
#include "vicinal/error.hpp"

namespace vicinal::analysis {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using vicinal::testing::MadeRun;
using vicinal::testing::message_of;

TaskOfRun begun_at(std::int64_t started, std::uint32_t worker = 0) {
  TaskOfRun task;
  task.submitted = 0;
  task.worker = worker;
  task.started = started;
  task.ended = started + 10;
  return task;
}

// "gemm 2 on 1": name, number, node.
std::vector<std::string> told(const graph::KeptPlan& plan) {
  std::vector<std::string> lines;
  for (const auto& task : plan.tasks) {
    lines.push_back(fmt::format("{} {} on {}", task.name, task.number, task.node));
  }
  return lines;
}

TEST(RecordedPlan, TasksStandInTheOrderInWhichTheyBeganWithNumbersOfTheirSubmission) {
  MadeRun made(1, 2);
  made.run.facts.application = "made";
  made.run.facts.policy = "lws";
  made.run.facts.told = {{"machine.name", "small"}};
  made.task("gemm", begun_at(50, 1));
  made.task("gemm", begun_at(20, 2));
  made.task("trsm", begun_at(30));
  made.task("gemm", begun_at(10, 1));
  const graph::KeptPlan plan = plan_of(made.run, "run");
  EXPECT_THAT(told(plan), ElementsAre("gemm 2 on 1", "gemm 1 on 2", "trsm 0 on 0", "gemm 0 on 1"));
  EXPECT_THAT(plan.nodes, ElementsAre("ram", "gpu0", "gpu1"));
  EXPECT_EQ(plan.application, "made");
  EXPECT_EQ(plan.policy, "lws");
  EXPECT_EQ(plan.machine, "small");
  EXPECT_EQ(plan.origin, "run");
}

// A task may have the name of a codelet that others have, or names that look alike when they are shown.
TEST(RecordedPlan, NoTwoTasksAreKnownByTheSameNameAndNumber) {
  MadeRun made(1);
  made.task("a", begun_at(0));
  TaskOfRun named = begun_at(10);
  named.own_name = made.name("a");
  made.task("b", named);
  named.own_name = made.name("c\xFE");
  named.started = 20;
  made.task("b", named);
  named.own_name = made.name("c\xFF");
  named.started = 30;
  made.task("b", named);
  made.task("b", begun_at(40));
  EXPECT_THAT(told(plan_of(made.run, "run")),
              ElementsAre("a 0 on 0", "a 1 on 0", "c\xEF\xBF\xBD 0 on 0", "c\xEF\xBF\xBD 1 on 0",
                          "b 3 on 0"));
}

TEST(RecordedPlan, TasksThatDidNotEndWellKeepTheirNumbersAndAreLeftOut) {
  MadeRun made(1);
  TaskOfRun failed = begun_at(0);
  failed.outcome = Outcome::failed;
  made.task("a", failed);
  TaskOfRun never;
  never.submitted = 0;
  made.task("a", never);
  made.task("a", begun_at(20));
  EXPECT_THAT(told(plan_of(made.run, "run")), ElementsAre("a 2 on 0"));
}

// The codelet of combinations is the application's, too: with two data it is a task.
TEST(RecordedPlan, TasksThatTheRuntimeAddsAreNotInIt) {
  MadeRun made(1);
  const std::uint32_t sum = made.datum("sum", 8);
  const std::uint32_t copy = made.datum("sum (private 0)", 8);
  const std::uint32_t other_copy = made.datum("sum (private 1)", 8);
  const std::uint32_t x = made.datum("x", 16);
  const std::uint32_t part = made.datum("x[0]", 8);
  made.run.data[copy].part_of = sum;
  made.run.data[other_copy].part_of = sum;
  made.run.data[part].part_of = x;
  made.run.reductions = {{.datum = sum,
                          .neutral = {.name = made.name("zero")},
                          .combine = {.name = made.name("add")}}};
  made.task("dot", begun_at(0), {{x, AccessMode::R}, {sum, AccessMode::reduction}});
  made.task("add", begun_at(10), {{copy, AccessMode::RW}, {other_copy, AccessMode::R}});
  made.task("add", begun_at(20), {{sum, AccessMode::RW}});
  made.task("add", begun_at(30), {{sum, AccessMode::RW}, {x, AccessMode::R}});
  made.task("copy", begun_at(40), {{x, AccessMode::R}, {part, AccessMode::W}});
  TaskOfRun read = begun_at(50);
  read.kind = KindOfTask::acquisition;
  made.task("acquire", read, {{sum, AccessMode::R}});
  EXPECT_THAT(told(plan_of(made.run, "run")), ElementsAre("dot 0 on 0", "add 0 on 0"));
}

TEST(RecordedPlan, WhatSaysNotWhichTaskRanWhereIsRefused) {
  const auto refused = [](const MadeRun& made) {
    return message_of<UsageError>([&] { static_cast<void>(plan_of(made.run, "a.vtrace")); });
  };
  EXPECT_THAT(refused(MadeRun(1)), AllOf(HasSubstr("a.vtrace: "), HasSubstr("no task ran")));
  MadeRun made(1);
  made.task("a", begun_at(0));
  ASSERT_THAT(plan_of(made.run, "a.vtrace").tasks, ::testing::Not(IsEmpty()));
  for (const auto category : {trace::Category::tasks, trace::Category::submission}) {
    MadeRun without = made;
    without.run.recorded = trace::kAllCategories & ~trace::bit(category);
    EXPECT_THAT(refused(without), AllOf(HasSubstr("a.vtrace: "), HasSubstr("--trace-events")));
  }
  made.run.alone = RankAlone{.rank = 1, .ranks = 2};
  EXPECT_THAT(refused(made), AllOf(HasSubstr("a.vtrace: "), HasSubstr("ranks")));
}

}  // namespace
}  // namespace vicinal::analysis
