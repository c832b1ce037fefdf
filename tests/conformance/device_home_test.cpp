// Data whose home is memory of an accelerator that the application has: by its address there.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/cuda/cuda_device.hpp"
#include "drivers/queued/queued_device.hpp"
#include "support/cuda_library.hpp"
#include "support/cuda_stream.hpp"
#include "support/every_way.hpp"
#include "support/failure_fixture.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/tested.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

std::vector<NodeId> accelerators(const Runtime& runtime) {
  std::vector<NodeId> nodes;
  for (const NodeDescription& node : runtime.machine().nodes) {
    if (node.kind == NodeKind::device) nodes.push_back(node.id);
  }
  return nodes;
}

std::uint64_t copied(const Runtime& runtime) {
  std::uint64_t bytes = 0;
  for (const LinkStatistics& link : runtime.statistics().links) bytes += link.bytes.value;
  return bytes;
}

Options one_accelerator(std::uint64_t pages = 4) {
  Options options = small_options(1);
  options.accelerators = 1;
  options.accelerator_memory = kPage * pages;
  return options;
}

TEST(DeviceHome, TheContentIsUsedWhereItLies) {
  Values memory(512, 5);
  Runtime runtime(one_accelerator());
  const Handle x = runtime.register_buffer(accelerators(runtime)[0], memory.data(), kPage, "x");
  runtime.submit(add(x, 2, kAddOnDevice));
  runtime.wait();
  EXPECT_EQ(memory[511], 7);
  EXPECT_EQ(copied(runtime), 0U);
  EXPECT_EQ(value_of(runtime, x), 7);  // one copy to RAM
  EXPECT_EQ(copied(runtime), kPage.value);
}

TEST(DeviceHome, WhatIsWrittenElsewhereGoesHome) {
  Values unregistered(512, 5);
  Values released(512, 5);
  Values left(512, 5);
  Values dropped(512, 5);
  int times = 0;
  {
    Runtime runtime(one_accelerator());
    const NodeId node = accelerators(runtime)[0];
    const Handle x = runtime.register_buffer(node, unregistered.data(), kPage, "x");
    const auto y = runtime.data(node, released.data(), 512, "y", [&] { ++times; });
    const Handle z = runtime.register_buffer(node, left.data(), kPage, "z");
    const Handle d = runtime.register_buffer(node, dropped.data(), kPage, "d");
    for (const Handle each : {x, y.handle(), z, d}) {
      TaskSpec on_core = add(each, 1);
      on_core.worker = WorkerId{0};
      runtime.submit(on_core);
    }
    runtime.unregister(x);
    EXPECT_EQ(unregistered[0], 6);
    EXPECT_EQ(times, 0);
    runtime.release(y);
    EXPECT_EQ(released[511], 6);
    EXPECT_EQ(times, 1);
    runtime.unregister(d, WriteBack::no);
  }
  EXPECT_EQ(left[0], 6);
  EXPECT_EQ(dropped[0], 5);
}

TEST(DeviceHome, ItTakesNothingOfTheAcceleratorsLimit) {
  Values memory(512 * 16, 1);
  Runtime runtime(one_accelerator(2));
  const NodeId node = accelerators(runtime)[0];
  std::vector<Handle> homed;
  for (std::uint64_t i = 0; i < 16; ++i) {
    homed.push_back(runtime.register_buffer(node, &memory[512 * i], kPage));
  }
  const Handle sum = runtime.register_empty(kPage * 2, "sum");
  runtime.submit(set(sum, 0, kSetOnDevice));
  for (const Handle each : homed) {
    runtime.submit(
        {.codelet = &kAddOnDevice, .operands = {RW(each), R(sum)}, .parameters = std::int64_t{1}});
  }
  runtime.wait();
  for (std::uint64_t i = 0; i < 16; ++i) EXPECT_EQ(memory[512 * i], 2);
  EXPECT_LE(runtime.statistics().nodes[node.value].peak, kPage * 2);
}

