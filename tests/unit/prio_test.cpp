#include <algorithm>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "sched/priority_list.hpp"
#include "support/policy_fixture.hpp"

namespace vicinal {
namespace {

class Prio : public testing::PolicyTest {
 protected:
  Prio() : PolicyTest("prio") {}
};

TEST_F(Prio, TakesTheHighestPriorityAndAmongEqualsTheFirstPushed) {
  context.add_worker();
  policy->start(context);
  push("low", {}, {.priority = -1});
  push("first", {}, {.priority = 2});
  push("middle", {}, {.priority = 1});
  push("second", {}, {.priority = 2});
  EXPECT_EQ(pop_all(), "first second middle low");
}

TEST_F(Prio, PassesOverWhatTheWorkerCannotRun) {
  context.add_worker();
  const WorkerId other = context.add_worker();
  policy->start(context);
  push("bound", {}, {.priority = 5, .worker = other});
  push("any");
  EXPECT_EQ(pop_all(0), "any");
  EXPECT_EQ(pop(1), "bound");
}

// Against a vector in which every insertion and every search is by walking.
class PriorityListModel {
 public:
  void push_back(graph::Task& task) {
    const auto lower = std::find_if(items_.begin(), items_.end(), [&](const graph::Task* item) {
      return item->priority < task.priority;
    });
    items_.insert(lower, &task);
  }
  void remove(graph::Task& task) { std::erase(items_, &task); }
  const std::vector<graph::Task*>& items() const { return items_; }
  // The last of the items of the priority of the first item with a multiple of three.
  graph::Task* last_of_highest() const {
    graph::Task* found = nullptr;
    for (graph::Task* item : items_) {
      if (found != nullptr && item->priority != found->priority) break;
      if (wanted(*item)) found = item;
    }
    return found;
  }
  static bool wanted(const graph::Task& task) { return task.access_count % 3 == 0; }

 private:
  std::vector<graph::Task*> items_;
};

TEST(PriorityList, DoesWhatASortedVectorDoesUnderRandomOperations) {
  const std::uint64_t seed = 20240518;
  SCOPED_TRACE("seed " + std::to_string(seed));
  base::Random random(seed);
  std::deque<graph::Task> tasks(200);
  sched::TaskList list;
  PriorityListModel model;
  std::vector<graph::Task*> outside;
  for (graph::Task& task : tasks) {
    task.access_count = static_cast<std::uint16_t>(outside.size());
    outside.push_back(&task);
  }
  for (int step = 0; step < 20000; ++step) {
    const bool insert = !outside.empty() && (model.items().empty() || random.below(2) == 0);
    if (insert) {
      std::swap(outside[random.below(outside.size())], outside.back());
      graph::Task& task = *outside.back();
      outside.pop_back();
      task.priority = static_cast<int>(random.below(7)) - 3;
      list.push_back(task);
      model.push_back(task);
    } else {
      graph::Task* removed = model.items()[random.below(model.items().size())];
      if (random.below(2) == 0) {
        removed = model.items().front();
        ASSERT_EQ(list.pop_front(), removed);
      } else {
        list.remove(*removed);
      }
      model.remove(*removed);
      outside.push_back(removed);
    }
    ASSERT_EQ(list.empty(), model.items().empty());
    if (list.empty()) continue;
    ASSERT_EQ(list.top_priority(), model.items().front()->priority);
    ASSERT_EQ(list.find_last_of_highest(PriorityListModel::wanted), model.last_of_highest());
    std::size_t visited = 0;
    list.find_first([&](const graph::Task& task) { return &task != model.items()[visited++]; });
    ASSERT_EQ(visited, model.items().size());
  }
}

}  // namespace
}  // namespace vicinal
