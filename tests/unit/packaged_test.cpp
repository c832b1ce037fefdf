// hfp, mst, rcm, horizon: which part of the order each node runs, in which order, and what leaves. The orders themselves are
// tested in orders_test.cpp.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_candidates.hpp"
#include "support/known_tasks.hpp"
#include "support/listener.hpp"
#include "support/policy_fixture.hpp"

namespace vicinal {
namespace {

using ::testing::ElementsAre;
using testing::reading;
using testing::writing;
using trace::Reason;

class Packaged : public testing::AcceleratorPolicyTest {
 protected:
  Packaged() : AcceleratorPolicyTest("hfp") {}

  void start_as(std::string_view text, std::size_t accelerators = 1, Bytes memory = {300}) {
    policy = sched::make_policy(text);
    start(accelerators, memory);
  }
  graph::Task& known(const std::string& name, const std::vector<testing::FakeOperand>& operands,
                     const testing::FakeGraph::Attributes& attributes = {}) {
    tasks.push_back(&graph.task(name, operands, attributes));
    return *tasks.back();
  }
  // The tasks become known at once, and ready.
  void plan_and_push() {
    testing::make_known(*policy, tasks);
    for (graph::Task* const task : tasks) policy->push(*task, kNoWorker);
    tasks.clear();
  }
  // Task "ij" reads row i of A and column j of B. Three of the four fit the memory.
  void product_of_2_by_2() {
    for (const auto& [i, j] : {std::pair(0, 0), {1, 1}, {0, 1}, {1, 0}}) {
      known(std::to_string(i) + std::to_string(j), {reading(*a[i]), reading(*b[j])});
    }
    plan_and_push();
  }
  // So many tasks that share nothing. Returned: what each reads.
  std::vector<graph::Handle*> known_alone(int count,
                                          const testing::FakeGraph::Attributes& attributes = {}) {
    std::vector<graph::Handle*> data;
    for (int i = 0; i < count; ++i) {
      data.push_back(&graph.data("d"));
      known(std::to_string(i), {reading(*data.back())}, attributes);
    }
    return data;
  }
  void independent(int count, const testing::FakeGraph::Attributes& attributes = {}) {
    known_alone(count, attributes);
    plan_and_push();
  }
  std::string run_all(std::uint32_t worker) {
    std::string names;
    while (graph::Task* const task = policy->pop(WorkerId{worker})) {
      names += (names.empty() ? "" : " ") + testing::name_of(task);
      policy->task_done(*task, WorkerId{worker});
    }
    return names;
  }

