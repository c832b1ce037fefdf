#include <string>

#include <gtest/gtest.h>

#include "support/policy_fixture.hpp"

namespace vicinal {
namespace {

class Lws : public testing::PolicyTest {
 protected:
  Lws() : PolicyTest("lws") {}

  void start(std::uint32_t cores) {
    for (std::uint32_t i = 0; i < cores; ++i) context.add_worker();
    policy->start(context);
  }
  void push(const std::string& name, WorkerId releasing,
            const testing::FakeGraph::Attributes& attributes = {}) {
    policy->push(graph.task(name, {}, attributes), releasing);
  }
};

TEST_F(Lws, AWorkerRunsWhatItReleasedInTheOrderOfRelease) {
  start(2);
  for (const char* name : {"a", "b", "c"}) push(name, WorkerId{1});
  EXPECT_EQ(pop_all(1), "a b c");
}

TEST_F(Lws, AThiefTakesOneTaskFromTheBack) {
  start(2);
  for (const char* name : {"a", "b", "c"}) push(name, WorkerId{1});
  EXPECT_EQ(pop(0), "c");
  EXPECT_EQ(pop(1), "a");
  EXPECT_EQ(pop(0), "b");
}

TEST_F(Lws, AThiefTakesFromTheNearestNeighbourThatHasTasks) {
  start(6);
  push("far", WorkerId{0});
  push("near", WorkerId{2});
  EXPECT_EQ(pop(4), "near");  // distances 4 and 2
  EXPECT_EQ(pop(4), "far");
}

TEST_F(Lws, OfTasksReleasedByNoWorkerEachTakesItsShareInOrder) {
  start(3);
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) push(name, kNoWorker);
  EXPECT_EQ(pop(2), "a");  // and b, a third of seven
  EXPECT_EQ(pop(1), "c");
  EXPECT_EQ(pop(2), "b");
  EXPECT_EQ(pop_all(0), "d e f g");
}

TEST_F(Lws, ATaskReleasedByNoWorkerGoesBeforeOwnOnesOfLowerPriority) {
  start(2);
  push("own", WorkerId{0}, {.priority = 1});
  push("another", WorkerId{0}, {.priority = 1});
  push("low", kNoWorker);
  EXPECT_EQ(pop(0), "own");
  push("high", kNoWorker, {.priority = 2});
  push("equal", kNoWorker, {.priority = 1});
  EXPECT_EQ(pop_all(0), "high another equal low");
}

TEST_F(Lws, ManyTasksReleasedByNoWorkerKeepTheirOrder) {
  start(1);
  int pushed = 0;
  int popped = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 7 * round; ++i) push(std::to_string(pushed++), kNoWorker);
    for (int i = 0; i < 5 * round; ++i) ASSERT_EQ(pop(0), std::to_string(popped++));
  }
  while (popped < pushed) ASSERT_EQ(pop(0), std::to_string(popped++));
  EXPECT_EQ(pop(0), "-");
}

TEST_F(Lws, HigherPriorityFirstAndInOrderAmongEquals) {
  start(1);
  push("low", WorkerId{0}, {.priority = 1});
  push("first", WorkerId{0}, {.priority = 7});
  push("second", WorkerId{0}, {.priority = 7});
  push("negative", WorkerId{0}, {.priority = -2});
  EXPECT_EQ(pop_all(0), "first second low negative");
}

TEST_F(Lws, AThiefTakesTheLastOfTheHighestPriority) {
  start(2);
  push("first", WorkerId{0}, {.priority = 1});
  push("last", WorkerId{0}, {.priority = 1});
  push("low", WorkerId{0});
  EXPECT_EQ(pop_all(1), "last first low");
}

TEST_F(Lws, ABoundTaskGoesToItsWorkerAndIsNeverStolen) {
  start(3);
  push("bound", WorkerId{0}, {.worker = WorkerId{2}});
  EXPECT_EQ(pop(0), "-");
  EXPECT_EQ(pop(1), "-");
  EXPECT_EQ(pop(2), "bound");
}

TEST_F(Lws, ABoundTaskGoesBeforeSharedOnesOfItsPriorityOnly) {
  start(1);
  push("shared", WorkerId{0}, {.priority = 1});
  push("bound", WorkerId{0}, {.priority = 1, .worker = WorkerId{0}});
  push("urgent", WorkerId{0}, {.priority = 2});
  push("low", WorkerId{0}, {.worker = WorkerId{0}});
  EXPECT_EQ(pop_all(0), "urgent bound shared low");
}

// Workers 0 and 1 are cores, 2 and 3 accelerators; a task of 100 bytes does not fit the last.
class LwsOnTwoKinds : public Lws {
 protected:
  void SetUp() override {
    context.add_worker();
    context.add_worker();
    context.add_worker(context.add_device(Bytes{1000}));
    context.add_worker(context.add_device(Bytes{50}));
    policy->start(context);
  }
};

TEST_F(LwsOnTwoKinds, TasksOfNoWorkerAreDealtToThoseThatCanRunThem) {
  for (const char* name : {"a", "b", "c"}) push(name, kNoWorker, {.accelerators_only = true});
  EXPECT_EQ(pop(0), "-");
  // Turns 0, 1 and 2 all end at worker 2, the first that can from there.
  EXPECT_EQ(pop_all(2), "a b c");
}

TEST_F(LwsOnTwoKinds, ATaskThatItsReleasingWorkerCannotRunGoesToOneThatCan) {
  push("for accelerators", WorkerId{0}, {.accelerators_only = true});
  EXPECT_EQ(pop(0), "-");
  EXPECT_EQ(pop(2), "for accelerators");
}

TEST_F(LwsOnTwoKinds, AThiefTakesTheLastTaskItCanRunOfTheHighestPriorityThatHasOne) {
  graph::Handle& big = graph.data("big", Bytes{100});
  push("low", WorkerId{2});
  push("first", WorkerId{2}, {.priority = 1});
  push("last", WorkerId{2}, {.priority = 1});
  policy->push(graph.task("big", {testing::reading(big)}, {.priority = 1}), WorkerId{2});
  policy->push(graph.task("urgent", {testing::reading(big)}, {.priority = 2}), WorkerId{2});
  EXPECT_EQ(pop_all(3), "last first low");
  EXPECT_EQ(pop_all(2), "urgent big");
}

}  // namespace
}  // namespace vicinal
