// Copies that take time from CPU workers, and kernels that draw on a memory controller, in simulation.
#include "drivers/simulated/simulated_resources.hpp"

#include <cstdint>
#include <deque>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/simulated_player.hpp"

namespace vicinal::drivers {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

// --- copies that take time from CPU workers

// RAM with two of them and a disk; links: 0 to the disk, 1 from it. A byte copied costs a nanosecond of a
// worker: of one without a kernel if there is one, else half of it of each.
MachineDescription two_cores_and_disk() {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}, {kFirstGpu, "disk", NodeKind::disk, {}}};
  for (const auto& [from, to] : {std::pair(kRam, kFirstGpu), std::pair(kFirstGpu, kRam)}) {
    machine.links.push_back({.from = from,
                             .to = to,
                             .bandwidth = kBytePerNs,
                             .latency = {},
                             .worker_bandwidth = kBytePerNs});
  }
  machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam},
                     {WorkerId{1}, ProcessorKind::cpu, kRam}};
  return machine;
}

Codelet cpu_kernel_of(std::int64_t ns) {
  Codelet codelet{.name = "kernel"};
  codelet.expected[static_cast<std::size_t>(ProcessorKind::cpu)] = Time{ns};
  return codelet;
}

TEST(SimulatedResources, CopiesThatEndDuringAKernelMakeItLonger) {
  const Codelet kernel = cpu_kernel_of(1000);
  const Codelet longer = cpu_kernel_of(3000);
  SimulatedPlayer player(two_cores_and_disk());
  for (int i = 0; i < 2; ++i) player.task(kernel);
  player.task(longer, 1);
  player.world.pass(Time{10});
  player.copy(1, kRam, kFirstGpu, 200);
  player.world.pass(Time{40});
  player.copy(2, kFirstGpu, kRam, 400);
  player.run();
  EXPECT_THAT(player.copies, ElementsAre(Pair(1, 210), Pair(2, 450)));
  EXPECT_THAT(player.task_ends[0], ElementsAre(1000 + 100 + 200, 2000 + 100 + 200));
  EXPECT_EQ(player.driver.busy(WorkerId{0})->ns, 2300);
  EXPECT_EQ(player.driver.busy(WorkerId{1})->ns, 3300);
}

TEST(SimulatedResources, CopiesTakeOfIdleWorkersBeforeTheyTakeOfOthers) {
  // The copy takes three quarters of a worker for 200 ns, of the idle one; then one and a half for 200, half of one in a
  // kernel.
  const Codelet kernel = cpu_kernel_of(1000);
  MachineDescription machine = two_cores_and_disk();
  machine.links[0].worker_bandwidth = BytesPerSecond{kBytePerNs.value / 0.75};
  machine.links[1].worker_bandwidth = BytesPerSecond{kBytePerNs.value / 1.5};
  SimulatedPlayer player(machine);
  player.task(kernel);
  player.copy(1, kRam, kFirstGpu, 200);
  player.world.pass(Time{300});
  player.copy(2, kFirstGpu, kRam, 200);
  player.run();
  EXPECT_THAT(player.task_ends[0], ElementsAre(1000 + 100));
}

TEST(SimulatedResources, ACopyTakesFromTheWorkersWhatItCostsWhateverItsSize) {
  // 300 ns and a nanosecond per byte, half of it from each of two workers: (300 + 200) / 2 and (300 + 0) / 2.
  const Codelet kernel = cpu_kernel_of(1000);
  const Codelet longer = cpu_kernel_of(3000);
  MachineDescription machine = two_cores_and_disk();
  for (WorkerDescription& worker : machine.workers) worker.copy_overhead = Time{300};
  machine.links[1].worker_bandwidth = {};
  SimulatedPlayer player(machine);
  player.task(kernel);
  player.task(longer, 1);
  player.world.pass(Time{10});
  player.copy(1, kRam, kFirstGpu, 200);
  player.copy(2, kFirstGpu, kRam, 400);
  player.run();
  EXPECT_THAT(player.task_ends[0], ElementsAre(1000 + 250 + 150));
}

TEST(SimulatedResources, CopiesThatEndWhileAWorkerIsIdleTakeNothingFromIt) {
  const Codelet kernel = cpu_kernel_of(1000);
  SimulatedPlayer player(two_cores_and_disk());
  player.copy(1, kFirstGpu, kRam, 400);
  player.world.pass(Time{500});
  player.task(kernel);
  player.run();
  EXPECT_THAT(player.task_ends[0], ElementsAre(1500));
}

