// Which memory-bound tasks start: by hand, on four cores that share 10 GB/s.
#include "engine/contention_gate.hpp"

#include <deque>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "graph/task.hpp"

namespace vicinal::engine {
namespace {

using graph::Task;

constexpr WorkerId kWorkers[] = {{0}, {1}, {2}, {3}};

MachineDescription four_cores(std::vector<BytesPerSecond> by_kernels = {}) {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}, {NodeId{1}, "gpu", NodeKind::device, {}}};
  machine.segments = {{.name = "memory",
                       .bandwidth = BytesPerSecond{10e9},
                       .by_kernels = std::move(by_kernels),
                       .for_copies = BytesPerSecond{2e9}}};
  for (const WorkerId worker : kWorkers) {
    machine.workers.push_back({worker, ProcessorKind::cpu, kRam});
    machine.workers.back().draws_on = {0};
  }
  LinkDescription link{kRam, NodeId{1}, BytesPerSecond{4e9}, Time{0}, 1};
  link.segments = {0};
  machine.links = {link};
  return machine;
}

class Tasks {
 public:
  Task& demanding(double bytes_per_second, int priority = 0) {
    Codelet& codelet = codelets_.emplace_back();
    codelet.demands[0] = BytesPerSecond{bytes_per_second};
    Task& task = tasks_.emplace_back();
    task.codelet = &codelet;
    task.priority = priority;
    return task;
  }

 private:
  std::deque<Codelet> codelets_;
  std::deque<Task> tasks_;
};

memory::Copy copy_of(Bytes bytes, std::uint32_t number) {
  memory::Copy copy;
  copy.id = {number, 1, nullptr};
  copy.from.node = kRam;
  copy.to.node = NodeId{1};
  copy.from.layout = {.column_bytes = bytes.value, .columns = 1, .stride_bytes = bytes.value};
  return copy;
}

