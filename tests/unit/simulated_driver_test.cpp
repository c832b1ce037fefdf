// What the simulated driver says of the time of tasks, of the threads that start them and copies, and of the application.
#include "drivers/simulated/simulated_driver.hpp"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/simulated_player.hpp"

namespace vicinal::drivers {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

std::vector<std::int64_t> ends_of_three_tasks(std::uint32_t pipeline, bool synchronous = false) {
  MachineDescription machine = two_accelerators();
  machine.workers[0].task_overhead = Time{10};
  machine.workers[0].pipeline = pipeline;
  const Codelet kernel = kernel_of(100, synchronous);
  SimulatedPlayer player(machine);
  for (int i = 0; i < 3; ++i) player.task(kernel);
  player.run();
  return player.task_ends[0];
}

// --- tasks

TEST(SimulatedDriver, TheOverheadOfATaskIsSeenWhereTheThreadWaitsForTheTaskBefore) {
  EXPECT_THAT(ends_of_three_tasks(1), ElementsAre(110, 220, 330));
}

TEST(SimulatedDriver, APipelineOfTwoHidesTheOverheadBehindTheTaskBefore) {
  // Launched at 10, 20 and, as soon as one of two has ended, 120: only the first launch is seen.
  EXPECT_THAT(ends_of_three_tasks(2), ElementsAre(110, 210, 310));
}

TEST(SimulatedDriver, NothingIsLaunchedDuringASynchronousKernel) {
  EXPECT_THAT(ends_of_three_tasks(2, true), ElementsAre(110, 220, 330));
}

TEST(SimulatedDriver, WorkersRunAtTheSameTime) {
  const Codelet kernel = kernel_of(100);
  SimulatedPlayer player(two_accelerators());
  player.task(kernel, 0);
  player.task(kernel, 1);
  player.run();
  EXPECT_THAT(player.task_ends, ElementsAre(Pair(0, ElementsAre(100)), Pair(1, ElementsAre(100))));
}

TEST(SimulatedDriver, ATaskOfUnknownTimeTakesAMicrosecond) {
  const Codelet unknown{.name = "unknown"};
  SimulatedPlayer player(two_accelerators());
  player.task(unknown);
  player.run();
  EXPECT_THAT(player.task_ends[0], ElementsAre(1000));
}

// --- copies and the thread that starts them

TEST(SimulatedDriver, ACopyOfAnAcceleratorStartsAfterItsOverhead) {
  MachineDescription machine = two_accelerators();
  machine.workers[0].copy_overhead = Time{10};
  SimulatedPlayer player(machine);
  player.copy(1, kRam, kFirstGpu, 1000);
  player.copy(2, kRam, kSecondGpu, 1000);  // whose worker spends nothing
  player.run();
  EXPECT_THAT(player.copies, ElementsAre(Pair(1, 1010), Pair(2, 1000)));
}

TEST(SimulatedDriver, CopiesOfOneAcceleratorAreStartedOneAfterTheOther) {
  // By its thread, whichever link they take: at 10, 20 and 30. Between two, by the one they go to.
  MachineDescription machine = two_accelerators();
  for (WorkerDescription& worker : machine.workers) worker.copy_overhead = Time{10};
  SimulatedPlayer player(machine);
  player.copy(1, kRam, kFirstGpu, 1000);
  player.copy(2, kFirstGpu, kRam, 1000);
  player.copy(3, kSecondGpu, kFirstGpu, 1000);
  player.copy(4, kFirstGpu, kSecondGpu, 1000);
  player.run();
  EXPECT_THAT(player.copies,
              ElementsAre(Pair(1, 1010), Pair(2, 1020), Pair(3, 1030), Pair(4, 1010)));
}

// A copy of 1000 bytes that the thread is asked for just after it has launched a kernel of 500 ns.
std::int64_t end_of_copy_behind_kernel(bool synchronous, Time task_overhead, Time copy_overhead) {
  MachineDescription machine = two_accelerators();
  machine.workers[0].task_overhead = task_overhead;
  machine.workers[0].copy_overhead = copy_overhead;
  machine.workers[0].pipeline = 2;
  const Codelet kernel = kernel_of(500, synchronous);
  SimulatedPlayer player(machine);
  player.task(kernel);
  player.world.step();
  player.copy(1, kRam, kFirstGpu, 1000);
  player.run();
  return player.copies[1];
}

TEST(SimulatedDriver, ACopyStartsWhileAKernelRuns) {
  EXPECT_EQ(end_of_copy_behind_kernel(false, Time{10}, Time{20}), 10 + 20 + 1000);
}

TEST(SimulatedDriver, NoCopyStartsDuringASynchronousKernel) {
  EXPECT_EQ(end_of_copy_behind_kernel(true, Time{10}, Time{20}), 10 + 500 + 20 + 1000);
}

TEST(SimulatedDriver, NoCopyStartsDuringASynchronousKernelEvenIfItsStartTakesNoTime) {
  EXPECT_EQ(end_of_copy_behind_kernel(true, Time{0}, Time{0}), 500 + 1000);
}

TEST(SimulatedDriver, ACopyEndsBeforeATaskThatEndsAtTheSameTime) {
  const Codelet kernel = kernel_of(1000);
  SimulatedPlayer player(two_accelerators());
  player.task(kernel);
  player.copy(1, kRam, kFirstGpu, 1000);
  player.run();
  EXPECT_THAT(player.ends, ElementsAre("copy", "task"));
}

TEST(SimulatedDriver, AWorkerThatSleepsTakesItsTimeToWake) {
  const Codelet kernel = kernel_of(1000);
  MachineDescription machine = two_accelerators();
  machine.workers[0].wake_latency = Time{70};
  SimulatedPlayer player(machine);
  player.world.pass(Time{10});  // looks in vain, and sleeps
  player.task(kernel);
  player.world.pass(Time{500});
  player.task(kernel);  // it is awake
  player.world.pass(Time{2500});
  player.task(kernel);
  player.run();
  EXPECT_THAT(player.task_ends[0], ElementsAre(1080, 2080, 4080));
}

// --- time that the application spends

TEST(SimulatedDriver, WhatHappensMeanwhileHappensAndNothingLater) {
  const Codelet kernel = kernel_of(100);
  SimulatedPlayer player(two_accelerators());
  for (int i = 0; i < 3; ++i) player.task(kernel);
  player.world.pass(Time{200});
  EXPECT_EQ(player.driver.now(), Time{200});
  EXPECT_THAT(player.task_ends[0], ElementsAre(100, 200));
  player.world.pass(Time{50});
  EXPECT_EQ(player.driver.now(), Time{250});
  player.run();
  EXPECT_THAT(player.task_ends[0], ElementsAre(100, 200, 300));
}

// --- how long workers were busy

TEST(SimulatedDriver, AWorkerIsBusyWhileItsKernelsRun) {
  MachineDescription machine = two_accelerators();
  machine.workers[0].task_overhead = Time{10};
  const Codelet kernel = kernel_of(100);
  SimulatedPlayer player(machine);
  const auto busy = [&] { return player.driver.busy(WorkerId{0})->ns; };
  player.task(kernel);
  player.world.pass(Time{4});
  EXPECT_EQ(busy(), 0);  // the thread launches it
  player.world.pass(Time{26});
  EXPECT_EQ(busy(), 20);
  player.world.pass(Time{170});
  EXPECT_EQ(busy(), 100);
  player.task(kernel);  // at 200, runs from 210 on
  player.world.pass(Time{5});
  EXPECT_EQ(busy(), 100);
  player.world.pass(Time{15});
  EXPECT_EQ(busy(), 110);
}

TEST(SimulatedDriver, BusyTimeOnlyGrowsAndIsAtLastThatOfTheKernels) {
  MachineDescription machine = two_accelerators();
  machine.workers[0].task_overhead = Time{30};
  machine.workers[0].copy_overhead = Time{70};
  machine.workers[0].pipeline = 3;
  const Codelet shorter = kernel_of(20);
  const Codelet longer = kernel_of(110);
  SimulatedPlayer player(machine);
  for (int i = 0; i < 5; ++i) {
    player.task(shorter);
    player.task(longer);
    player.copy(static_cast<std::uint64_t>(i), kRam, kFirstGpu, 50);
  }
  std::int64_t last = 0;
  player.after_step = [&] {
    const std::int64_t busy = player.driver.busy(WorkerId{0})->ns;
    EXPECT_GE(busy, last);
    EXPECT_LE(busy, player.driver.now().ns);
    last = busy;
  };
  player.run();
  EXPECT_EQ(last, 5 * (20 + 110));
  EXPECT_EQ(player.driver.busy(WorkerId{1}), Time{0});
}

}  // namespace
}  // namespace vicinal::drivers
