// Tasks of simulated machines that draw on one memory controller, through the runtime: what they take, and what is refused.
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/machines.hpp"
#include "support/policy_names.hpp"
#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::contention {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;

// Two cores on a controller of 8 GB/s.
MachineDescription two_cores() {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}};
  machine.segments = {{"memory", BytesPerSecond{8e9}}};
  machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam},
                     {WorkerId{1}, ProcessorKind::cpu, kRam}};
  for (WorkerDescription& worker : machine.workers) worker.draws_on = {0};
  return machine;
}

Codelet drawing(Time time, double bytes_per_second) {
  Codelet codelet{.name = "drawing"};
  codelet.expected[0] = time;
  codelet.demands[0] = BytesPerSecond{bytes_per_second};
  return codelet;
}

std::string why_refused(const MachineDescription& machine) {
  return message_of<UsageError>([&] { const Runtime runtime(machine, {.policy = "eager"}); });
}

TEST(SimulatedContention, TasksOfOneControllerSlowEachOtherDownUnderAllPolicies) {
  // 8 GB/s each of 8: four tasks of 1 us on two cores take 4 us in all, as if there were one core.
  const Codelet codelet = drawing(Time{1000}, 8e9);
  for (const std::string& policy : testing::policy_names()) {
    Options options;
    options.policy = policy;
    Runtime runtime(two_cores(), options);
    for (int i = 0; i < 4; ++i) {
      runtime.submit({.codelet = &codelet,
                      .operands = {W(runtime.register_empty(4_KiB, "x" + std::to_string(i)))}});
    }
    runtime.wait();
    EXPECT_EQ(runtime.statistics().now, Time{4000}) << policy;
  }
}

TEST(SimulatedContention, WhatTheMachineSaysOfAKernelCountsForTypedTasks) {
  // 1 ms each; together they demand 12 of 8 GB/s.
  MachineDescription machine = two_cores();
  machine.speeds = {{.kernel = "axpy",
                     .precision = {},
                     .kind = ProcessorKind::cpu,
                     .flops_per_second = 0,
                     .seconds = 1e-3,
                     .demand = BytesPerSecond{6e9}}};
  Runtime runtime(machine, {.policy = "eager"});
  const auto kernel = [](std::span<double> /*data*/) {};
  for (const char* const name : {"x", "y"}) {
    runtime.task("axpy", kernel, out(runtime.data<double>(512, name)));
  }
  runtime.wait();
  EXPECT_EQ(runtime.statistics().now, Time{1'500'000});
}

TEST(SimulatedContention, DemandsThatCannotBeAreRefusedNamingTheCodelet) {
  Runtime runtime(two_cores(), {.policy = "eager"});
  for (const double demand :
       {-1.0, 1.0, 1e16, std::numeric_limits<double>::infinity(), std::nan("")}) {
    const Codelet codelet = drawing(Time{1000}, demand);
    EXPECT_THAT(message_of<UsageError>([&] { runtime.submit({.codelet = &codelet}); }),
                AllOf(HasSubstr("drawing"), HasSubstr("demands")))
        << demand;
  }
}

// A day at 1 PB/s where there are 1000 bytes per second: a trillion days.
TEST(SimulatedContention, ATaskThatWouldDrawBeyondTheEndOfTimeIsRefused) {
  MachineDescription machine = two_cores();
  machine.segments[0].by_kernels = {BytesPerSecond{8e9}, BytesPerSecond{1000}};
  Runtime runtime(machine, {.policy = "eager"});
  const Codelet codelet = drawing(Time::from_seconds(86'400), 1e15);
  EXPECT_THAT(message_of<UsageError>([&] { runtime.submit({.codelet = &codelet}); }),
              AllOf(HasSubstr("drawing"), HasSubstr("36 years")));
}

TEST(SimulatedContention, AMachineThatCannotBeIsRefusedNamingThePart) {
  MachineDescription number = two_cores();
  number.workers[1].draws_on = {1};
  EXPECT_THAT(why_refused(number), HasSubstr("worker 1: there is no segment"));
  for (const double bandwidth : {0.0, 9e9, std::nan("")}) {
    MachineDescription more = two_cores();
    more.segments[0].by_kernels = {BytesPerSecond{8e9}, BytesPerSecond{bandwidth}};
    EXPECT_THAT(why_refused(more), HasSubstr("segment memory")) << bandwidth;
  }
  for (const double bandwidth : {-1.0, 9e9, std::nan("")}) {
    MachineDescription kept = two_cores();
    kept.segments[0].for_copies = BytesPerSecond{bandwidth};
    EXPECT_THAT(why_refused(kept), HasSubstr("segment memory")) << bandwidth;
  }
  MachineDescription speed = two_cores();
  speed.speeds = {{.kernel = "axpy", .seconds = 1, .demand = BytesPerSecond{1}}};
  EXPECT_THAT(why_refused(speed), HasSubstr("speed of axpy: its demand"));
}

// Kernels of two runtimes, on a controller that both share.
TEST(SimulatedContention, KernelsOfTwoRuntimesShareASegmentOfTheirWorld) {
  SimulatedWorld world;
  const SegmentDescription memory = world.add_segment("memory", BytesPerSecond{8e9});
  MachineDescription machine = two_cores();
  machine.segments = {memory};
  const Codelet codelet = drawing(Time{1000}, 8e9);
  Runtime first(machine, {.policy = "eager"}, world);
  Runtime second(machine, {.policy = "eager"}, world);
  first.submit({.codelet = &codelet});
  second.submit({.codelet = &codelet});
  first.wait();
  second.wait();
  EXPECT_EQ(world.now(), Time{2000});
  machine.segments[0].by_kernels = {BytesPerSecond{4e9}};
  EXPECT_THAT(message_of<UsageError>([&] { Runtime(machine, Options{}, world); }),
              AllOf(HasSubstr("segment memory"), HasSubstr("by_kernels")));
}

}  // namespace
}  // namespace vicinal::contention
