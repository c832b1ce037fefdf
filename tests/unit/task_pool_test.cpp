// Slots of tasks and room for their accesses, used again and again.
#include "graph/task_pool.hpp"

#include <cstddef>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace vicinal::graph {
namespace {

void fill(Task& task, Handle& handle, std::size_t count) {
  task.access_count = static_cast<std::uint16_t>(count);
  for (std::size_t i = 0; i < count; ++i) {
    task.accesses()[i] = Access(handle, AccessMode::R, i, task.outside);
  }
}

TEST(TaskPool, EveryAccessLeadsToItsTaskWhereverItLies) {
  TaskPool pool(1);
  Handle handle;
  for (int life = 0; life < 3; ++life) {
    std::vector<Task*> tasks;
    for (const std::size_t count : {0U, 1U, 4U, 5U, 7U, 15U, 16U, 40U, 255U, 256U, 8192U}) {
      Task& task = pool.take(0, count);
      fill(task, handle, count);
      tasks.push_back(&task);
      EXPECT_EQ(task.outside, count > kInlineAccesses);
    }
    for (Task* task : tasks) {
      for (Access& access : task->accesses()) {
        EXPECT_EQ(&access.task(), task);
        EXPECT_EQ(access.handle, &handle);
      }
    }
    for (Task* task : tasks) pool.give_back(*task, 0);
  }
}

TEST(TaskPool, ANoteStaysWithTheSlotAndBelongsToNoOther) {
  TaskPool pool(1);
  std::set<const TaskNote*> notes;
  std::vector<Task*> tasks;
  for (std::uint64_t i = 0; i < 5000; ++i) {  // more than a slab
    tasks.push_back(&pool.take(0));
    TaskNote& note = TaskPool::note(*tasks.back());
    EXPECT_EQ(note.last_use, 0U);
    note.last_use = i;
    notes.insert(&note);
  }
  EXPECT_EQ(notes.size(), 5000U);
  for (std::uint64_t i = 0; i < 5000; ++i) EXPECT_EQ(TaskPool::note(*tasks[i]).last_use, i);
}

TEST(TaskPool, AnIdThatNoTaskEverHadLeadsToNone) {
  TaskPool pool(1);
  std::set<std::uint64_t> slots;
  for (int i = 0; i < 3000; ++i) {
    const Task& task = pool.take(0);
    slots.insert(TaskPool::id(task).value & 0xffffffffU);
    ASSERT_EQ(pool.find(TaskPool::id(task)), &task);
  }
  ASSERT_EQ(slots.size(), 3000U);
  for (std::uint64_t slot = 0; slot < 2 * *slots.rbegin(); ++slot) {
    const Task* const found = pool.find(TaskId{slot});
    EXPECT_TRUE(found == nullptr || (TaskPool::id(*found).value & 0xffffffffU) == slot);
    EXPECT_TRUE(found != nullptr || !slots.contains(slot));
  }
  EXPECT_EQ(pool.find(TaskId{0}), nullptr);  // where the slab's own data lie
}

TEST(TaskPool, RoomForAccessesIsUsedAgain) {
  TaskPool pool(1);
  Handle handle;
  std::set<const Access*> rooms;
  for (int life = 0; life < 1000; ++life) {
    Task& task = pool.take(0, 9);
    fill(task, handle, 9);
    rooms.insert(task.accesses().data());
    EXPECT_EQ(task.extension, nullptr);
    pool.give_back(task, 0);
    EXPECT_FALSE(task.outside);
  }
  EXPECT_EQ(rooms.size(), 1U);
}

TEST(TaskPool, SlotsPassFromTheThreadThatGivesBackToTheOneThatTakes) {
  TaskPool pool(2);
  std::set<const Task*> slots;
  for (int round = 0; round < 2000; ++round) {
    Task& task = pool.take(0, 1 + static_cast<std::size_t>(round) % 20);
    slots.insert(&task);
    std::thread([&] { pool.give_back(task, 1); }).join();
  }
  // Those of one slab at most, however many lives.
  EXPECT_LE(slots.size(), 2048U);
  std::set<std::uint64_t> ids;
  for (const Task* task : slots) ids.insert(TaskPool::id(*task).value);
  EXPECT_EQ(ids.size(), slots.size());
  for (const Task* task : slots) EXPECT_EQ(pool.find(TaskPool::id(*task)), task);
}

TEST(TaskPool, ASlotOfAnotherKindIsAComputationInItsNextLife) {
  TaskPool pool(1);
  Task& task = pool.take(0);
  task.kind = TaskKind::acquisition;
  task.extension = std::make_unique<TaskExtension>();
  pool.give_back(task, 0);
  Task& next = pool.take(0);
  EXPECT_EQ(&next, &task);
  EXPECT_EQ(next.kind, TaskKind::compute);
}

TEST(TaskKinds, OnlyComputationsPassThroughThePolicyAndNobodyWaitsForAcquisitions) {
  for (const TaskKind kind :
       {TaskKind::compute, TaskKind::acquisition, TaskKind::prefetch, TaskKind::invalidation}) {
    const bool computes = kind == TaskKind::compute;
    EXPECT_EQ(is_scheduled(kind), computes);
    EXPECT_EQ(is_cancellable(kind), computes);
    EXPECT_EQ(uses_data(kind), computes);
    EXPECT_EQ(is_counted(kind), kind != TaskKind::acquisition);
  }
}

}  // namespace
}  // namespace vicinal::graph
