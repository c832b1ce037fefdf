// Accesses that reduce in the queue of a handle, and who is lent which private copy.
#include "engine/private_copies.hpp"

#include <deque>
#include <memory>

#include <gtest/gtest.h>

#include "graph/dependencies.hpp"

namespace vicinal {
namespace {

using engine::PrivateCopies;
using graph::Task;

// Two cores on RAM, one accelerator.
MachineDescription machine() {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}, {NodeId{1}, "device", NodeKind::device, {}}};
  machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam},
                     {WorkerId{1}, ProcessorKind::cpu, kRam},
                     {WorkerId{2}, ProcessorKind::emulated, NodeId{1}}};
  return machine;
}

class ReducingTasks : public ::testing::Test {
 protected:
  ReducingTasks() {
    data.content = graph::Content::written;
    reduction.of = &data;
    reduction.take_room = [this](graph::PrivateCopy& copy) {
      copy.has_room = rooms > 0;
      if (copy.has_room) --rooms;
      return copy.has_room;
    };
    for (graph::Handle& handle : handles) reduction.copies.emplace_back().handle = &handle;
    reduction.copies[0].has_room = true;
  }
  Task& task(AccessMode mode) {
    Task& made = tasks.emplace_back();
    made.extension = std::make_unique<graph::TaskExtension>();
    made.inline_accesses[0] = graph::Access(data, mode);
    made.access_count = 1;
    made.blocked = 1;
    if (mode == AccessMode::reduction) reduces(made, 0, reduction);
    return made;
  }

  static void reduces(Task& task, std::size_t access, graph::Reduction& into) {
    graph::ReducedOperand& operand = task.extension->reduced.emplace_back();
    operand.access = access;
    operand.reduction = &into;
  }

  graph::Handle data;
  graph::Handle handles[3];
  std::size_t rooms = 3;
  graph::Reduction reduction;
  std::deque<Task> tasks;
  PrivateCopies copies{machine()};
};

TEST_F(ReducingTasks, AreGrantedTogetherAndBetweenWriters) {
  Task& before = task(AccessMode::W);
  Task& first = task(AccessMode::reduction);
  Task& second = task(AccessMode::reduction);
  Task& behind = task(AccessMode::RW);
  EXPECT_TRUE(graph::insert(before));
  for (Task* const waits : {&first, &second, &behind}) EXPECT_FALSE(graph::insert(*waits));
  graph::ReadyList ready;
  graph::release(before, ready);
  EXPECT_EQ(ready.take(), &first);
  EXPECT_EQ(ready.take(), &second);
  graph::release(second, ready);
  EXPECT_EQ(ready.take(), nullptr);
  graph::release(first, ready);
  EXPECT_EQ(ready.take(), &behind);
}

TEST_F(ReducingTasks, HaveOneCopyForEachThatRunsAtOnceOnTheirNode) {
  EXPECT_EQ(copies.most(), 3U);
  Task& first = task(AccessMode::reduction);
  Task& second = task(AccessMode::reduction);
  Task& third = task(AccessMode::reduction);
  EXPECT_TRUE(copies.lend(first, kRam));
  EXPECT_TRUE(copies.lend(second, kRam));
  EXPECT_FALSE(copies.lend(third, kRam));
  EXPECT_TRUE(copies.lend(third, NodeId{1}));
  PrivateCopies::enter(first);
  EXPECT_NE(first.accesses()[0].handle, &data);
  EXPECT_EQ(first.accesses()[0].mode, AccessMode::W);  // it begins with the neutral element
  const graph::Handle* const used = first.accesses()[0].handle;
  copies.take_back(first, true);
  EXPECT_EQ(first.accesses()[0].handle, &data);
  EXPECT_EQ(first.accesses()[0].mode, AccessMode::reduction);
  Task& fourth = task(AccessMode::reduction);
  ASSERT_TRUE(copies.lend(fourth, kRam));
  PrivateCopies::enter(fourth);
  EXPECT_EQ(fourth.accesses()[0].handle, used);
  EXPECT_EQ(fourth.accesses()[0].mode, AccessMode::RW);
}

TEST_F(ReducingTasks, WaitForTheOnlyCopyWhereThereIsNoRoomForMore) {
  rooms = 0;
  Task& first = task(AccessMode::reduction);
  Task& second = task(AccessMode::reduction);
  ASSERT_TRUE(copies.lend(first, kRam));
  EXPECT_FALSE(copies.lend(second, kRam));
  EXPECT_FALSE(copies.lend(second, NodeId{1}));
  const std::uint64_t before = copies.returns();
  copies.take_back(first, true);
  EXPECT_GT(copies.returns(), before);
  ASSERT_TRUE(copies.lend(second, NodeId{1}));  // it moves
  PrivateCopies::enter(second);
  EXPECT_EQ(second.accesses()[0].mode, AccessMode::RW);
}

TEST_F(ReducingTasks, KeepNoCopyIfOneOfSeveralIsMissing) {
  graph::Handle other;
  graph::Handle copy_of_other;
  graph::Reduction second;
  second.of = &other;
  graph::PrivateCopy& only = second.copies.emplace_back();
  only.handle = &copy_of_other;
  only.is_lent = true;
  Task& both = task(AccessMode::reduction);
  both.inline_accesses[1] = graph::Access(other, AccessMode::reduction, 1);
  both.access_count = 2;
  reduces(both, 1, second);
  EXPECT_FALSE(copies.lend(both, kRam));
  EXPECT_FALSE(reduction.copies[0].is_lent);
  only.is_lent = false;
  only.has_room = true;
  EXPECT_TRUE(copies.lend(both, kRam));
}

}  // namespace
}  // namespace vicinal