TEST(SimulatedResources, AKernelThatCopiesHaveProlongedIsProlongedByThoseThatEndThen) {
  const Codelet kernel = cpu_kernel_of(1000);
  const Codelet longer = cpu_kernel_of(3000);
  SimulatedPlayer player(two_cores_and_disk());
  player.task(longer);
  player.task(kernel, 1);
  player.copy(1, kFirstGpu, kRam, 600);
  player.world.pass(Time{1200});  // it would have ended
  EXPECT_EQ(player.driver.busy(WorkerId{1})->ns, 1200);
  player.copy(2, kFirstGpu, kRam, 20);
  player.run();
  EXPECT_THAT(player.task_ends[1], ElementsAre(1000 + 300 + 10));
}

TEST(SimulatedResources, ACopyThatEndsWhileAllCoresWorkWaitsForOneOfThem) {
  const Codelet kernel = cpu_kernel_of(1000);
  MachineDescription machine = two_cores_and_disk();
  for (LinkDescription& link : machine.links) {
    link.worker_bandwidth = {};
    link.busy_latency = Time{70};
  }
  SimulatedPlayer player(machine);
  player.task(kernel, 0);
  player.copy(1, kRam, kFirstGpu, 200);  // a core is idle
  player.world.pass(Time{300});
  player.task(kernel, 1);
  player.copy(2, kRam, kFirstGpu, 200);
  player.world.pass(Time{750});  // core 0 is idle again
  player.copy(3, kRam, kFirstGpu, 200);
  player.run();
  EXPECT_THAT(player.copies, ElementsAre(Pair(1, 200), Pair(2, 570), Pair(3, 1250)));
}

TEST(SimulatedResources, WhatTheDiskHasNoRoomForYetIsWrittenOneAfterTheOther) {
  MachineDescription machine = two_cores_and_disk();
  for (LinkDescription& link : machine.links) link.worker_bandwidth = {};
  machine.links[0].copies_in_flight = 2;
  machine.links[0].bandwidth = BytesPerSecond{2 * kBytePerNs.value};
  machine.links[0].first_write = BytesPerSecond{kBytePerNs.value / 2};
  SimulatedPlayer player(machine);
  graph::Handle fresh;
  fresh.id = HandleId{1};
  graph::Handle other;
  other.id = HandleId{2};
  graph::Handle of_file;
  of_file.id = HandleId{3};
  of_file.home.kind = graph::HomeKind::file;
  player.copy(1, kRam, kFirstGpu, 100, &fresh);
  player.copy(2, kRam, kFirstGpu, 100, &other);
  player.world.pass(Time{1000});
  player.copy(3, kRam, kFirstGpu, 100, &fresh);
  player.world.pass(Time{1000});
  player.copy(4, kRam, kFirstGpu, 100, &of_file);
  player.run();
  EXPECT_THAT(player.copies, ElementsAre(Pair(1, 400), Pair(2, 400), Pair(3, 1050), Pair(4, 2050)));
}

TEST(SimulatedResources, CopiesTakeFromAPipelineAndNotFromAGpu) {
  // One CPU worker, whose time the copy takes from 10 to 110 ns.
  MachineDescription machine = two_cores_and_disk();
  machine.workers[0].pipeline = 2;
  machine.workers[1].kind = ProcessorKind::gpu;
  Codelet kernel = kernel_of(1000);
  kernel.expected[static_cast<std::size_t>(ProcessorKind::cpu)] = Time{1000};
  SimulatedPlayer player(machine);
  for (int i = 0; i < 2; ++i) player.task(kernel, 0);
  player.task(kernel, 1);
  player.world.pass(Time{10});
  player.copy(1, kFirstGpu, kRam, 100);
  player.run();
  EXPECT_THAT(player.task_ends,
              ElementsAre(Pair(0, ElementsAre(1100, 2100)), Pair(1, ElementsAre(1000))));
}

// --- kernels that draw on a memory controller

// Two cores and an accelerator, whose kernels and copies draw on one controller of 8 bytes/ns. Links: 0 RAM to the
// accelerator, 1 back.
MachineDescription one_controller() {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}, {kFirstGpu, "gpu0", NodeKind::device, {}}};
  machine.segments = {{"memory", BytesPerSecond{8e9}}};
  for (const auto& [from, to] : {std::pair(kRam, kFirstGpu), std::pair(kFirstGpu, kRam)}) {
    machine.links.push_back({.from = from,
                             .to = to,
                             .bandwidth = BytesPerSecond{16e9},
                             .latency = {},
                             .segments = {0}});
  }
  machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam},
                     {WorkerId{1}, ProcessorKind::cpu, kRam},
                     {WorkerId{2}, ProcessorKind::gpu, kFirstGpu}};
  for (WorkerDescription& worker : machine.workers) worker.draws_on = {0};
  return machine;
}

