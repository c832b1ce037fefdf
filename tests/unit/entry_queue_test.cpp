// The way of ready tasks from the application's threads to the workers.
#include "sched/entry_queue.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace vicinal::sched {
namespace {

std::vector<graph::Task*> take(EntryQueue& queue, std::size_t most, std::size_t share) {
  std::vector<graph::Task*> tasks(most);
  tasks.resize(queue.take(tasks, share).count);
  return tasks;
}

TEST(EntryQueue, FirstInFirstOutOverManyChunksWhichAreUsedAgain) {
  EntryQueue queue;
  std::deque<graph::Task> tasks(5000);
  std::size_t pushed = 0;
  std::size_t taken = 0;
  const auto push = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) queue.push(tasks[pushed++]);
  };
  push(3000);
  while (taken < tasks.size()) {
    if (pushed < tasks.size()) push(std::min<std::size_t>(40, tasks.size() - pushed));
    ASSERT_FALSE(queue.empty());
    for (graph::Task* task : take(queue, 64, 1)) ASSERT_EQ(task, &tasks[taken++]);
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_TRUE(take(queue, 64, 1).empty());
}

TEST(EntryQueue, NobodyTakesMoreThanItsShareButOneAtLeast) {
  EntryQueue queue;
  std::deque<graph::Task> tasks(100);
  for (graph::Task& task : tasks) queue.push(task);
  EXPECT_EQ(take(queue, 64, 4).size(), 25U);
  EXPECT_EQ(take(queue, 64, 4).size(), 18U);
  EXPECT_EQ(take(queue, 5, 4).size(), 5U);
  EXPECT_EQ(take(queue, 64, 1000).size(), 1U);
  EXPECT_EQ(take(queue, 64, 1).size(), 51U);
}

TEST(EntryQueue, HigherPrioritiesComeFirstAndLowerOnesLast) {
  EntryQueue queue;
  std::deque<graph::Task> tasks(6);
  const int priorities[] = {0, -1, 2, 0, 5, 2};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    tasks[i].priority = priorities[i];
    queue.push(tasks[i]);
  }
  EXPECT_TRUE(queue.above(4));
  EXPECT_FALSE(queue.above(5));
  std::vector<int> order;
  while (!queue.empty()) {
    for (graph::Task* task : take(queue, 1, 1)) order.push_back(task->priority);
    if (order.size() == 3) {
      EXPECT_TRUE(queue.above(-1));
      EXPECT_FALSE(queue.above(0));
    }
  }
  EXPECT_EQ(order, (std::vector<int>{5, 2, 2, 0, 0, -1}));
}

TEST(EntryQueue, TasksOfAnyOnePriorityAreTakenSeveralAtATime) {
  for (const int priority : {-3, 0, 7}) {
    EntryQueue queue;
    std::deque<graph::Task> tasks(100);
    for (graph::Task& task : tasks) {
      task.priority = priority;
      queue.push(task);
    }
    EXPECT_TRUE(queue.above(priority - 1));
    EXPECT_FALSE(queue.above(priority));
    EXPECT_EQ(take(queue, 64, 4).size(), 25U);
  }
}

TEST(EntryQueue, EqualsKeepTheirOrderWhenThePriorityOfTheFirstChanges) {
  EntryQueue queue;
  std::deque<graph::Task> tasks(4);
  const int priorities[] = {0, 3, 3, 3};
  for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i].priority = priorities[i];
  queue.push(tasks[0]);
  queue.push(tasks[1]);
  EXPECT_EQ(take(queue, 1, 1).front(), &tasks[1]);
  queue.push(tasks[2]);
  EXPECT_EQ(take(queue, 1, 1).front(), &tasks[2]);
  EXPECT_EQ(take(queue, 1, 1).front(), &tasks[0]);
  queue.push(tasks[1]);
  queue.push(tasks[3]);
  queue.push(tasks[0]);
  queue.push(tasks[2]);
  EXPECT_EQ(take(queue, 64, 1), (std::vector<graph::Task*>{&tasks[1], &tasks[3], &tasks[2]}));
  EXPECT_EQ(take(queue, 64, 1).front(), &tasks[0]);
}

// Of the tasks of each thread that pushes, each taker sees those it takes in their order.
TEST(EntryQueue, SeveralThreadsPushAndTakeAndNothingIsLostOrDoubled) {
  constexpr std::size_t kThreads = 2;
  constexpr std::size_t kEach = 20'000;
  EntryQueue queue;
  std::array<std::deque<graph::Task>, kThreads> tasks;
  std::vector<std::atomic<int>> seen(kThreads * kEach);
  for (std::size_t t = 0; t < kThreads; ++t) {
    for (std::size_t i = 0; i < kEach; ++i) {
      graph::Task& task = tasks[t].emplace_back();
      task.priority = i % 97 == 0 ? static_cast<int>(i % 5) - 2 : 0;
      const std::size_t number = t * kEach + i;
      std::memcpy(task.parameters, &number, sizeof(number));
    }
  }
  std::atomic<std::size_t> taken{0};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (graph::Task& task : tasks[t]) queue.push(task);
    });
    threads.emplace_back([&] {
      std::array<std::size_t, kThreads> next{};
      while (taken.load() < kThreads * kEach) {
        for (const graph::Task* task : take(queue, 64, kThreads)) {
          std::size_t number = 0;
          std::memcpy(&number, task->parameters, sizeof(number));
          seen[number].fetch_add(1);
          taken.fetch_add(1);
          if (task->priority != 0) continue;
          EXPECT_GE(number % kEach, next[number / kEach]);
          next[number / kEach] = number % kEach + 1;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& count : seen) ASSERT_EQ(count.load(), 1);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace vicinal::sched
