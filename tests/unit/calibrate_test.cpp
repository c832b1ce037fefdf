// vicinal calibrate: the file it writes is read back as the machine that was measured.
#include "calibration/calibrate.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibration/busy_kernels.hpp"
#include "drivers/emulated/link_bandwidth.hpp"
#include "machine/machine_model.hpp"
#include "support/temporary_folder.hpp"

namespace vicinal::calibration {
namespace {

// Figures whose text is exact.
Calibration made_up() {
  return {.name = "a \"quoted\" \\ name\n",
          .processor = "some\tprocessor",
          .workers = 3,
          .submit_overhead = Time{150},
          .task_overhead = Time{250},
          .wake_latency = Time{20'000},
          .memory = Bytes{800 << 20},
          .disk = MeasuredDisk{.read = {2e9},
                               .write = {1e9},
                               .first_write = {5e8},
                               .both = {2.1e9},
                               .latency = Time{70'000},
                               .busy_latency = Time{130'000},
                               .worker_bandwidth = {8e9},
                               .worker_overhead = Time{15'000},
                               .direct_io = true,
                               .copies = 6},
          .links = MeasuredLinks{.accelerators = 2,
                                 .memory = 64_MiB,
                                 .alone = {4e9},
                                 .together = {6e9},
                                 .latency = Time{40'000}},
          .kernels = {{{"potrf", "getrf"}, "double", 20e9, 0.01},
                      {{"gemm"}, "double", 60e9, 0.01},
                      {{"gemm"}, "float", 120e9, 0.9}}};
}

machine::MachineModel read_back(const Calibration& calibration) {
  return machine::parse_machine(machine_file(calibration), "this.toml", {});
}

TEST(Calibrate, TheFileDescribesTheMachineThatWasMeasured) {
  const machine::MachineModel model = read_back(made_up());
  EXPECT_EQ(model.name, "a \"quoted\" \\ name ");
  EXPECT_EQ(model.sentence, "3 workers of some processor");
  const MachineDescription& machine = model.description;
  EXPECT_EQ(machine.submit_overhead, Time{150});
  ASSERT_EQ(machine.nodes.size(), 4U);  // RAM, disk, two accelerators
  EXPECT_EQ(machine.nodes[0].limit, Bytes{800 << 20});
  EXPECT_EQ(machine.nodes[2].limit, 64_MiB);
  ASSERT_EQ(machine.workers.size(), 5U);
  EXPECT_EQ(machine.workers[0].task_overhead, Time{250});
  EXPECT_EQ(machine.workers[0].wake_latency, Time{20'000});
  EXPECT_EQ(machine.workers[4].wake_latency, Time{0});
  EXPECT_EQ(machine.workers[4].kind, ProcessorKind::gpu);
  // To the disk and from it, RAM and each accelerator in both directions, and between these.
  ASSERT_EQ(machine.links.size(), 8U);
  EXPECT_EQ(machine.links[0].bandwidth.value, 1e9);  // writing
  EXPECT_EQ(machine.links[1].bandwidth.value, 2e9);
  EXPECT_EQ(machine.links[1].latency, Time{70'000});
  EXPECT_EQ(machine.links[1].copies_in_flight, 6U);
  EXPECT_EQ(machine.links[0].first_write.value, 5e8);
  EXPECT_EQ(machine.links[1].first_write.value, 0);
  EXPECT_EQ(machine.links[1].busy_latency, Time{130'000});
  EXPECT_EQ(machine.links[2].busy_latency, Time{0});
  EXPECT_EQ(machine.links[1].worker_bandwidth.value, 8e9);
  EXPECT_EQ(machine.links[2].bandwidth.value, 4e9);
  EXPECT_EQ(machine.workers[2].copy_overhead, Time{15'000});
  EXPECT_EQ(machine.links[2].worker_bandwidth.value, 0);
}

TEST(Calibrate, DirectionsOfADiskShareWhatBothHaveAtOnce) {
  Calibration calibration = made_up();
  calibration.links.reset();
  const auto shared = [&] {
    const MachineDescription machine = read_back(calibration).description;
    EXPECT_EQ(machine.segments.size(), 1U);
    EXPECT_EQ(machine.links[0].segments, machine.links[1].segments);
    EXPECT_EQ(machine.links[0].segments.size(), 1U);
    return machine.segments.at(0).bandwidth.value;
  };
  EXPECT_EQ(shared(), 2.1e9);
  calibration.disk->both = {1.5e9};
  EXPECT_EQ(shared(), 2e9);         // reads alone have as much
  calibration.disk->write = {3e9};  // faster than beside reads, which is seldom so in a run
  EXPECT_EQ(shared(), 2e9);
}

TEST(Calibrate, KernelsHaveTheirRateAndUnknownOnesThatOfTheFastest) {
  const machine::MachineModel model = read_back(made_up());
  for (const ProcessorKind kind : {ProcessorKind::cpu, ProcessorKind::gpu}) {
    EXPECT_DOUBLE_EQ(*model.seconds("getrf", "double", 40e9, kind), 2);  // 40 at 20 Gflop/s
    EXPECT_DOUBLE_EQ(*model.seconds("gemm", "float", 60e9, kind), 0.5);
    EXPECT_DOUBLE_EQ(*model.seconds("stencil", "double", 60e9, kind), 1);
  }
}

MeasuredDevice made_up_device(ProcessorKind kind, double gemm) {
  return {.kind = kind,
          .name = "a \"device\"",
          .memory = 96_MiB,
          .tasks_in_flight = 8,
          .pinned = true,
          .queues = {.plain = {{2e9}, {3e9}, {4e9}},
                     .pinned = drivers::LinkRates{{8e9}, {10e9}, {9e9}},
                     // A page takes 512 ns in and 410 ns out beside its latency.
                     .copy_in = {.alone = Time{4512}, .each = Time{9000}, .thread = Time{300}},
                     .copy_out = {.alone = Time{9000}, .each = Time{2410}, .thread = Time{500}},
                     .run = {.alone = Time{9000}, .each = Time{9000}, .thread = Time{600}}},
          .kernels = {{{"gemm"}, "double", gemm, 0.01}}};
}

TEST(Calibrate, DevicesAreThoseOfTheFileWithTheirNamesAndLinks) {
  Calibration calibration = made_up();
  calibration.links.reset();
  calibration.devices = {made_up_device(ProcessorKind::cuda, 100e9),
                         made_up_device(ProcessorKind::opencl, 10e9)};
  calibration.devices[1].pinned = false;
  const machine::MachineModel model = read_back(calibration);
  const MachineDescription& machine = model.description;
  ASSERT_EQ(machine.nodes.size(), 4U);  // RAM, disk, the devices
  EXPECT_EQ(machine.nodes[2].name, "cuda0");
  EXPECT_EQ(machine.nodes[3].name, "opencl0");
  EXPECT_EQ(machine.nodes[2].device, "a \"device\"");
  EXPECT_EQ(machine.nodes[2].limit, 96_MiB);
  ASSERT_EQ(machine.workers.size(), 5U);
  EXPECT_EQ(machine.workers[3].kind, ProcessorKind::cuda);
  EXPECT_EQ(machine.workers[4].kind, ProcessorKind::opencl);
  EXPECT_EQ(machine.workers[4].node, NodeId{3});
  EXPECT_EQ(machine.workers[3].pipeline, 8U);
  EXPECT_EQ(machine.workers[3].task_overhead, Time{250 + 600});
  EXPECT_EQ(machine.workers[3].copy_overhead, Time{400});
  ASSERT_EQ(machine.links.size(), 6U);
  const LinkDescription& in = machine.links[2];
  const LinkDescription& out = machine.links[3];
  EXPECT_EQ(in.to, NodeId{2});
  EXPECT_EQ(in.bandwidth.value, 8e9);
  EXPECT_EQ(out.bandwidth.value, 10e9);
  EXPECT_EQ(in.latency, Time{3000});  // the mean of 4000 and 2000
  EXPECT_EQ(in.serialised, std::vector<std::uint32_t>{2});
  ASSERT_EQ(in.segments, out.segments);
  EXPECT_EQ(machine.segments.at(in.segments.at(0)).bandwidth.value, 10e9);  // one alone has more
  EXPECT_EQ(machine.links[4].bandwidth.value, 2e9);
  EXPECT_EQ(machine.segments.at(machine.links[4].segments.at(0)).bandwidth.value, 4e9);
  EXPECT_THAT(calibration_text(calibration), ::testing::HasSubstr("a \"device\":\n  unpinned"));
}

TEST(Calibrate, ADeviceHasTheKernelsThatItsKindImplementsAndNoOthers) {
  Calibration calibration = made_up();
  calibration.devices = {made_up_device(ProcessorKind::opencl, 10e9),
                         made_up_device(ProcessorKind::opencl, 30e9)};
  const machine::MachineModel model = read_back(calibration);
  // 40 at 20 Gflop/s, the mean of both.
  EXPECT_DOUBLE_EQ(*model.seconds("gemm", "double", 40e9, ProcessorKind::opencl), 2);
  EXPECT_FALSE(model.seconds("gemm", "float", 40e9, ProcessorKind::opencl).has_value());
  EXPECT_FALSE(model.seconds("getrf", "double", 40e9, ProcessorKind::opencl).has_value());
  EXPECT_FALSE(model.seconds("gemm", "double", 40e9, ProcessorKind::cuda).has_value());
}

TEST(Calibrate, AMachineWithoutKernelsDiskAndAcceleratorsIsOne) {
  Calibration calibration = made_up();
  calibration.memory.reset();
  calibration.disk.reset();
  calibration.links.reset();
  calibration.kernels.clear();
  const machine::MachineModel model = read_back(calibration);
  EXPECT_EQ(model.description.nodes.size(), 1U);
  EXPECT_EQ(model.description.workers.size(), 3U);
}

TEST(Calibrate, AnUnsteadyKernelIsPointedOut) {
  const std::string text = calibration_text(made_up());
  EXPECT_THAT(text, ::testing::HasSubstr("spread 90.0 %: is the machine busy"));
  EXPECT_THAT(text, ::testing::HasSubstr("spread 1.0 %\n"));
}

// Says that it took a millisecond for a million operations: 1 GFlop/s, and does nothing.
KernelSet fake_set(std::atomic<int>& prepared) {
  return {.precision = "double",
          .kernels = {{{"first"}, 1e6}, {{"second"}, 2e6}},
          .prepare = [&prepared] {
            ++prepared;
            return [](std::size_t) { return 1e-3; };
          }};
}

TEST(Calibrate, MeasuresWhatTheOptionsDescribe) {
  const vicinal::testing::TemporaryFolder folder("calibrate");
  Options options;
  options.workers = 2;
  options.bind = false;
  options.disk = folder.path();
  options.disk_space = 8_MiB;
  options.accelerators = 1;
  options.accelerator_bandwidth = {200e6};
  std::atomic<int> prepared = 0;
  std::vector<std::string> told;
  const KernelSet sets[] = {fake_set(prepared)};
  const Calibration result =
      calibrate(options, sets, 4_MiB, [&](std::string_view what) { told.emplace_back(what); });
  EXPECT_EQ(prepared, 5);  // two workers beside the disk, then two workers and an accelerator
  EXPECT_EQ(told.size(), 4U);
  EXPECT_EQ(result.workers, 2U);
  EXPECT_GT(result.submit_overhead.ns, 0);
  EXPECT_GT(result.task_overhead.ns, 0);
  ASSERT_TRUE(result.disk.has_value());
  EXPECT_GT(result.disk->read.value, 0);
  EXPECT_GT(result.disk->both.value, 0);
  ASSERT_TRUE(result.links.has_value());
  EXPECT_LE(result.links->alone.value, 201e6);  // what the link is limited to
  EXPECT_GT(result.links->alone.value, 0);
  EXPECT_LE(result.links->together.value, 402e6);
  ASSERT_EQ(result.kernels.size(), 2U);
  EXPECT_NEAR(result.kernels[0].flops_per_second, 1e9, 1);  // a mean: rounded
  EXPECT_NEAR(result.kernels[1].flops_per_second, 2e9, 2);
  EXPECT_NEAR(result.kernels[1].spread, 0, 1e-9);
  EXPECT_EQ(read_back(result).description.workers.size(), 3U);
}

TEST(Calibrate, KernelsAreTimedBesideWhatIsDoneMeanwhile) {
  std::atomic<double> seconds = 1;
  const KernelSet set{
      .precision = "double", .kernels = {{{"fails"}, 1}, {{"last"}, 1}}, .prepare = [&seconds] {
        return [&seconds](std::size_t kernel) {
          if (kernel != 1) throw std::logic_error("not the last kernel");
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return seconds.load();
        };
      }};
  RunningKernels kernels(set, 2, {});
  const auto mean_of = [&](double value) {
    return kernels.mean_seconds_during([&] {
      seconds = value;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    });
  };
  // A kernel of each thread may have begun just before the value was set.
  EXPECT_GT(mean_of(3), 2);
  const double next = mean_of(1);
  EXPECT_GT(next, 0);
  EXPECT_LT(next, 2);
  kernels.stop();
  EXPECT_EQ(mean_of(1), 0);  // none runs
}

TEST(Calibrate, KernelsAreTimedWithWhatTheirThreadsDoAfterThem) {
  const KernelSet set{.precision = "double", .kernels = {{{"one"}, 1}}, .prepare = [] {
                        return [](std::size_t) {
                          std::this_thread::sleep_for(std::chrono::milliseconds(1));
                          return 1.0;
                        };
                      }};
  RunningKernels kernels(set, 2, {});
  std::atomic<int> calls = 0;
  const auto stretch = kernels.stretch_with(
      [&] {
        ++calls;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return std::uint64_t{3};
      },
      [] { std::this_thread::sleep_for(std::chrono::milliseconds(60)); });
  EXPECT_GT(stretch.kernels, 0U);
  EXPECT_EQ(stretch.done, 3 * stretch.kernels);
  EXPECT_GE(stretch.seconds, 1.002);  // what the kernel says and what came after it
  const int before = calls;
  EXPECT_GT(kernels.mean_seconds_during(
                [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }),
            0);
  EXPECT_EQ(calls, before);  // only during the stretch
}

TEST(Calibrate, WhatACopyTakesFromTheWorkersIsTheMedianOverTheStretches) {
  // Two copies per kernel: half of what a kernel takes longer. 250, 375, 125 ms; two in which no kernel ended, and
  // one without copies.
  const std::vector<BesideCopies> stretches = {{1, 1.5, 2}, {2, 2.75, 2}, {1, 1.125, 1},
                                               {0, 1, 2},   {1, 0, 2},    {1, 2, 0}};
  EXPECT_EQ(worker_time_per_copy(stretches), Time{250'000'000});
  EXPECT_EQ(worker_time_per_copy({}), std::nullopt);
  const std::vector<BesideCopies> faster = {{1, 0.9, 2}};
  EXPECT_EQ(worker_time_per_copy(faster), Time{0});
}

TEST(Calibrate, TwoSizesTellWhatACopyTakesFromWhatItsBytesTake) {
  // 20 us and 1 us per 10 kB: 30 us for 100 kB, 120 us for 1 MB.
  const CopyCost cost = copy_cost(Bytes{100'000}, Time{30'000}, Bytes{1'000'000}, Time{120'000});
  EXPECT_NEAR(static_cast<double>(cost.overhead.ns), 20'000, 1);
  EXPECT_NEAR(cost.bandwidth.value, 1e10, 1);
}

TEST(Calibrate, WhatACopyTakesIsRightForTheLargerSizeWhereTheSizesContradictEachOther) {
  // The smaller one takes more: all is the copy's.
  const CopyCost copies = copy_cost(Bytes{1000}, Time{50'000}, Bytes{10'000}, Time{40'000});
  EXPECT_EQ(copies.overhead, Time{40'000});
  EXPECT_EQ(copies.bandwidth.value, 0);
  // The smaller one takes nothing: all is the bytes'.
  const CopyCost bytes = copy_cost(Bytes{1000}, Time{0}, Bytes{10'000}, Time{40'000});
  EXPECT_EQ(bytes.overhead, Time{0});
  EXPECT_NEAR(bytes.bandwidth.value, 2.5e8, 1);
  EXPECT_EQ(copy_cost(Bytes{1000}, Time{0}, Bytes{10'000}, Time{0}).overhead, Time{0});
  EXPECT_EQ(copy_cost(Bytes{1000}, Time{0}, Bytes{10'000}, Time{0}).bandwidth.value, 0);
  // One size only.
  EXPECT_EQ(copy_cost(Bytes{1000}, Time{10}, Bytes{1000}, Time{20}).overhead, Time{20});
}

TEST(Calibrate, AKernelThatFailsInOneThreadEndsTheMeasurement) {
  const vicinal::testing::TemporaryFolder folder("calibrate");
  Options options;
  options.workers = 2;
  options.bind = false;
  options.disk_space = 8_MiB;
  std::atomic<int> threads = 0;
  const KernelSet sets[] = {
      {.precision = "double", .kernels = {{{"fails"}, 1}, {{"next"}, 1}}, .prepare = [&threads] {
         const bool fails = threads++ == 1;
         return [fails](std::size_t) -> double {
           if (fails) throw std::runtime_error("no kernel");
           return 1e-6;
         };
       }}};
  EXPECT_THROW(calibrate(options, sets, 4_MiB, [](std::string_view) {}), std::runtime_error);
  threads = 0;
  options.disk = folder.path();  // beside which kernels run, too
  EXPECT_THROW(calibrate(options, sets, 4_MiB, [](std::string_view) {}), std::runtime_error);
}

}  // namespace
}  // namespace vicinal::calibration
