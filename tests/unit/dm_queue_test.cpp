// dmdar and dmdas: which of its tasks a worker takes first.
#include "sched/policies/dm_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/deque_model_fixture.hpp"

namespace vicinal {
namespace {

using testing::DequeModelTest;
using testing::reading;
using testing::writing;

class Dmdar : public DequeModelTest {
 protected:
  Dmdar() : DequeModelTest("dmdar") {}
};

TEST_F(Dmdar, TakesTheTaskWithFewestMissingBytesAndAmongEqualsTheFirst) {
  start(1);
  push("200", {reading(data_on(kRam)), reading(data_on(kRam))});
  push("100", {reading(data_on(kRam)), reading(data_on(nodes[0]))});
  push("0", {reading(data_on(nodes[0]))});
  push("100 too", {reading(data_on(kRam))});
  EXPECT_EQ(pop(), "0");
  EXPECT_EQ(pop(), "100");
  EXPECT_EQ(pop(), "100 too");
  EXPECT_EQ(pop(), "200");
}

TEST_F(Dmdar, FollowsWhatArrivesAndLeavesWhileTasksWait) {
  start(1);
  graph::Handle& a = data_on(kRam);
  graph::Handle& b = data_on(kRam);
  for (const char* name : {"a1", "a2"}) push(name, {reading(a)});
  for (const char* name : {"b1", "b2"}) push(name, {reading(b)});
  load(b, nodes[0]);
  EXPECT_EQ(pop(), "b1");
  load(a, nodes[0]);
  EXPECT_EQ(pop(), "a1");
  evict(a, nodes[0]);
  EXPECT_EQ(pop(), "b2");
  EXPECT_EQ(pop(), "a2");
}

TEST_F(Dmdar, OfTasksThatLackNothingTakesTheOneWhoseOutputHasItsPlace) {
  start(1);
  push("new", {writing(graph.data("o"))});
  push("old", {writing(data_on(nodes[0]))});
  EXPECT_EQ(pop_all(), "old new");
}

TEST_F(Dmdar, DoesNotPassTheHeadForATaskOfLowerPriority) {
  start(1);
  graph::Handle& here = data_on(nodes[0]);
  push("head", {reading(data_on(kRam))}, {.priority = 1});
  push("lower", {reading(here)}, {.priority = 0});
  push("higher", {reading(here)}, {.priority = 2});
  EXPECT_EQ(pop_all(), "higher head lower");
}

class Dmdas : public DequeModelTest {
 protected:
  Dmdas() : DequeModelTest("dmdas") {}
};

TEST_F(Dmdas, SaysWhichTasksComeNextHoweverManyWait) {
  start(1);
  base::Random random(20261122);
  for (int i = 0; i < 200; ++i) push("t", {}, {.priority = static_cast<int>(random.below(5))});
  std::vector<const graph::Task*> expected;
  std::size_t told = 0;
  for (int given = 0; given < 200; ++given) {
    const graph::Task* const task = policy->pop(WorkerId{0});
    ASSERT_NE(task, nullptr);
    if (given > 0) {
      ASSERT_EQ(task, expected.front()) << given;
    }
    expected = context.expected;
    told += expected.size();
  }
  EXPECT_GT(told, 3 * 150U);  // where a priority ends fewer are known
}

TEST_F(Dmdas, TakesTheHighestPriorityAndAmongEqualsTheOneThatLacksLeast) {
  start(1);
  graph::Handle& here = data_on(nodes[0]);
  push("low, here", {reading(here)}, {.priority = 1});
  push("high, absent", {reading(data_on(kRam))}, {.priority = 2});
  push("high, here", {reading(here)}, {.priority = 2});
  EXPECT_EQ(pop(), "high, here");
  EXPECT_EQ(pop(), "high, absent");
  EXPECT_EQ(pop(), "low, here");
}

// Against the rule as it is written: a walk through all that is queued, in the order of the pushes.
class QueueModel {
 public:
  explicit QueueModel(sched::dm::Order order) : order_(order) {}
  std::vector<sched::dm::TaskRecord*> items;

  sched::dm::TaskRecord* first() const {
    if (items.empty()) return nullptr;
    sched::dm::TaskRecord* head = items.front();
    for (auto* item : items) {
      if (order_.by_priority && item->task->priority > head->task->priority) head = item;
    }
    if (!order_.ready_first) return head;
    sched::dm::TaskRecord* best = head;
    for (auto* item : items) {
      if (item->task->priority < head->task->priority) continue;
      const bool earlier = item->missing == best->missing && item->number < best->number;
      if (item->missing < best->missing || earlier) best = item;
    }
    return best;
  }

 private:
  sched::dm::Order order_;
};

void compare_with_model(sched::dm::Order order) {
  base::Random random(20250301);
  std::deque<graph::Task> tasks(150);
  std::deque<sched::dm::TaskRecord> records(tasks.size());
  std::vector<sched::dm::TaskRecord*> outside;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    records[i].task = &tasks[i];
    outside.push_back(&records[i]);
  }
  const auto lack = [&] {
    return sched::Missing{random.below(3) * 100, random.below(2) * 100, random.below(2) * 50};
  };
  sched::dm::Queue queue(order);
  QueueModel model(order);
  std::uint64_t number = 0;
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t what = random.below(4);
    if (what == 0 && !outside.empty()) {
      std::swap(outside[random.below(outside.size())], outside.back());
      auto& record = *outside.back();
      outside.pop_back();
      record.task->priority = static_cast<int>(random.below(3));
      record.missing = lack();
      record.number = number++;
      queue.insert(record);
      model.items.push_back(&record);
    } else if (what == 1 && !model.items.empty()) {
      auto& record =
          random.below(2) == 0 ? *queue.first() : *model.items[random.below(model.items.size())];
      queue.remove(record);
      std::erase(model.items, &record);
      outside.push_back(&record);
    } else if (!model.items.empty()) {
      auto& record = *model.items[random.below(model.items.size())];
      record.missing = lack();
      queue.missing_changed(record);
    }
    ASSERT_EQ(queue.size(), model.items.size());
    ASSERT_EQ(queue.first(), model.first()) << "step " << step;
  }
}

TEST(DequeModelQueue, DoesWhatAWalkThroughTheWholeQueueDoesUnderRandomOperations) {
  for (const bool by_priority : {false, true}) {
    for (const bool ready_first : {false, true}) {
      SCOPED_TRACE(std::string(by_priority ? "by priority" : "first in, first out") +
                   (ready_first ? ", ready first" : ""));
      compare_with_model({.by_priority = by_priority, .ready_first = ready_first});
    }
  }
}

}  // namespace
}  // namespace vicinal
