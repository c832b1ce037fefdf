// lfq: buffers, the queue behind them, and a schedule by hand.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/policy_fixture.hpp"

namespace vicinal {
namespace {

class Lfq : public testing::PolicyTest {
 protected:
  Lfq() : PolicyTest("lfq") {}

  void start(std::uint32_t cores) {
    for (std::uint32_t i = 0; i < cores; ++i) context.add_worker();
    policy->start(context);
  }
  void release(const std::string& name, WorkerId releasing,
               const testing::FakeGraph::Attributes& attributes = {}) {
    policy->push(graph.task(name, {}, attributes), releasing);
  }
};

TEST_F(Lfq, TheHighestPriorityOfTheOwnBufferGoesFirst) {
  start(2);
  release("low", WorkerId{0}, {.priority = 1});
  release("first", WorkerId{0}, {.priority = 3});
  release("second", WorkerId{0}, {.priority = 3});
  release("other's", WorkerId{1}, {.priority = 9});
  EXPECT_EQ(pop_all(0), "first second low other's");
}

TEST_F(Lfq, ThenThatOfTheNearestBufferHoweverLow) {
  start(5);
  release("far", WorkerId{0}, {.priority = 9});
  release("near low", WorkerId{2});
  release("near high", WorkerId{2}, {.priority = 1});
  EXPECT_EQ(pop_all(3), "near high near low far");
}

TEST_F(Lfq, TheQueueComesLastAndInOrderWhateverThePriorities) {
  start(2);
  push("first");
  push("urgent", {}, {.priority = 5});
  release("low", WorkerId{1}, {.priority = -1});
  EXPECT_EQ(pop_all(0), "low first urgent");
}

TEST_F(Lfq, ABufferHasFourPlacesPerWorkerAndATaskThatLeavesFreesOne) {
  start(1);
  for (int i = 0; i < 5; ++i) release(std::to_string(i), WorkerId{0});
  release("overflows", WorkerId{0}, {.priority = 9});
  EXPECT_EQ(pop(0), "0");
  release("has place", WorkerId{0});
  EXPECT_EQ(pop_all(0), "1 2 3 has place 4 overflows");
}

TEST_F(Lfq, WhatAWorkerCannotRunIsLeftForThoseThatCan) {
  context.add_worker();
  context.add_worker(context.add_device());
  policy->start(context);
  release("for accelerators", WorkerId{0}, {.priority = 2, .accelerators_only = true});
  release("bound", WorkerId{1}, {.priority = 2, .worker = WorkerId{0}});
  push("for accelerators, too", {}, {.accelerators_only = true});
  EXPECT_EQ(pop_all(0), "bound");
  EXPECT_EQ(pop_all(1), "for accelerators for accelerators, too");
}

// Two workers, eight places each. Worker 0 ends a task and releases ten, r0 to r9, the later the higher their
// priority: r0 to r7 find a place, r8 and r9 go to the queue, behind s, which the application submitted. All take
// the same time, and worker 0 asks first:
//   worker 0   r7  r5  r3  r1  s   r9
//   worker 1   r6  r4  r2  r0  r8
// At each step worker 1 steals the best that is left; from step five on both take from the queue.
TEST_F(Lfq, ASchedule) {
  start(2);
  push("s", {}, {.priority = 100});
  for (int i = 0; i < 10; ++i) release("r" + std::to_string(i), WorkerId{0}, {.priority = i});
  std::vector<std::string> rows(2);
  for (int step = 0; step < 6; ++step) {
    for (const std::uint32_t worker : {0U, 1U}) rows[worker] += pop(worker) + " ";
  }
  EXPECT_EQ(rows[0], "r7 r5 r3 r1 s r9 ");
  EXPECT_EQ(rows[1], "r6 r4 r2 r0 r8 - ");
}

}  // namespace
}  // namespace vicinal