  std::vector<graph::Task*> tasks;
  graph::Handle* a[2] = {&graph.data("a0"), &graph.data("a1")};
  graph::Handle* b[2] = {&graph.data("b0"), &graph.data("b1")};
};

// The tasks are known in the order 00 11 01 10. 00 is the first to choose a partner: of 01 and 10, which share as
// much, 01 stands at the lower place. Of those that are left 11 chooses 10. Both packages have three data, which
// fit; all four do not. Then 00 01 and 11 10 are joined: 01 and 11 meet, which share b1.
TEST_F(Packaged, HfpRunsPackagesAfterEachOther) {
  start_as("hfp:ready=no");
  product_of_2_by_2();
  EXPECT_EQ(run_all(0), "00 01 11 10");
}

// Now 11 is known last, and stands behind 10, which has chosen it: 01 and 10 would meet, which share nothing.
TEST_F(Packaged, HfpReversesAPackageWhoseOtherEndSharesMore) {
  for (const auto& [settings, order] :
       {std::pair("hfp:ready=no", "00 01 11 10"), {"hfp:ready=no:flip=no", "00 01 10 11"}}) {
    policy = sched::make_policy(settings);
    if (nodes.empty()) {
      start(1, Bytes{300});
    } else {
      policy->start(context);
    }
    for (const auto& [i, j] : {std::pair(0, 0), {0, 1}, {1, 0}, {1, 1}}) {
      known(std::to_string(i) + std::to_string(j), {reading(*a[i]), reading(*b[j])});
    }
    plan_and_push();
    EXPECT_EQ(run_all(0), order) << settings;
    for (graph::Handle* const handle : {a[0], a[1], b[0], b[1]}) policy->data_forgotten(*handle);
  }
}

// From 00, whose neighbours 01 and 10 share as much with it, to 01, the lower number; then 11 and 10 share as much
// with one of those before them.
TEST_F(Packaged, MstRunsNextWhatSharesMostWithWhatWasBefore) {
  start_as("mst");
  product_of_2_by_2();
  EXPECT_EQ(run_all(0), "00 01 11 10");
}

// All share as much: the search starts at 00, goes to 01 and 10, then to 11, and is reversed.
TEST_F(Packaged, RcmRunsTheReverseOfASearchFromTheLeastConnected) {
  start_as("rcm");
  product_of_2_by_2();
  EXPECT_EQ(run_all(0), "11 10 01 00");
}

TEST_F(Packaged, RunsFirstOfTheReadyOnesTheOneThatLacksLeast) {
  start_as("hfp");
  context.put(*a[1], nodes[0]);
  context.put(*b[0], nodes[0]);
  product_of_2_by_2();
  // 10 lacks nothing; 00 lacks a0, 11 lacks b1, 01 both. When a0 has been asked for, for 00, it is not there yet.
  EXPECT_EQ(pop_all(), "10 00 11 01");
}

// 00 01 11 10: when 00 has ended a0 is used next, b0 last.
TEST_F(Packaged, EvictsWhatTheOrderUsesLast) {
  start_as("hfp:ready=no");
  product_of_2_by_2();
  graph::Task* const first = policy->pop(WorkerId{0});
  policy->task_done(*first, WorkerId{0});
  testing::FakeCandidates used(std::vector<graph::Handle*>{a[0], b[0], b[1]});
  const auto choose = [&](testing::FakeCandidates& candidates) {
    return policy->victims()->choose(nodes[0], Bytes{100}, memory::EvictionReason::firm,
                                     candidates);
  };
  EXPECT_EQ(choose(used), b[0]);
  policy->task_done(*policy->pop(WorkerId{0}), WorkerId{0});
  EXPECT_EQ(choose(used), a[0]);  // nobody uses it any more
}

TEST_F(Packaged, LeavesVictimsToLruIfToldSo) {
  EXPECT_NE(sched::make_policy("hfp")->victims(), nullptr);
  EXPECT_EQ(sched::make_policy("hfp:victims=lru")->victims(), nullptr);
  EXPECT_EQ(sched::make_policy("mst")->victims(), nullptr);
  EXPECT_NE(sched::make_policy("rcm:victims=belady")->victims(), nullptr);
}

TEST_F(Packaged, ATaskThatIsNotReadyIsPassedOver) {
  start_as("hfp:ready=no");
  graph::Task& first = known("first", {writing(*a[0])});
  graph::Task& second = known("second", {reading(*b[0])});
  testing::make_known(*policy, tasks);
  policy->push(second, kNoWorker);
  EXPECT_EQ(pop(), "second");
  EXPECT_EQ(pop(), "-");
  policy->push(first, kNoWorker);
  EXPECT_EQ(pop(), "first");
}

// The packages of the first test, one for each node: none is longer. Places are by what tasks read.
TEST_F(Packaged, EachNodeRunsAPackageOfItsOwn) {
  start_as("hfp:ready=no:steal=none", 2);
  product_of_2_by_2();
  EXPECT_EQ(run_all(0), "00 01");
  EXPECT_EQ(run_all(1), "10 11");
}

// Whatever the order of submission, which has no dependency to keep here.
TEST_F(Packaged, HfpsOrderIsByWhatTasksReadNotByWhenTheyWereSubmitted) {
  start_as("hfp:ready=no:steal=none", 2);
  for (const auto& [i, j] : {std::pair(1, 1), {0, 1}, {1, 0}, {0, 0}}) {
    known(std::to_string(i) + std::to_string(j), {reading(*a[i]), reading(*b[j])});
  }
  plan_and_push();
  EXPECT_EQ(run_all(0), "00 01");
  EXPECT_EQ(run_all(1), "10 11");
}

// 00 takes 30, the others 10: half of the work is behind 00, in the order 00 01 11 10.
TEST_F(Packaged, MstGivesEachNodeAPartOfEqualWork) {
  start_as("mst:steal=none", 2);
  known("00", {reading(*a[0]), reading(*b[0])}, {.time = Time{30}});
  for (const auto& [i, j] : {std::pair(1, 1), {0, 1}, {1, 0}}) {
    known(std::to_string(i) + std::to_string(j), {reading(*a[i]), reading(*b[j])});
  }
  plan_and_push();
  EXPECT_EQ(run_all(0), "00");
  EXPECT_EQ(run_all(1), "01 11 10");
}

// Eight tasks of 10, four for each. Node 1 has run its own; node 0 has 40 left. Task 3 would end at 10 here, before
// 40, and 2 behind it at 20, before 30; but 1 at 30, after the 20 that are left.
TEST_F(Packaged, ANodeWithoutTasksTakesHalfOfWhatIsLeftFromTheEnd) {
  start_as("mst:ready=no", 2);
  independent(8);
  std::string own;
  for (int i = 0; i < 4; ++i) {
    graph::Task* const task = policy->pop(WorkerId{1});
    own += testing::name_of(task) + " ";
    policy->task_done(*task, WorkerId{1});
  }
  EXPECT_EQ(own, "4 5 6 7 ");
  EXPECT_EQ(pop(1), "2");
  EXPECT_EQ(pop(0), "0");
  EXPECT_EQ(pop(0), "1");
  EXPECT_EQ(pop(1), "3");
}

TEST_F(Packaged, ANodeWithoutTasksTakesOneOrNoneIfToldSo) {
  for (const auto& [settings, taken] : {std::pair("mst:steal=one", "3"), {"mst:steal=none", "-"}}) {
    policy = sched::make_policy(settings);
    if (nodes.empty()) {
      start(2, Bytes{300});
    } else {
      policy->start(context);
    }
    independent(8);
    for (int i = 0; i < 4; ++i) policy->task_done(*policy->pop(WorkerId{1}), WorkerId{1});
    EXPECT_EQ(pop(1), taken) << settings;
  }
}

// A core is 30 times slower. Of 40 ms that are left it takes a task of 30, and then none: 60 is more than 39.
TEST_F(Packaged, ASlowNodeTakesWhatItEndsBeforeTheOther) {
  policy = sched::make_policy("hfp:ready=no");
  const WorkerId core = context.add_worker();
  start(1, Bytes{300});
  independent(40, {.time = Time{30'000'000}, .accelerator_time = Time{1'000'000}});
  EXPECT_EQ(pop(core.value), "39");
  EXPECT_EQ(pop(core.value), "-");
  EXPECT_EQ(pop(1), "0");
}

TEST_F(Packaged, WhatAnAcceleratorCannotRunIsPlannedForOneThatCan) {
  policy = sched::make_policy("hfp:ready=no:steal=none");
  const WorkerId core = context.add_worker();
  start(2, Bytes{250});
  known("small", {reading(*a[0])});
  known("large", {reading(*a[0]), reading(*a[1]), reading(*b[0])});
  known("bound", {reading(*b[0])}, {.worker = WorkerId{2}});
  known("bound to the core", {reading(*b[1])}, {.worker = core});
  plan_and_push();
  EXPECT_EQ(pop_all(core.value), "large bound to the core");
  EXPECT_EQ(pop_all(1) + " " + pop_all(2), "small bound");
}

// The second plan: node 0 has 30 to do, so that one longer task goes to node 1.
TEST_F(Packaged, WhatBecomesKnownLaterGoesBehindTheRestOfTheNodeWithLeastToDo) {
  start_as("hfp:ready=no:steal=none", 2);
  known("long", {reading(*a[0])}, {.time = Time{30}});
  known("short", {reading(*a[1])});
  plan_and_push();
  known("later", {reading(*a[0])}, {.time = Time{15}});
  plan_and_push();
  EXPECT_EQ(pop_all(0), "long");
  EXPECT_EQ(pop_all(1), "short later");
}

// Of 2,500 bytes horizon leaves 200 to copies: two data of 100.
TEST_F(Packaged, HorizonAsksForCopiesInItsOrderAsFarAsTheirRoomGoes) {
  start_as("horizon", 1, {2500});
  const std::vector<graph::Handle*> data = known_alone(5);
  const std::vector<graph::Task*> all = tasks;
  testing::make_known(*policy, tasks);
  // None of them is ready.
  EXPECT_THAT(context.loads, ElementsAre(data[0], data[1]));
  for (graph::Task* const task : all) policy->push(*task, kNoWorker);
  context.put(*data[3], nodes[0]);
  EXPECT_EQ(pop(), "0");
  EXPECT_THAT(context.loads, ElementsAre(data[0], data[1], data[2]));
  EXPECT_EQ(pop(), "1");  // 3 is there
  EXPECT_THAT(context.loads, ElementsAre(data[0], data[1], data[2], data[4]));
}

TEST_F(Packaged, HorizonKeepsBackWhatLacksDataFarBehindItsFirstTask) {
  start_as("horizon", 1, {25000});
  const std::vector<graph::Handle*> data = known_alone(50);
  const std::vector<graph::Task*> all = tasks;
  testing::make_known(*policy, tasks);
  for (const std::size_t i : {47U, 48U, 49U}) policy->push(*all[i], kNoWorker);
  graph::Task* const given = policy->pop(WorkerId{0});  // or the node would have nothing
  EXPECT_EQ(testing::name_of(given), "47");
  EXPECT_EQ(pop(), "-");
  context.put(*data[49], nodes[0]);
  EXPECT_EQ(pop(), "49");  // it lacks nothing
  EXPECT_THAT(context.woken, ::testing::IsEmpty());
  policy->task_done(*given, WorkerId{0});
  EXPECT_THAT(context.woken, ElementsAre(WorkerId{0}));
  policy->push(*all[0], kNoWorker);
  EXPECT_EQ(pop(), "0");
}

TEST_F(Packaged, TellsThePackageOfATaskAndFromWhomItIsTaken) {
  testing::Listener listener;
  context.set_listener(listener);
  start_as("mst", 2);
  independent(4);
  EXPECT_EQ(run_all(0), "0 1 3");
  std::vector<Reason> reasons;
  for (const trace::Decision& decision : listener.heard()) reasons.push_back(decision.reason);
  EXPECT_THAT(reasons, ElementsAre(Reason::in_package, Reason::in_package, Reason::in_package,
                                   Reason::in_package, Reason::first_planned, Reason::first_planned,
                                   Reason::longest_left));
  const trace::Decision& theft = listener.heard().back();
  ASSERT_EQ(theft.candidates.size(), 1U);
  EXPECT_EQ(theft.candidates[0].id, nodes[1].value);
  EXPECT_THAT(theft.candidates[0].scores, ElementsAre(trace::Score{trace::Measure::time_left, 20}));
}

}  // namespace
}  // namespace vicinal