// On any kind of processor.
Codelet drawing_kernel(std::int64_t ns, double bytes_per_ns, bool synchronous = false) {
  Codelet codelet{.name = "kernel"};
  codelet.expected.fill(Time{ns});
  codelet.demands.fill(BytesPerSecond{bytes_per_ns * 1e9});
  codelet.synchronous = synchronous;
  return codelet;
}

TEST(SimulatedResources, AKernelAloneWithAControllerTakesItsTime) {
  const Codelet kernel = drawing_kernel(1000, 8);
  SimulatedPlayer player(one_controller());
  for (int i = 0; i < 3; ++i) player.task(kernel);
  player.run();
  EXPECT_THAT(player.task_ends[0], ElementsAre(1000, 2000, 3000));
  EXPECT_EQ(player.driver.busy(WorkerId{0}), Time{3000});
}

TEST(SimulatedResources, TwoKernelsShareAMemoryController) {
  // 8 bytes/ns each of 8: both at half their speed until the shorter has run its 500 ns, at 1000; 500 ns of the longer
  // are left.
  const Codelet longer = drawing_kernel(1000, 8);
  const Codelet shorter = drawing_kernel(500, 8);
  SimulatedPlayer player(one_controller());
  player.task(longer, 0);
  player.task(shorter, 1);
  player.run();
  EXPECT_THAT(player.task_ends,
              ElementsAre(Pair(0, ElementsAre(1500)), Pair(1, ElementsAre(1000))));
  EXPECT_EQ(player.driver.busy(WorkerId{0}), Time{1500});
  EXPECT_EQ(player.driver.busy(WorkerId{1}), Time{1000});
}

TEST(SimulatedResources, TwoKernelsAndACopyShareAMemoryController) {
  // Kernels of 6 and 2 bytes/ns beside each other: full speed. From 250 ns on a copy of 1000 bytes beside them: a third of
  // the controller is its, 8/3 bytes/ns, and two thirds are theirs, 16/3 of 8: 2/3 of their speed. The copy ends after 375
  // ns, at 625, when they have run 250 + 250 ns.
  const Codelet first = drawing_kernel(1000, 6);
  const Codelet second = drawing_kernel(750, 2);
  SimulatedPlayer player(one_controller());
  player.task(first, 0);
  player.task(second, 1);
  player.world.pass(Time{250});
  player.copy(1, kRam, kFirstGpu, 1000);
  player.run();
  EXPECT_NEAR(player.copies[1], 625, 1);
  EXPECT_NEAR(player.task_ends[0].at(0), 625 + 500, 1);
  EXPECT_NEAR(player.task_ends[1].at(0), 625 + 250, 1);
}

TEST(SimulatedResources, AControllerMayGiveLessToMoreKernelsAndKeepAPartForCopies) {
  // 8 bytes/ns for one kernel, 4 for two, each of which demands 4: half their speed. A copy beside them has 1, and they 3
  // of 8: from 0 to 800 ns they run 300 ns, then at half their speed 100 more.
  MachineDescription machine = one_controller();
  machine.segments[0].by_kernels = {BytesPerSecond{8e9}, BytesPerSecond{4e9}};
  machine.segments[0].for_copies = BytesPerSecond{1e9};
  const Codelet kernel = drawing_kernel(400, 4);
  SimulatedPlayer player(machine);
  player.task(kernel, 0);
  player.task(kernel, 1);
  player.copy(1, kRam, kFirstGpu, 800);
  player.run();
  EXPECT_EQ(player.copies[1], 800);
  EXPECT_THAT(player.task_ends,
              ElementsAre(Pair(0, ElementsAre(1000)), Pair(1, ElementsAre(1000))));
}

TEST(SimulatedResources, KernelsOfAPipelineStartWhenThoseBeforeThemHaveEnded) {
  // The accelerator's thread launches at 10, 20 and 30 ns; its kernels take 100, 50 and 100 ns, and the one in the middle
  // draws on nothing. The first draws 8 bytes/ns from 10 on beside the core's kernel that draws 8 from 0 to its end: both at
  // half their speed until it has run 100 ns, at 210. The second ends at 260, the core alone has full speed meanwhile: it
  // has run 10 + 100 + 50 ns. From 260 the third: it has run 100 ns at 460, the core 260. Its other 40 ns end at 500.
  MachineDescription machine = one_controller();
  machine.workers[2].pipeline = 3;
  machine.workers[2].task_overhead = Time{10};
  const Codelet drawing = drawing_kernel(100, 8);
  const Codelet plain = kernel_of(50);
  const Codelet of_core = drawing_kernel(300, 8);
  SimulatedPlayer player(machine);
  player.task(of_core, 0);
  player.task(drawing, 2);
  player.task(plain, 2);
  player.task(drawing, 2);
  std::int64_t last = 0;
  player.after_step = [&] {
    const std::int64_t busy = player.driver.busy(WorkerId{2})->ns;
    EXPECT_GE(busy, last);
    last = busy;
  };
  player.run();
  EXPECT_THAT(player.task_ends,
              ElementsAre(Pair(0, ElementsAre(500)), Pair(2, ElementsAre(210, 260, 460))));
  EXPECT_EQ(player.driver.busy(WorkerId{2}), Time{450});
}

