// ap: the order of the list, the devices that tasks are given to, and a schedule by hand.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/policy_fixture.hpp"
#include "support/told_run.hpp"

namespace vicinal {
namespace {

using testing::changing;
using ::testing::ElementsAre;
using testing::reading;

class Ap : public testing::AcceleratorPolicyTest {
 protected:
  Ap() : AcceleratorPolicyTest("ap") {}
};

TEST_F(Ap, WithoutAcceleratorsItIsOneListByPriority) {
  context.add_worker();
  context.add_worker();
  policy->start(context);
  push("low", {}, {.priority = 1});
  push("bound", {}, {.priority = 9, .worker = WorkerId{1}});
  push("first", {}, {.priority = 5});
  push("second", {}, {.priority = 5});
  EXPECT_EQ(pop_all(0), "first second low");
  EXPECT_EQ(pop_all(1), "bound");
}

TEST_F(Ap, TheListIsGivenToTheDevicesByPriorityAsSoonAsAWorkerAsks) {
  start(1);
  push("low");
  push("high", {}, {.priority = 5});
  EXPECT_EQ(pop(0), "high");
  push("urgent", {}, {.priority = 9});  // behind what was given before
  EXPECT_EQ(pop_all(0), "low urgent");
}

TEST_F(Ap, ACoreGivesTasksToTheDevicesAndRunsOnlyWhatTheseCannot) {
  context.add_worker();
  start(2, Bytes{250});  // workers 1 and 2
  graph::Handle& large = graph.data("large", Bytes{300});
  push("too large", {reading(large)});
  push("bound", {}, {.worker = WorkerId{0}});
  push("a", {}, {.priority = 1});
  push("b", {}, {.priority = 1});
  EXPECT_EQ(pop_all(0), "too large bound");
  EXPECT_EQ(context.woken, (std::vector{WorkerId{2}, WorkerId{1}}));
  push("urgent", {}, {.priority = 9});
  EXPECT_EQ(pop_all(2), "a urgent");  // the last device on ties
  EXPECT_EQ(pop_all(1), "b");
}

TEST_F(Ap, CoresHaveWhatTheyEndFirst) {
  context.add_worker();
  start(1);  // worker 1
  push("faster", {}, {.time = Time{10}, .accelerator_time = Time{50}});
  push("slower", {}, {.time = Time{60}, .accelerator_time = Time{50}});
  EXPECT_EQ(pop_all(0), "faster");
  EXPECT_EQ(pop_all(1), "slower");
}

TEST_F(Ap, ADatumsLastWriterIsItsOwnerUntilACoreWritesIt) {
  context.add_worker();
  start(2);
  graph::Handle& data = graph.data("d");
  push("writes", {changing(data)}, {.worker = WorkerId{1}});
  EXPECT_EQ(pop_all(1), "writes");
  push("busy", {}, {.time = Time{500}, .worker = WorkerId{1}});
  push("follows", {changing(data)});
  EXPECT_EQ(pop(2), "-");
  EXPECT_EQ(pop_all(1), "busy follows");
  push("on a core", {changing(data)}, {.worker = WorkerId{0}});
  EXPECT_EQ(pop_all(0), "on a core");
  push("free", {changing(data)});
  EXPECT_EQ(pop_all(2), "free");
}

TEST_F(Ap, WhatEndsLightensItsDevice) {
  start(2);
  graph::Task& first = push("a", {}, {.time = Time{50}});
  push("b", {}, {.time = Time{60}});
  EXPECT_EQ(pop_all(1), "a");
  EXPECT_EQ(pop_all(0), "b");
  policy->task_done(first, WorkerId{1});
  push("c", {}, {.time = Time{20}});  // 20 and 80
  push("d", {}, {.time = Time{20}});  // 40 and 80
  EXPECT_EQ(pop_all(1), "c d");
}

TEST_F(Ap, WhatWaitsForADeviceWhoseWorkerIsAwayGoesToWhoeverCanRunIt) {
  start(2);
  push("t");
  EXPECT_EQ(pop(0), "-");
  context.set_away(WorkerId{1});
  EXPECT_EQ(pop(0), "t");
}

// --- a schedule by hand. A byte takes 1 ns on each link; copies of one link follow each other.
//
// Tasks that each have 1000 bytes to copy, with their priorities and times:
//   a (1) 5000   b (3) 5000   c (2) 6000
// f (9) reads what b wrote and changes a datum of its own, g (1) changes what c wrote; both take 5000.
// The first who asks gives b, c, a to the devices: b to the last of two that are empty, device 2; c to 1 (6000 against
// 11000); a to 2 (10000 against 11000).
//   device 1   c 1000..7000   g 7000..12000
//   device 2   b 1000..6000   a 6000..11000   f 11000..16000
// At 6000 b releases f. Device 2 wrote what it reads, has a to do, and would end f after 10000; device 1 after 11000,
// as c has not ended. It goes to device 2, and its priority does not bring it before a. At 7000 c releases g, which
// device 1 owns.
TEST(ApSchedule, TheOrderIsFixedEarlyAndOwnersCompute) {
  MachineDescription machine = testing::machine_of({.accelerators = 2});
  for (LinkDescription& link : machine.links) link.copies_in_flight = 1;
  testing::Listener listener;
  testing::ToldRun run(machine, "ap", &listener);
  const Codelet task = testing::codelet_of("task", Time{0}, Time{5000});
  const Codelet longer = testing::codelet_of("longer", Time{0}, Time{6000});
  std::vector<Handle> data;
  for (int i = 0; i < 4; ++i) data.push_back(run.data(Bytes{1000}));
  std::vector<TaskId> tasks;
  const auto submit = [&](const Codelet& codelet, const std::vector<Operand>& operands,
                          int priority) {
    tasks.push_back(run.submit({.codelet = &codelet, .operands = operands, .priority = priority}));
  };
  submit(task, {RW(data[0])}, 1);              // a
  submit(task, {RW(data[1])}, 3);              // b
  submit(longer, {RW(data[2])}, 2);            // c
  submit(task, {R(data[1]), RW(data[3])}, 9);  // f
  submit(task, {RW(data[2])}, 1);              // g
  run.wait();
  EXPECT_EQ(run.now(), Time{16000});
  std::vector<std::string> placed;
  for (const trace::Decision& decision : listener.of(trace::DecisionKind::placement)) {
    const auto task_number = std::ranges::find(tasks, *decision.task) - tasks.begin();
    placed.push_back(std::string(1, "abcfg"[task_number]) + " " +
                     std::to_string(decision.candidates[*decision.winner].id) + " " +
                     std::string(trace::entry(decision.reason).name));
  }
  EXPECT_THAT(placed,
              ElementsAre("b 2 least weighed end", "c 1 least weighed end", "a 2 least weighed end",
                          "f 2 least weighed end", "g 1 belongs there"));
}

}  // namespace
}  // namespace vicinal
