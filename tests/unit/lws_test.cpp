#include <string>

#include <gtest/gtest.h>

#include "sched/policy.hpp"
#include "support/fake_context.hpp"

namespace vicinal {
namespace {

using testing::FakeContext;
using testing::FakeGraph;
using testing::name_of;

class Lws : public ::testing::Test {
 protected:
  void start(std::uint32_t cores) {
    for (std::uint32_t i = 0; i < cores; ++i) context.add_worker();
    policy->start(context);
  }
  void push(const std::string& name, WorkerId releasing,
            const FakeGraph::Attributes& attributes = {}) {
    policy->push(graph.task(name, {}, attributes), releasing);
  }
  std::string pop(std::uint32_t worker) { return name_of(policy->pop(WorkerId{worker})); }

  FakeContext context;
  FakeGraph graph;
  std::unique_ptr<sched::Policy> policy = sched::make_policy("lws");
};

TEST_F(Lws, AWorkerRunsWhatItReleasedInTheOrderOfRelease) {
  start(2);
  for (const char* name : {"a", "b", "c"}) push(name, WorkerId{1});
  EXPECT_EQ(pop(1), "a");
  EXPECT_EQ(pop(1), "b");
  EXPECT_EQ(pop(1), "c");
  EXPECT_EQ(pop(1), "-");
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
  EXPECT_EQ(pop(0), "d");
  EXPECT_EQ(pop(0), "e");
  EXPECT_EQ(pop(0), "f");
  EXPECT_EQ(pop(0), "g");
  EXPECT_EQ(pop(0), "-");
}

TEST_F(Lws, ATaskReleasedByNoWorkerGoesBeforeOwnOnesOfLowerPriority) {
  start(2);
  push("own", WorkerId{0}, {.priority = 1});
  push("another", WorkerId{0}, {.priority = 1});
  push("low", kNoWorker);
  EXPECT_EQ(pop(0), "own");
  push("high", kNoWorker, {.priority = 2});
  push("equal", kNoWorker, {.priority = 1});
  for (const char* expected : {"high", "another", "equal", "low", "-"}) {
    EXPECT_EQ(pop(0), expected);
  }
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
  for (const char* expected : {"first", "second", "low", "negative", "-"}) {
    EXPECT_EQ(pop(0), expected);
  }
}

TEST_F(Lws, AThiefTakesTheLastOfTheHighestPriority) {
  start(2);
  push("high one", WorkerId{0}, {.priority = 1});
  push("high two", WorkerId{0}, {.priority = 1});
  push("low", WorkerId{0});
  EXPECT_EQ(pop(1), "high two");
  EXPECT_EQ(pop(1), "high one");
  EXPECT_EQ(pop(1), "low");
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
  push("bound later", WorkerId{0}, {.worker = WorkerId{0}});
  for (const char* expected : {"urgent", "bound", "shared", "bound later"}) {
    EXPECT_EQ(pop(0), expected);
  }
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
  EXPECT_EQ(pop(2), "a");
  EXPECT_EQ(pop(2), "b");
  EXPECT_EQ(pop(2), "c");
}

TEST_F(LwsOnTwoKinds, ATaskThatItsReleasingWorkerCannotRunGoesToOneThatCan) {
  push("for accelerators", WorkerId{0}, {.accelerators_only = true});
  EXPECT_EQ(pop(0), "-");
  EXPECT_EQ(pop(2), "for accelerators");
}

TEST_F(LwsOnTwoKinds, AThiefTakesTheLastTaskItCanRunOfTheHighestPriorityThatHasOne) {
  graph::Handle& big = graph.data("big", Bytes{100});
  push("low", WorkerId{2});
  push("small one", WorkerId{2}, {.priority = 1});
  push("small two", WorkerId{2}, {.priority = 1});
  policy->push(graph.task("big", {testing::reading(big)}, {.priority = 1}), WorkerId{2});
  policy->push(graph.task("big and urgent", {testing::reading(big)}, {.priority = 2}), WorkerId{2});
  EXPECT_EQ(pop(3), "small two");
  EXPECT_EQ(pop(3), "small one");
  EXPECT_EQ(pop(3), "low");
  EXPECT_EQ(pop(3), "-");
  EXPECT_EQ(pop(2), "big and urgent");
  EXPECT_EQ(pop(2), "big");
}

}  // namespace
}  // namespace vicinal