// 5 GB/s each: two saturate the memory. The third waits, and is taken where nothing else is found, or at the end of one.
TEST(ContentionGate, KeepsWhatWouldGainNothingUntilAWorkerFindsNothingElse) {
  Tasks tasks;
  ContentionGate gate(four_cores(), true, true);
  Task* const loads[] = {&tasks.demanding(5e9), &tasks.demanding(5e9), &tasks.demanding(5e9),
                         &tasks.demanding(5e9)};
  EXPECT_FALSE(gate.keep(*loads[0], kWorkers[0]));
  EXPECT_FALSE(gate.keep(*loads[1], kWorkers[1]));
  const std::optional<Saturation> why = gate.keep(*loads[2], kWorkers[2]);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->tasks, 2U);
  EXPECT_EQ(why->transfers, 0U);
  EXPECT_EQ(why->demanded, 10'000'000'000);
  EXPECT_EQ(why->saturating, 9'900'000'000);
  EXPECT_TRUE(gate.keep(*loads[3], kWorkers[2]));
  EXPECT_FALSE(gate.keep(tasks.demanding(1e9), kWorkers[2])) << "it computes";
  EXPECT_EQ(gate.take(kWorkers[3], false), nullptr);
  EXPECT_EQ(gate.take(kWorkers[3], true), loads[2]);
  EXPECT_FALSE(gate.end(*loads[0], kWorkers[0])) << "two are left, with one that computes";
  EXPECT_TRUE(gate.end(*loads[1], kWorkers[1]));
  EXPECT_EQ(gate.take(kWorkers[1], false), loads[3]);
  EXPECT_EQ(gate.waiting(), 0U);
}

TEST(ContentionGate, GivesTheHighestPriorityFirst) {
  Tasks tasks;
  ContentionGate gate(four_cores(), true, true);
  Task& first = tasks.demanding(10e9);
  EXPECT_FALSE(gate.keep(first, kWorkers[0]));
  Task& low = tasks.demanding(10e9, 1);
  Task& high = tasks.demanding(10e9, 2);
  Task& high_too = tasks.demanding(10e9, 2);
  for (Task* const task : {&low, &high, &high_too}) EXPECT_TRUE(gate.keep(*task, kWorkers[1]));
  for (Task* const task : {&high, &high_too, &low}) {
    EXPECT_EQ(gate.take(kWorkers[1], true), task);
  }
}

// 4 GB/s of the copy: beside it one task of 6 GB/s is enough. A worker waits rather than to slow the copy down.
TEST(ContentionGate, LetsLargeCopiesHaveTheirBandwidth) {
  Tasks tasks;
  ContentionGate gate(four_cores(), true, true);
  gate.begin(copy_of(1_MiB, 7));
  gate.begin(copy_of(1_MiB, 8));  // of the same link
  gate.begin(copy_of(1_KiB, 9));  // which is small
  Task& first = tasks.demanding(6e9);
  Task& second = tasks.demanding(6e9);
  EXPECT_FALSE(gate.keep(first, kWorkers[0]));
  const std::optional<Saturation> why = gate.keep(second, kWorkers[1]);
  ASSERT_TRUE(why);
  EXPECT_EQ(why->transfers, 1U);
  EXPECT_EQ(why->demanded, 10'000'000'000);
  EXPECT_EQ(gate.take(kWorkers[1], true), nullptr);
  EXPECT_TRUE(gate.may_poll());
  EXPECT_FALSE(gate.may_poll());
  gate.has_polled();
  gate.has_polled();
  EXPECT_FALSE(gate.end({9, 1, nullptr}));
  EXPECT_FALSE(gate.end({7, 1, nullptr}));
  EXPECT_TRUE(gate.end({8, 1, nullptr}));
  EXPECT_EQ(gate.take(kWorkers[1], false), &second);
}

// Messages have what the machine keeps for copies: 2 GB/s.
TEST(ContentionGate, CountsMessages) {
  Tasks tasks;
  ContentionGate gate(four_cores(), true, true);
  gate.begin_message(1_KiB);
  gate.begin_message(1_MiB);
  gate.begin_message(1_MiB);
  Task& first = tasks.demanding(8e9);
  EXPECT_FALSE(gate.keep(first, kWorkers[0]));
  Task& second = tasks.demanding(8e9);
  EXPECT_TRUE(gate.keep(second, kWorkers[1]));
  EXPECT_FALSE(gate.end_message(1_MiB));
  EXPECT_FALSE(gate.end_message(1_KiB));
  EXPECT_EQ(gate.take(kWorkers[1], true), nullptr);
  EXPECT_TRUE(gate.end_message(1_MiB));
  EXPECT_EQ(gate.take(kWorkers[1], false), &second);
}

// Under a policy that places tasks.
TEST(ContentionGate, LeavesTasksToTheWorkerThatThePolicyGaveThem) {
  Tasks tasks;
  ContentionGate gate(four_cores(), true, false);
  Task& first = tasks.demanding(10e9);
  Task& second = tasks.demanding(10e9);
  EXPECT_FALSE(gate.keep(first, kWorkers[0]));
  EXPECT_TRUE(gate.keep(second, kWorkers[1]));
  EXPECT_TRUE(gate.end(first, kWorkers[0]));
  EXPECT_EQ(gate.take(kWorkers[2], false), nullptr);
  EXPECT_EQ(gate.take(kWorkers[1], false), &second);
  Task& third = tasks.demanding(10e9);
  EXPECT_TRUE(gate.keep(third, kWorkers[3]));
  EXPECT_EQ(gate.take(kWorkers[2], true), &third) << "it has found nothing else";
}

TEST(ContentionGate, AlwaysLetsOneRun) {
  Tasks tasks;
  ContentionGate gate(four_cores(), true, true);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_FALSE(gate.keep(tasks.demanding(2.4e9), kWorkers[i])) << "none is memory-bound";
  }
  gate.begin(copy_of(1_MiB, 7));
  EXPECT_FALSE(gate.keep(tasks.demanding(6e9), kWorkers[3]));
}

// Two have 10 GB/s, three and more 5. Of 5 GB/s each: six in waves of two take three times what one takes alone; four at once
// take 4 * 5 / 5 = 4 times, as long as there are more than two.
TEST(ContentionGate, LetsNoMoreBeginWhereTheMemoryGivesLessToMore) {
  Tasks tasks;
  ContentionGate gate(four_cores({BytesPerSecond{5e9}, BytesPerSecond{10e9}, BytesPerSecond{5e9}}),
                      true, 10);
  EXPECT_FALSE(gate.keep(tasks.demanding(5e9), kWorkers[0]));
  EXPECT_FALSE(gate.keep(tasks.demanding(5e9), kWorkers[1]));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(gate.keep(tasks.demanding(5e9), kWorkers[2]));
  EXPECT_EQ(gate.take(kWorkers[2], true), nullptr);
}

// The same, but that more have 9 GB/s: three tasks in two waves take 2 times what one takes alone, at once 3 * 5 / 9 = 1.7 times.
TEST(ContentionGate, LetsTheLastBeginWhereTheirWaveWouldLeaveTheMemoryUnused) {
  Tasks tasks;
  ContentionGate gate(four_cores({BytesPerSecond{5e9}, BytesPerSecond{10e9}, BytesPerSecond{9e9}}),
                      true, 10);
  EXPECT_FALSE(gate.keep(tasks.demanding(5e9), kWorkers[0]));
  EXPECT_FALSE(gate.keep(tasks.demanding(5e9), kWorkers[1]));
  Task& last = tasks.demanding(5e9);
  EXPECT_TRUE(gate.keep(last, kWorkers[2]));
  EXPECT_EQ(gate.take(kWorkers[2], true), &last);
}

TEST(ContentionGate, LeavesAloneWhatIsBoundAndMachinesThatSayNothing) {
  Tasks tasks;
  MachineDescription silent = four_cores();
  for (WorkerDescription& worker : silent.workers) worker.draws_on.clear();
  EXPECT_FALSE(ContentionGate(silent, true, true).active());
  EXPECT_FALSE(ContentionGate(four_cores(), false, true).active());
  ContentionGate gate(four_cores(), true, true);
  EXPECT_FALSE(gate.keep(tasks.demanding(10e9), kWorkers[0]));
  Task& bound = tasks.demanding(10e9);
  bound.extension = std::make_unique<graph::TaskExtension>();
  bound.extension->worker = kWorkers[1];
  EXPECT_FALSE(gate.keep(bound, kWorkers[1]));
}

}  // namespace
}  // namespace vicinal::engine
