// DARTS on schedules worked out by hand. Unless a test says otherwise, a datum has 100 bytes and
// takes 100 ns to load, and a task takes 10 ns.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/darts_fixture.hpp"

namespace vicinal {
namespace {

using testing::changing;
using testing::reading;
using testing::writing;

using Darts = testing::DartsTest;

// --- which task is planned next --------------------------------------------------------------

TEST_F(Darts, TheFirstChoiceOfANodeIsTheHighestPriority) {
  start(1);
  push("low", {reading(data())}, {.priority = 1, .time = Time{1000}});
  push("first", {reading(data())}, {.priority = 5});
  push("second", {reading(data())}, {.priority = 5});
  EXPECT_EQ(pop(), "first");
}

TEST_F(Darts, LoadsTheDatumWithTheLeastTransferTimePerTimeOfTasksSetFree) {
  start_and_open();
  graph::Handle& here = data_on(0);
  graph::Handle& cheap = data(Bytes{60});
  graph::Handle& rich = data();
  // Ratios: cheap 60/10 = 6, rich 100/20 = 5.
  push("of cheap", {reading(here), reading(cheap)}, {.time = Time{10}});
  push("of rich", {reading(rich), reading(here)}, {.time = Time{20}});
  EXPECT_EQ(pop(), "of rich");
  EXPECT_EQ(pop(), "of cheap");
}

TEST_F(Darts, PlansAllTasksThatADatumSetsFreeNewestFirst) {
  start_and_open();
  graph::Handle& here = data_on(0);
  graph::Handle& loaded = data();
  push("a", {reading(loaded)});
  push("b", {reading(here), reading(loaded)});
  push("c", {changing(loaded)});
  push("needs more", {reading(loaded), reading(data()), reading(data())}, {.priority = 9});
  EXPECT_EQ(pop(), "c");
  EXPECT_EQ(pop(), "b");
  EXPECT_EQ(pop(), "a");
}

TEST_F(Darts, AmongEqualRatiosTakesTheDatumThatSetsMoreTasksFree) {
  start_and_open();
  graph::Handle& one = data();
  graph::Handle& two = data();
  // Both 100/20 = 5.
  push("alone", {reading(one)}, {.priority = 9, .time = Time{20}});
  push("pair a", {reading(two)}, {.time = Time{10}});
  push("pair b", {reading(two)}, {.time = Time{10}});
  EXPECT_EQ(pop(), "pair b");
  EXPECT_EQ(pop(), "pair a");
  EXPECT_EQ(pop(), "alone");
}

TEST_F(Darts, AmongEqualRatiosAndNumbersTakesTheHighestPriorityOfFreeTasks) {
  start_and_open();
  graph::Handle& ordinary = data();
  graph::Handle& urgent = data();
  push("ordinary", {reading(ordinary)}, {.priority = 1});
  push("urgent", {reading(urgent)}, {.priority = 2});
  // Not free: its priority must not count for a datum that has free tasks.
  push("far", {reading(ordinary), reading(data())}, {.priority = 7});
  EXPECT_EQ(pop(), "urgent");
}

TEST_F(Darts, ThenTakesTheDatumWithMoreTasksThatMissOneOther) {
  start_and_open();
  graph::Handle& few = data();
  graph::Handle& many = data();
  push("few", {reading(few)});
  push("many", {reading(many)});
  push("near", {reading(many), reading(data())});
  // Neither free nor near for "few": only more work left.
  push("far", {reading(few), reading(data()), reading(data())}, {.time = Time{100}});
  EXPECT_EQ(pop(), "many");
}

TEST_F(Darts, ThenTakesTheDatumWithMostWorkLeftThatUsesIt) {
  start_and_open();
  graph::Handle& less = data();
  graph::Handle& more = data();
  push("less", {reading(less)});
  push("more", {reading(more)});
  // Two operands missing besides: neither free nor near, but 30 and 40 ns of work left.
  push("x", {reading(less), reading(data()), reading(data())}, {.time = Time{30}});
  push("y", {reading(more), reading(data()), reading(data())}, {.time = Time{40}});
  EXPECT_EQ(pop(), "more");
}

TEST_F(Darts, AtACompleteTieTakesTheDatumThatBecameAbsentFirst) {
  start_and_open();
  push("a", {reading(data())});
  push("b", {reading(data())});
  EXPECT_EQ(pop(), "a");
}

TEST_F(Darts, TasksOfUnknownTimeAreCounted) {
  start_and_open();
  graph::Handle& one = data(Bytes{100});
  graph::Handle& three = data(Bytes{200});
  // 100 per task against 200/3 per task.
  push("a", {reading(one)}, {.time = Time{0}});
  for (const char* name : {"b", "c", "d"}) push(name, {reading(three)}, {.time = Time{0}});
  EXPECT_EQ(pop_all(), "d c b a");
}

TEST_F(Darts, WithNothingFreeTakesTheHighestPriorityOfTasksThatMissTwo) {
  start_and_open();
  graph::Handle& shared = data();
  push("low", {reading(shared), reading(data())}, {.priority = 1});
  push("high", {reading(data()), reading(data())}, {.priority = 4});
  push("misses three", {reading(data()), reading(data()), reading(data())}, {.priority = 8});
  EXPECT_EQ(pop(), "high");
}

// After t, p and q are on their way; the task of q and s misses s alone, so s sets it free.
TEST_F(Darts, TheOperandsOfPulledTasksCountAsLoaded) {
  start_and_open();
  graph::Handle& p = data();
  graph::Handle& q = data();
  graph::Handle& s = data();
  push("t", {reading(p), reading(q)}, {.priority = 3});
  push("other", {reading(data()), reading(data())}, {.priority = 2});
  push("of q and s", {reading(q), reading(s)}, {.priority = 1});
  EXPECT_EQ(pop_all(), "t of q and s other");
}

TEST_F(Darts, WithNothingNearTakesTheHighestPriorityOfAllFirstOnTies) {
  start_and_open();
  const auto three = [&] { return std::vector{reading(data()), reading(data()), reading(data())}; };
  push("low", three(), {.priority = 1});
  push("first", three(), {.priority = 2});
  push("second", three(), {.priority = 2});
  EXPECT_EQ(pop_all(), "first second low");
}

// No datum makes one of them free, or nearly so.
TEST_F(Darts, WithNothingNearTakesWhatMissesFewestBeforeWhatHasTheHighestPriority) {
  start_and_open();
  graph::Handle& here = data_on(0);
  graph::Handle& shared = data();
  push("five",
       {reading(data()), reading(data()), reading(data()), reading(data()), reading(data())},
       {.priority = 9});
  push("four", {reading(here), reading(shared), reading(data()), reading(data()), reading(data())});
  push("three", {reading(data()), reading(data()), reading(data())});
  push("four, too",
       {reading(here), reading(data()), reading(data()), reading(data()), reading(data())},
       {.priority = 1});
  EXPECT_EQ(pop(), "three");
  EXPECT_EQ(pop(), "four, too");
  EXPECT_EQ(pop(), "four");
  EXPECT_EQ(pop(), "five");
}

TEST_F(Darts, WhatHasNoBytesNeedsNoLoading) {
  start_and_open();
  push("loads", {reading(data())}, {.time = Time{1000}});
  push("waited for another", {reading(data(Bytes{0}))});
  EXPECT_EQ(pop(), "waited for another");
}

// 1,000 and 1,015 count as the same, so that the first rule decides nothing, and the number of free tasks does;
// 1,000 and 1,100 do not.
TEST_F(Darts, DurationsThatHardlyDifferCountAsEqual) {
  start_and_open();
  graph::Handle& one = data();
  graph::Handle& two = data(Bytes{200});
  push("alone", {reading(one)}, {.time = Time{1015}});
  push("pair a", {reading(two)}, {.time = Time{1000}});
  push("pair b", {reading(two)}, {.time = Time{1005}});
  EXPECT_EQ(pop_all(), "pair b pair a alone");
}

// 100 / 1100 lies between 1 and 2 sixteenths, 200 / 2000 as well; 100 / 5000 does not.
TEST_F(Darts, CostsAreComparedByPowersOfFour) {
  start_and_open();
  push("alone", {reading(data())}, {.time = Time{1100}});
  graph::Handle& both = data(Bytes{200});
  push("pair a", {reading(both)}, {.time = Time{1000}});
  push("pair b", {reading(both)}, {.time = Time{1000}});
  EXPECT_EQ(pop_all(), "pair b pair a alone");
  push("long", {reading(data())}, {.time = Time{5000}});
  graph::Handle& short_ones = data(Bytes{200});
  push("short a", {reading(short_ones)}, {.time = Time{1000}});
  push("short b", {reading(short_ones)}, {.time = Time{1000}});
  EXPECT_EQ(pop(), "long");
}

// p comes for t, q for u: no absent datum leads to "both", which misses nothing any more.
TEST_F(Darts, ATaskWhoseOperandsCameForOthersIsPlannedBeforeAnythingIsLoaded) {
  start_and_open();
  graph::Handle& p = data();
  graph::Handle& q = data();
  push("t", {reading(p)}, {.priority = 3});
  push("u", {reading(q)}, {.priority = 2});
  EXPECT_EQ(pop(), "t");
  push("both", {reading(p), reading(q)});
  push("loads", {reading(data())}, {.priority = 9, .time = Time{1000}});
  // q sets "both" and u free (100/20); "loads" is better (100/1000), then comes q: both first, the
  // newest.
  EXPECT_EQ(pop_all(), "loads both u");

  graph::Handle& r = data();
  graph::Handle& s = data();
  push("late", {reading(r), reading(s)});
  context.put(r, nodes[0]);
  policy->data_loaded(r, nodes[0]);
  context.put(s, nodes[0]);
  policy->data_loaded(s, nodes[0]);
  push("loads again", {reading(data())}, {.priority = 9, .time = Time{1000}});
  EXPECT_EQ(pop_all(), "late loads again");
}

TEST_F(Darts, OutputsAreIgnoredWhenTasksAreChosen) {
  start_and_open();
  graph::Handle& a = data();
  graph::Handle& b = data();
  // a: 100/10, b: 100/20. With outputs counted nothing would be free, and priority would decide.
  push("a", {reading(a), writing(data())}, {.priority = 9});
  push("b1", {reading(b), writing(data())});
  push("b2", {reading(b), writing(data())});
  EXPECT_EQ(pop_all(), "b2 b1 a");
}

// --- release -----------------------------------------------------------------------------------

// In main, "free" would go to node 1: of two data that tie, the one that was absent first.
TEST_F(Darts, ATaskWhoseInputsArePresentIsPlannedThereOnReleaseWhateverItsOutputs) {
  start_and_open(2);
  push("free", {reading(data_on(0)), writing(data())});
  push("other", {reading(data())});
  EXPECT_EQ(pop(1), "other");
  EXPECT_EQ(pop(0), "free");
}

TEST_F(Darts, WhatNeedsNoLoadingGoesByPriorityFirstInFirstOutAmongEquals) {
  context.add_worker();
  policy->start(context);
  nodes.push_back(kRam);
  std::string low;
  std::string high;
  for (int i = 0; i < 50; ++i) {
    push(std::to_string(i), {reading(data_on(0)), changing(data_on(0))}, {.priority = i % 2});
    std::string& names = i % 2 == 0 ? low : high;
    names += (names.empty() ? "" : " ") + std::to_string(i);
  }
  EXPECT_EQ(pop_all(), high + " " + low);
}

// "second" was planned for the sake of what "first" has loaded since.
TEST_F(Darts, APlannedTaskThatNeedsNoLoadingAnyMoreGivesWayToOneOfHigherPriorityAlone) {
  start_and_open();
  graph::Handle& loaded = data();
  push("second", {reading(loaded)}, {.priority = 3});
  push("first", {reading(loaded)}, {.priority = 3});
  EXPECT_EQ(pop(), "first");
  push("as urgent", {reading(data_on(0))}, {.priority = 3});
  push("more urgent", {reading(data_on(0))}, {.priority = 4});
  EXPECT_EQ(pop_all(), "more urgent second as urgent");
}

// Two workers on one accelerator, so that a plan can hold tasks that wait for the second worker.
class DartsOnTwoWorkers : public Darts {
 protected:
  void SetUp() override {
    nodes.push_back(context.add_device(Bytes{1000}));
    context.add_worker(nodes[0]);
    context.add_worker(nodes[0]);
    policy->start(context);
    graph::Task& opener = push("opener", {reading(data())});
    EXPECT_EQ(policy->pop(WorkerId{0}), &opener);
    policy->task_done(opener, WorkerId{0});
  }
  static constexpr WorkerId kSecond{1};
};

// Worker 0 asks: `best` sets most work free, but its task is bound to worker 1, so that worker 0
// has the next best planned, too. The plan keeps the bound task, which misses `best`.
TEST_F(DartsOnTwoWorkers, AFreeTaskIsPlannedBeforeTheFirstThatMissesSomething) {
  graph::Handle& here = data_on(0);
  push("bound", {reading(data())}, {.time = Time{50}, .worker = kSecond});
  push("other", {reading(data())});
  EXPECT_EQ(pop(0), "other");
  push("free a", {reading(here)});
  push("free b", {reading(here)});
  EXPECT_EQ(pop_all(1), "free a free b bound");
}

TEST_F(DartsOnTwoWorkers, ATaskIsFreeIfAPlannedTaskWillLoadWhatItMisses) {
  graph::Handle& best = data();
  push("bound", {reading(best)}, {.time = Time{50}, .worker = kSecond});
  push("other", {reading(data())});
  EXPECT_EQ(pop(0), "other");
  // Planned at once, before "bound"; else "loads" would come first, with its better ratio.
  push("reads it too", {reading(best)});
  push("loads", {reading(data())}, {.time = Time{1000}});
  EXPECT_EQ(pop_all(1), "reads it too bound loads");
}

TEST_F(DartsOnTwoWorkers, APlannedTaskIsPoppedByAWorkerThatCanRunIt) {
  graph::Handle& here = data_on(0);
  push("for 1", {reading(here)}, {.worker = kSecond});
  push("for 0", {reading(here)}, {.worker = WorkerId{0}});
  EXPECT_EQ(pop(0), "for 0");
  EXPECT_EQ(pop(0), "-");
  EXPECT_EQ(pop(1), "for 1");
}

// --- several nodes -------------------------------------------------------------------------------

TEST_F(Darts, AFreeTaskGoesToTheNodeWithFewestQueued) {
  start_and_open(2);
  graph::Handle& everywhere = data_on(0);
  context.put(everywhere, nodes[1]);
  for (const char* name : {"a", "b", "c", "d"}) push(name, {reading(everywhere)});
  EXPECT_EQ(pop_all(0), "a c");
  EXPECT_EQ(pop_all(1), "b d");
}

TEST_F(Darts, NodesLoadDifferentData) {
  start_and_open(2);
  graph::Handle& p = data();
  graph::Handle& q = data();
  for (const char* name : {"p1", "p2", "p3"}) push(name, {reading(p)});
  for (const char* name : {"q1", "q2"}) push(name, {reading(q)});
  EXPECT_EQ(pop(0), "p3");
  EXPECT_EQ(pop(1), "q2");
  EXPECT_EQ(pop(0), "p2");
  EXPECT_EQ(pop(1), "q1");
}

TEST_F(Darts, ACopyFromAPeerThatIsFasterDecides) {
  start_and_open(2);
  graph::Handle& from_ram = data();
  graph::Handle& from_peer = data_on(1);
  context.set_transfer_time(from_peer, nodes[0], Time{5});
  push("of ram", {reading(from_ram)}, {.time = Time{40}});
  // Also present on node 1; kept out of its plan by a second operand.
  push("of peer", {reading(from_peer), reading(data_on(0))});
  // 100/40 against 5/10.
  EXPECT_EQ(pop(0), "of peer");
}

TEST_F(Darts, AnEvictedDatumIsOfferedToOtherNodesThatLackIt) {
  start_and_open(2);
  graph::Handle& x = data_on(0);
  push("x1", {reading(x)});  // free on node 0, so node 1 has never heard of x
  EXPECT_EQ(evict({&x}), &x);
  EXPECT_EQ(pop(1), "x1");
}

TEST_F(Darts, AnIdleNodeTakesTheLastTaskOfTheLongestPlan) {
  start_and_open(2);
  graph::Handle& x = data_on(0);
  for (const char* name : {"a", "b", "c"}) push(name, {reading(x)});
  EXPECT_EQ(pop(1), "c");
  EXPECT_EQ(pop(1), "-");  // one is enough while it has something to do
  EXPECT_EQ(pop_all(0), "a b");
}

TEST_F(Darts, AMovedTaskCountsWhereItGoes) {
  start_and_open(2);
  graph::Handle& x = data();
  graph::Task& moved = push("x1", {reading(x)});
  EXPECT_EQ(pop(0), "x1");
  EXPECT_TRUE(policy->may_move(moved, WorkerId{1}));
  push("x2", {reading(x)});  // free where x is to be loaded for x1
  EXPECT_EQ(pop(1), "x2");
  EXPECT_EQ(pop(0), "-");
}

TEST_F(Darts, ANodeDoesNotPlanWhatItCannotRun) {
  nodes = {context.add_device(Bytes{150}), context.add_device(Bytes{1000})};
  for (const NodeId node : nodes) context.add_worker(node);
  policy->start(context);
  graph::Handle& d = data();
  push("big", {reading(d), reading(data())}, {.priority = 5});
  push("small", {reading(d)});
  EXPECT_EQ(pop_all(0), "small");
  EXPECT_EQ(pop(1), "big");
}

TEST_F(Darts, ACoreLeavesTasksToAFasterAcceleratorUnlessAllTheOthersWouldTakeItLonger) {
  const WorkerId core = context.add_worker();
  const WorkerId accelerator = context.add_worker(context.add_device(Bytes{1000}));
  policy->start(context);
  const testing::FakeGraph::Attributes ten_times{.time = Time{100}, .accelerator_time = Time{10}};
  for (int i = 0; i < 9; ++i) push("t" + std::to_string(i), {reading(data())}, ten_times);
  // 9 x 10, and 10 for the task itself: the accelerator is as fast as the core.
  EXPECT_EQ(pop(core.value), "t0");
  EXPECT_EQ(pop(core.value), "-");  // a second one behind the first would end after 200
  EXPECT_EQ(pop(accelerator.value), "t1");
  graph::Task& t2 = *policy->pop(accelerator);
  policy->task_done(t2, accelerator);
  EXPECT_EQ(pop_all(accelerator.value), "t3 t4 t5 t6 t7 t8");
}

TEST_F(Darts, WhoLeavesATaskToOthersLooksOnAndWakesThemIfNothingElseIsThere) {
  const WorkerId core = context.add_worker();
  const WorkerId accelerator = context.add_worker(context.add_device(Bytes{1000}));
  policy->start(context);
  const testing::FakeGraph::Attributes slow{
      .priority = 9, .time = Time{100}, .accelerator_time = Time{10}};
  push("for the accelerator", {reading(data())}, slow);
  push("for the core", {reading(data())}, {.time = Time{10}, .accelerator_time = Time{100}});
  EXPECT_EQ(pop(core.value), "for the core");
  EXPECT_TRUE(context.woken.empty());
  EXPECT_EQ(pop(core.value), "-");
  EXPECT_EQ(context.woken, std::vector{accelerator});
  EXPECT_EQ(pop(accelerator.value), "for the accelerator");
  context.woken.clear();
  push("another", {reading(data())}, slow);
  EXPECT_EQ(pop(core.value), "-");
  EXPECT_TRUE(context.woken.empty());  // it asks when it has ended the one before
}

TEST_F(Darts, WhatWouldBeLeftToWorkersThatAreAwayIsNot) {
  const WorkerId core = context.add_worker();
  const WorkerId accelerator = context.add_worker(context.add_device(Bytes{1000}));
  policy->start(context);
  push("t", {reading(data())}, {.time = Time{100}, .accelerator_time = Time{10}});
  EXPECT_EQ(pop(core.value), "-");
  context.set_away(accelerator);
  EXPECT_EQ(pop(core.value), "t");
}

// Cores next to an accelerator: what is in RAM is free for the cores, yet the accelerator gets its
// part.
TEST_F(Darts, CoresDoNotTakeAllTasksOnReleaseBecauseDataAreAtHomeInRam) {
  const WorkerId core = context.add_worker();
  const WorkerId accelerator = context.add_worker(context.add_device(Bytes{1000}));
  policy->start(context);
  for (const char* name : {"a", "b", "c", "d"}) {
    graph::Handle& home = data();
    context.put(home, kRam);
    push(name, {reading(home)});
  }
  EXPECT_EQ(pop(core.value), "a");
  EXPECT_EQ(pop(accelerator.value), "b");
  EXPECT_EQ(pop(accelerator.value), "c");
  EXPECT_EQ(pop(core.value), "d");
}

}  // namespace
}  // namespace vicinal