// Out of core, on several accelerators of which each has a part of the data, which all use.
TEST_P(Every, DataOfAcceleratorsAreUsedByAllAndGoHome) {
  if (GetParam().accelerators == 0) GTEST_SKIP() << "without accelerators";
  constexpr std::size_t kData = 12;
  Values memory(512 * kData, 0);
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const std::vector<NodeId> nodes = accelerators(runtime);
  const auto home = [&](std::size_t i) {
    return runtime.register_buffer(nodes[i % nodes.size()], &memory[512 * i], kPage);
  };
  // Kernels of host threads do not reach memory of CUDA or OpenCL.
  if (GetParam().accelerator_api != std::string("threads") || devices_are_registered()) {
    EXPECT_THAT(message_of<UsageError>([&] { home(0); }),
                HasSubstr("addresses are not the application's"));
    return;
  }
  std::vector<Handle> data;
  for (std::size_t i = 0; i < kData; ++i) data.push_back(home(i));
  for (int round = 0; round < 6; ++round) {
    for (std::size_t i = 0; i < kData; ++i) {
      const bool device = (i + round) % 3 != 0;
      TaskSpec spec = add(data[i], 1, device ? kAddOnDevice : kAdd);
      if (device && round % 2 == 0) spec.node = nodes[(i + 1) % nodes.size()];
      runtime.submit(spec);
    }
  }
  for (const Handle each : data) runtime.unregister(each);
  for (const std::int64_t value : memory) ASSERT_EQ(value, 6);
}

TEST_F(Failure, PartsOfDataOfAnAcceleratorAreJoinedThere) {
  Values memory(512 * 4, 1);
  Options options = out_of_core(6);
  options.accelerators = 1;
  options.accelerator_memory = kPage * 6;
  Runtime runtime(options);
  const Watched watched(watchdog_, runtime);
  const Handle whole =
      runtime.register_buffer(accelerators(runtime)[0], memory.data(), kPage * 4, "whole");
  const Parts parts = runtime.partition(whole, row_blocks(4));
  for (std::size_t i = 0; i < 4; ++i) {
    runtime.submit(add(parts[i], static_cast<int>(i), i % 2 == 0 ? kAddOnDevice : kAdd));
  }
  runtime.unpartition(parts);
  runtime.submit(add(whole, 10, kAddOnDevice));
  runtime.unregister(whole);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    ASSERT_EQ(memory[i], 11 + static_cast<std::int64_t>(i / 512));
  }
}

TEST(DeviceHome, WhatCannotBeIsRefused) {
  Values memory(1024);
  Options options = one_accelerator();
  const TemporaryFolder folder("device_home");
  options.disk = folder.path();
  options.memory = kPage * 8;
  Runtime runtime(options);
  const NodeId node = accelerators(runtime)[0];
  const auto refused = [&](NodeId at, void* address) {
    return message_of<UsageError>([&] { runtime.register_buffer(at, address, kPage, "x"); });
  };
  EXPECT_THAT(refused(NodeId{99}, memory.data()), HasSubstr("there is no memory node 99"));
  EXPECT_THAT(refused(node, nullptr), HasSubstr("is null"));
  const NodeId disk = *runtime.machine().disk();
  EXPECT_THAT(refused(disk, memory.data()), HasSubstr("addresses are not the application's"));
  const Handle first = runtime.register_buffer(node, memory.data(), kPage, "first");
  EXPECT_THAT(refused(node, memory.data() + 1), HasSubstr("first"));
  // Addresses of another memory are others.
  const Handle in_ram = runtime.register_buffer(kRam, memory.data(), kPage, "in_ram");
  runtime.unregister(in_ram, WriteBack::no);
  runtime.unregister(first);
  runtime.unregister(runtime.register_buffer(node, memory.data() + 1, kPage, "x"));
}