TEST(SimulatedResources, AKernelOfAPipelineWaitsForItsLaunch) {
  // The second is launched at 300 ns, after the end of the first, which draws.
  MachineDescription machine = one_controller();
  machine.workers[2].pipeline = 2;
  machine.workers[2].task_overhead = Time{150};
  const Codelet kernel = drawing_kernel(100, 8);
  SimulatedPlayer player(machine);
  for (int i = 0; i < 3; ++i) player.task(kernel, 2);
  player.run();
  EXPECT_THAT(player.task_ends[2], ElementsAre(250, 400, 550));
}

TEST(SimulatedResources, CopiesBehindASynchronousKernelThatDrawsAreStartedAtItsEnd) {
  // It runs at half its speed beside the core's, from 0 to 400 ns. The thread then starts both copies, at 420 and 440; on a
  // controller of their own they have 8 bytes/ns, 4 each while both flow.
  MachineDescription machine = one_controller();
  machine.segments.push_back({"other", BytesPerSecond{8e9}});
  for (LinkDescription& link : machine.links) link.segments = {1};
  machine.workers[2].copy_overhead = Time{20};
  machine.workers[2].pipeline = 2;
  const Codelet synchronous = drawing_kernel(200, 8, true);
  const Codelet behind = kernel_of(100);
  const Codelet of_core = drawing_kernel(1000, 8);
  SimulatedPlayer player(machine);
  player.task(of_core, 0);
  player.task(synchronous, 2);
  player.task(behind, 2);
  player.world.pass(Time{100});
  player.copy(1, kRam, kFirstGpu, 160);
  player.copy(2, kFirstGpu, kRam, 80);
  player.run();
  // The first alone from 420 to 440, its 160 bytes are there; the second from 440.
  EXPECT_THAT(player.copies, ElementsAre(Pair(1, 440), Pair(2, 450)));
  // Launched when the thread is free again, at 440.
  EXPECT_THAT(player.task_ends[2], ElementsAre(400, 540));
}

TEST(SimulatedResources, DemandsCountOnlyWhereTheWorkerDrawsOnSomething) {
  MachineDescription machine = one_controller();
  for (WorkerDescription& worker : machine.workers) worker.draws_on.clear();
  const Codelet kernel = drawing_kernel(1000, 800);
  SimulatedPlayer player(machine);
  for (std::uint32_t worker = 0; worker < 3; ++worker) player.task(kernel, worker);
  player.run();
  for (const auto& [worker, ends] : player.task_ends) EXPECT_THAT(ends, ElementsAre(1000));
}

TEST(SimulatedResources, KernelsThatDrawAndCopiesEndAtTheSameTimesInEachRun) {
  const auto play = [] {
    MachineDescription machine = one_controller();
    machine.workers[2].pipeline = 3;
    machine.segments[0].by_kernels = {BytesPerSecond{7e9}, BytesPerSecond{5e9},
                                      BytesPerSecond{3e9}};
    std::deque<Codelet> kernels;
    for (int k = 0; k < 12; ++k)
      kernels.push_back(drawing_kernel(100 + 37 * k, 0.7 * k, k % 5 == 0));
    SimulatedPlayer player(machine);
    for (std::uint32_t k = 0; k < 36; ++k) player.task(kernels[k % 12], k % 3);
    for (std::uint64_t c = 0; c < 10; ++c) {
      player.copy(c, c % 2 == 0 ? kRam : kFirstGpu, c % 2 == 0 ? kFirstGpu : kRam, 100 + 77 * c);
      player.world.pass(Time{150});
    }
    player.run();
    return std::pair(player.task_ends, player.copies);
  };
  const auto first = play();
  EXPECT_EQ(first.first.size(), 3U);
  EXPECT_EQ(first.second.size(), 10U);
  EXPECT_EQ(first, play());
}

}  // namespace
}  // namespace vicinal::drivers
