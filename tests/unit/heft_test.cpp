// heft: tasks by decreasing priority to where they end first, and what idle workers take from others.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "support/deque_model_fixture.hpp"

namespace vicinal {
namespace {

using testing::DequeModelTest;
using testing::FakeContext;
using testing::reading;

class Heft : public DequeModelTest {
 protected:
  Heft() : DequeModelTest("heft") {}
};

TEST_F(Heft, PlacesWhatBecameReadyTogetherByDecreasingPriority) {
  start(2);
  // In the order of the pushes b would be with a, and c alone.
  push("a", {}, {.priority = 1, .time = Time{10}});
  push("b", {}, {.priority = 2, .time = Time{20}});
  push("c", {}, {.priority = 3, .time = Time{40}});
  EXPECT_EQ(pop_all(0), "c");
  EXPECT_EQ(pop_all(1), "b a");
}

TEST_F(Heft, TheEarliestEndDecidesWhateverIsCopiedForIt) {
  start(2);
  graph::Handle& data = data_on(nodes[0]);
  push("long", {}, {.priority = 1, .time = Time{111}, .worker = WorkerId{0}});
  push("t", {reading(data)});  // 121 on worker 0, 110 on worker 1; dmda adds 100 to that
  EXPECT_EQ(pop_all(1), "t");
}

// --- workers of two kinds -----------------------------------------------------------------------

// Worker 0 is a core, the others are accelerators; times are those on a core, and on an accelerator.
class HeftOnTwoKinds : public DequeModelTest {
 protected:
  HeftOnTwoKinds() : DequeModelTest("heft") {}

  void start_with_core(std::size_t accelerators) {
    context.add_worker();
    nodes.push_back(kRam);
    start(accelerators);
  }
  void push_task(const std::string& name, int priority, std::int64_t core,
                 std::int64_t accelerator) {
    push(name, {},
         {.priority = priority, .time = Time{core}, .accelerator_time = Time{accelerator}});
  }
  // Three tasks on the accelerator, which ends them at 20, 40, 60; the core, at 61 at least, gets none.
  // Then one that goes ahead of the last two: they end at 60 and 80.
  void let_one_go_ahead() {
    for (const char* name : {"a", "b", "c"}) push_task(name, 1, 61, 20);
    ASSERT_EQ(pop(0), "-");
    ASSERT_EQ(pop(1), "a");
    push_task("urgent", 2, 500, 20);
    context.woken.clear();
  }
};

TEST_F(HeftOnTwoKinds, AnIdleWorkerTakesTheLastTaskIfItEndsSoonerWithIt) {
  start_with_core(1);
  let_one_go_ahead();
  EXPECT_EQ(pop(0), "c");  // at 61 instead of 80
  EXPECT_EQ(pop(0), "-");  // it has one
  EXPECT_EQ(pop_all(1), "urgent b");
}

TEST_F(HeftOnTwoKinds, WhatWouldEndLaterWithAnIdleWorkerStays) {
  start_with_core(1);
  let_one_go_ahead();
  context.set_now(Time{4});
  EXPECT_EQ(pop(0), "-");  // 4 + 61 and a quarter of that, 15, is 80
  EXPECT_EQ(pop_all(1), "urgent b c");
}

TEST_F(HeftOnTwoKinds, AWorkerThatFoundNothingIsWokenWhenATaskWouldEndSoonerWithIt) {
  start_with_core(1);
  let_one_go_ahead();
  EXPECT_EQ(pop(1), "urgent");
  EXPECT_GT(std::ranges::count(context.woken, WorkerId{0}), 0);
  context.woken.clear();
  EXPECT_EQ(pop(0), "c");
  EXPECT_EQ(pop(1), "b");
  EXPECT_TRUE(context.woken.empty());  // nothing is left
}

TEST_F(HeftOnTwoKinds, CopiesMustTakeLessThanIsGained) {
  for (const std::uint64_t bytes : {1, 2}) {
    SCOPED_TRACE(bytes);
    FakeContext machine;
    machine.add_worker();
    const NodeId device = machine.add_device();
    machine.add_worker(device);
    const auto heft = sched::make_policy("heft");
    heft->start(machine);
    graph::Handle& data = graph.data("d", Bytes{bytes});
    machine.put(data, device);
    const auto add = [&](const std::string& name, int priority, std::int64_t core) {
      heft->push(
          graph.task(name, {reading(data)},
                     {.priority = priority, .time = Time{core}, .accelerator_time = Time{20}}),
          kNoWorker);
    };
    for (const char* name : {"a", "b", "c"}) add(name, 1, 61);
    ASSERT_EQ(testing::name_of(heft->pop(WorkerId{1})), "a");
    add("urgent", 2, 500);
    // c ends at 80 there; here at 61 without the copy, with a quarter more at 76: 4 less.
    EXPECT_EQ(testing::name_of(heft->pop(WorkerId{0})), bytes == 1 ? "c" : "-");
  }
}

TEST_F(HeftOnTwoKinds, WhatIsBoundToAWorkerStays) {
  start_with_core(1);
  push("a", {}, {.priority = 1, .time = Time{61}, .accelerator_time = Time{20}});
  ASSERT_EQ(pop(1), "a");
  for (const char* name : {"b", "c", "d", "e"}) {
    push(name, {}, {.time = Time{1}, .accelerator_time = Time{20}, .worker = WorkerId{1}});
  }
  EXPECT_EQ(pop(0), "-");
  EXPECT_EQ(pop_all(1), "b c d e");
}

TEST_F(HeftOnTwoKinds, AmongWorkersOfOneKindEachKeepsWhatItWasGiven) {
  start(2);
  push("a", {}, {.priority = 1, .time = Time{20}});
  graph::Task& other = push("other", {}, {.priority = 1, .time = Time{30}});
  push("b", {}, {.priority = 1, .time = Time{20}});  // behind a, until 40
  ASSERT_EQ(pop(0), "a");
  push("urgent", {}, {.priority = 2, .time = Time{20}, .worker = WorkerId{0}});  // b until 60
  ASSERT_EQ(pop(1), "other");
  context.set_now(Time{30});
  policy->task_done(other, WorkerId{1});
  EXPECT_EQ(pop(1), "-");  // though 30 + 20 is 50
  EXPECT_EQ(pop_all(0), "urgent b");
}

}  // namespace
}  // namespace vicinal