// What a core writes has no place but RAM until it goes home.
TEST(DeviceHome, WithoutADiskWhatCoresWriteMustFitInRam) {
  Values memory(512 * 4);
  Options options = one_accelerator();
  options.memory = kPage * 2;
  Runtime runtime(options);
  const NodeId node = accelerators(runtime)[0];
  std::vector<Handle> data;
  for (std::size_t i = 0; i < 4; ++i) {
    data.push_back(runtime.register_buffer(node, &memory[512 * i], kPage));
  }
  for (const Handle each : data) runtime.submit({.codelet = &kNothing, .operands = {R(each)}});
  runtime.wait();
  runtime.submit(set(data[0], 1));
  runtime.submit(set(data[1], 1));
  EXPECT_THAT(message_of<CapacityError>([&] { runtime.submit(set(data[2], 1)); }),
              HasSubstr("there is no disk"));
  runtime.unregister(data[0]);
  runtime.submit(set(data[2], 1));
  runtime.wait();
}

TEST(DeviceHome, OnACudaDevice) {
  if (!has_cuda() || on_real_cuda()) GTEST_SKIP() << kNeedsStandIn;
  set_stand_in({.devices = 1, .seed = 1});
  {
    const auto owner = drivers::open_cuda_device(cuda_library(), 0, 1);
    auto* const x = reinterpret_cast<double*>(owner->allocate(kPage * 2));
    double* const y = x + 512;
    std::fill_n(x, 1024, 1.0);
    Options options = small_options(1);
    options.policy = "eager";
    options.cuda_devices = 1;
    options.cuda_library = cuda_library();
    Runtime runtime(options);
    const NodeId node = accelerators(runtime)[0];
    int released = 0;
    const auto on_device = runtime.data(node, x, 512, "x", [&] { ++released; });
    const auto by_core = runtime.data(node, y, 512, "y", [&] { ++released; });
    runtime.task("add", on_cuda([](const KernelContext& k, std::span<double> to) {
                   put_on_stream(k, [to] {
                     for (double& each : to) each += 1;
                   });
                 }),
                 inout(on_device));
    runtime.wait();
    EXPECT_EQ(copied(runtime), 0U);
    EXPECT_EQ(x[511], 2.0);
    runtime.task(
        "add", [](std::span<double> to) { to[0] += 4; }, inout(by_core));
    runtime.release(by_core);
    EXPECT_EQ(y[0], 5.0);
    EXPECT_EQ(y[1], 1.0);
    runtime.release(on_device);
    EXPECT_EQ(released, 2);
  }
  expect_all_given_back();
}

TEST(DeviceHome, InASimulationTheFirstCopyIsThatToACore) {
  // 1 MB at 1 byte per nanosecond; tasks of 100 ns. On the device at once, until 100 ns; then to RAM, and on the core; back
  // home, another copy.
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}, {NodeId{1}, "gpu", NodeKind::device, 1_MiB}};
  machine.links = {{kRam, NodeId{1}, BytesPerSecond{1e9}, Time{0}},
                   {NodeId{1}, kRam, BytesPerSecond{1e9}, Time{0}}};
  machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam},
                     {WorkerId{1}, ProcessorKind::cuda, NodeId{1}}};
  Codelet task{.name = "task"};
  task.expected.fill(Time{100});
  Runtime runtime(machine, Options{});
  const Handle x = runtime.register_simulated(Bytes{1'000'000}, NodeId{1}, "x");
  runtime.submit({.codelet = &task, .operands = {R(x)}, .worker = WorkerId{1}});
  runtime.wait();
  EXPECT_EQ(runtime.statistics().now, Time{100});
  runtime.submit({.codelet = &task, .operands = {RW(x)}, .worker = WorkerId{0}});
  runtime.wait();
  EXPECT_EQ(runtime.statistics().now, Time{1'000'200});
  runtime.unregister(x);
  EXPECT_EQ(runtime.statistics().now, Time{2'000'200});
}

}  // namespace
}  // namespace vicinal
