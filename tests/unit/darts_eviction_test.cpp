// The eviction of DARTS (LUF) on schedules worked out by hand.

#include <vector>

#include <gtest/gtest.h>

#include "support/darts_fixture.hpp"

namespace vicinal {
namespace {

using memory::EvictionReason;
using testing::reading;

class DartsEviction : public testing::PlannedDartsTest {
 protected:
  void end(graph::Task& task) {
    graph::Task* given = nullptr;
    do {
      given = policy->pop(WorkerId{0});
      ASSERT_NE(given, nullptr);
    } while (given != &task);
    policy->task_done(task, WorkerId{0});
  }
};

TEST_F(DartsEviction, ADatumThatNoPlanUsesGoesAtOnceEvenIfTasksOfMainUseIt) {
  graph::Handle& in_main = data_on(0);
  push("waits", {reading(in_main), reading(data()), reading(data())});
  EXPECT_EQ(evict({x, &in_main, y}), &in_main);
}

TEST_F(DartsEviction, ADatumUnknownToThePolicyGoesAtOnce) {
  graph::Handle& unknown = data_on(0);
  EXPECT_EQ(evict({x, &unknown, y}), &unknown);
}

TEST_F(DartsEviction, ElseTheOneThatFewestPlannedTasksUse) {
  EXPECT_EQ(evict({x, y, &loaded}), y);
}

TEST_F(DartsEviction, WhatTheEngineSaysIsInUseIsLikeWhatPulledTasksUse) {
  testing::FakeCandidates candidates({{.handle = y, .claims = 1}, {.handle = x}});
  auto& victims = *policy->victims();
  EXPECT_EQ(victims.choose(nodes[0], Bytes{100}, EvictionReason::prefetch, candidates), x);
}

TEST_F(DartsEviction, TheFirstOfEquals) {
  graph::Handle& z = data_on(0);
  push("z1", {reading(z)});
  EXPECT_EQ(evict({x, &z, y}), &z);
}

TEST_F(DartsEviction, PlannedTasksThatUseTheVictimAreWithdrawnAllOfThem) {
  // x goes, used by two planned tasks; y1 stays. Then main has x1 and x2, which miss x alone, and
  // x sets both free, the newest relisted first: x1 was withdrawn after x2.
  EXPECT_EQ(evict({x}), x);
  EXPECT_EQ(pop_all(), "y1 x1 x2");
}

// It may have to be written back first.
TEST_F(DartsEviction, TheyAreWithdrawnWhenTheVictimIsChosenNotWhenItHasGone) {
  EXPECT_EQ(choose({x}), x);
  EXPECT_EQ(pop_all(), "y1 x1 x2");
}

// "withdrawn" was pushed first, but where priority decides, between tasks that miss three operands,
// it now comes after the task that was in main all the time.
TEST_F(DartsEviction, AWithdrawnTaskGoesToTheBackOfMain) {
  const auto missing = [&] { return reading(data()); };
  std::vector<graph::Handle*> operands{&data_on(0), &data_on(0), &data_on(0)};
  push("withdrawn", {reading(*operands[0]), reading(*operands[1]), reading(*operands[2])});  // free
  push("in main", {missing(), missing(), missing()});
  for (graph::Handle* victim : operands) EXPECT_EQ(evict({victim}), victim);
  EXPECT_EQ(pop_all(), "x2 y1 x1 in main withdrawn");
}

TEST_F(DartsEviction, APrefetchDoesNotEvictWhatPulledTasksUse) {
  EXPECT_EQ(evict({&loaded}, EvictionReason::prefetch), nullptr);
  EXPECT_EQ(evict({&loaded, y}, EvictionReason::prefetch), y);
}

TEST_F(DartsEviction, AFirmCopyEvictsWhatPulledTasksUseLast) {
  // Pulled in this order: pulled(loaded) x2(loaded, x) y1(loaded, y) x1(loaded, x). First uses:
  // loaded 1, x 2, y 3.
  EXPECT_EQ(pop_all(), "x2 y1 x1");
  EXPECT_EQ(choose({&loaded, y, x}), y);
  EXPECT_EQ(choose({x, &loaded}), x);
  EXPECT_EQ(choose({x, &loaded}, EvictionReason::prefetch), nullptr);
}

TEST_F(DartsEviction, AVictimThatDidNotGoIsTheNextOne) {
  graph::Handle& unused = data_on(0);
  EXPECT_EQ(choose({x, y}), y);  // the engine finds it pinned
  EXPECT_EQ(choose({&unused, x, y}), y);
}

TEST_F(DartsEviction, AVictimThatWentIsForgotten) {
  EXPECT_EQ(evict({x, y}), y);
  context.put(*y, nodes[0]);
  policy->data_loaded(*y, nodes[0]);
  graph::Handle& unused = data_on(0);
  EXPECT_EQ(choose({&unused, x, y}), &unused);
}

TEST_F(DartsEviction, AVictimThatDidNotGoIsLikeAnyOtherOnceATaskThatUsesItWasPulled) {
  EXPECT_EQ(choose({x, y}), y);
  std::vector<graph::Task*> tasks;
  while (graph::Task* task = policy->pop(WorkerId{0})) tasks.push_back(task);
  ASSERT_EQ(tasks.size(), 3U);  // x2 x1 y1
  for (graph::Task* task : tasks) policy->task_done(*task, WorkerId{0});
  graph::Handle& unused = data_on(0);
  EXPECT_EQ(choose({&unused, y}), &unused);
}

TEST_F(DartsEviction, EvictionOutsideThePolicysChoiceWithdrawsToo) {
  context.take_away(*x, nodes[0]);
  policy->data_evicted(*x, nodes[0]);
  EXPECT_EQ(pop_all(), "y1 x1 x2");
}

}  // namespace
}  // namespace vicinal
