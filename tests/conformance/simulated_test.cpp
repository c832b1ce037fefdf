// What simulated time says of copies, evictions and early copies, exactly.
#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

MachineDescription one_device(std::optional<Bytes> ram, Bytes device, double rate) {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, ram},
                   {NodeId{1}, "disk", NodeKind::disk, {}},
                   {NodeId{2}, "device0", NodeKind::device, device}};
  for (const std::uint32_t other : {1U, 2U}) {
    machine.links.push_back({kRam, NodeId{other}, BytesPerSecond{rate}, Time{0}, 1});
    machine.links.push_back({NodeId{other}, kRam, BytesPerSecond{rate}, Time{0}, 1});
  }
  machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam},
                     {WorkerId{1}, ProcessorKind::emulated, NodeId{2}}};
  return machine;
}
const Codelet kSimulatedOnDevice{.name = "device", .expected = {Time{0}, Time{1'000'000}}};
const Codelet kSimulatedOnCpu{.name = "cpu", .expected = {Time{2'000'000}, Time{0}}};

TEST(Runtime, SimulatedDataAboveFourGibibytesAreMovedWhole) {
  // 1 GiB/s. Written on the CPU for 2 ms, 5 s to the device, 1 ms there, 5 s back to be written.
  Runtime runtime(one_device(8_GiB, 8_GiB, 1ULL << 30), Options{});
  const Handle big = runtime.register_empty(5_GiB, "big");
  runtime.submit({.codelet = &kSimulatedOnCpu, .operands = {W(big)}});
  runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {RW(big)}});
  runtime.submit({.codelet = &kSimulatedOnCpu, .operands = {RW(big)}});
  runtime.wait();
  const Statistics s = runtime.statistics();
  EXPECT_EQ(s.now.ns, 10'005'000'000);
  EXPECT_EQ(s.nodes[2].bytes_in, 5_GiB);
  EXPECT_EQ(s.nodes[2].bytes_out, 5_GiB);
  EXPECT_EQ(s.nodes[2].peak, 5_GiB);
}

TEST(Runtime, SimulatedPrefetchHidesTheCopyBehindAnotherTask) {
  // 1 GB/s, x and y of 1 MB: 1 ms per copy, 1 ms per task. x comes, two tasks use it; y comes while
  // the second of them runs, or after it: 1 + 1 + 1 + 1 ms, or 1 more.
  for (const bool early : {false, true}) {
    Options options;
    options.look_ahead = 1;
    options.policy = "eager";
    Runtime runtime(one_device(std::nullopt, 1_GiB, 1e9), options);
    const Handle x = runtime.register_buffer(reinterpret_cast<void*>(4096), Bytes{1'000'000});
    const Handle y = runtime.register_buffer(reinterpret_cast<void*>(1 << 24), Bytes{1'000'000});
    Group group;
    runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {R(x)}, .group = &group});
    runtime.wait(group);
    runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {R(x)}, .group = &group});
    if (early) runtime.prefetch(y, NodeId{2});
    runtime.wait(group);
    runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {R(y)}});
    runtime.wait();
    EXPECT_EQ(runtime.statistics().now.ns, early ? 4'000'000 : 5'000'000);
  }
}

TEST(Runtime, WhatWillNotBeUsedIsEvictedFirst) {
  // RAM holds 3 pages. a, b, c are written in this order, so a is the least recently used; the user
  // says that c will not be used. d then pushes out c, and reading a and b costs nothing.
  Options options;
  options.policy = "eager";
  Runtime runtime(one_device(kPage * 3, 1_GiB, 1e9), options);
  std::vector<Handle> data;
  for (int i = 0; i < 4; ++i) data.push_back(runtime.register_empty(kPage));
  for (int i = 0; i < 3; ++i)
    runtime.submit({.codelet = &kSimulatedOnCpu, .operands = {W(data[i])}});
  runtime.wait();
  runtime.wont_use(data[2]);
  runtime.submit({.codelet = &kSimulatedOnCpu, .operands = {W(data[3])}});
  runtime.wait();
  EXPECT_EQ(runtime.statistics().nodes[1].bytes_in, kPage);
  runtime.submit({.codelet = &kSimulatedOnCpu, .operands = {R(data[0]), R(data[1]), R(data[3])}});
  runtime.wait();
  EXPECT_EQ(runtime.statistics().nodes[1].bytes_out.value, 0U);
}

TEST(Runtime, StatisticsAndReportsMayBeReadWhileASimulationRuns) {
  Options options;
  options.policy = "eager";
  Runtime runtime(one_device(1_MiB, 1_MiB, 1e9), options);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    Time last;
    while (!stop.load()) {
      const Time now = runtime.statistics().now;
      EXPECT_GE(now.ns, last.ns);
      last = now;
      EXPECT_FALSE(runtime.stall_report().empty());
    }
  });
  const Handle x = runtime.register_empty(kPage);
  runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {W(x)}});
  for (int i = 0; i < 300; ++i) {
    runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {RW(x)}});
  }
  runtime.wait();
  stop.store(true);
  reader.join();
  EXPECT_EQ(runtime.statistics().tasks_done, 301U);
}

}  // namespace
}  // namespace vicinal
