// What simulated time says of copies, evictions and prefetches, exactly.
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sched/policy.hpp"
#include "support/machines.hpp"
#include "support/random_runs.hpp"
#include "support/small_runs.hpp"
#include "support/tested.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

// RAM, a disk or none, and behind them one accelerator.
MachineDescription one_device(std::optional<Bytes> ram, Bytes device, double rate,
                              bool disk = true) {
  const NodeId last{disk ? 2U : 1U};
  std::vector<NodeDescription> nodes = {{kRam, "ram", NodeKind::ram, ram}};
  if (disk) nodes.push_back({NodeId{1}, "disk", NodeKind::disk, {}});
  nodes.push_back({last, "device0", NodeKind::device, device});
  return around_ram(
      nodes,
      {{WorkerId{0}, ProcessorKind::cpu, kRam}, {WorkerId{1}, ProcessorKind::emulated, last}},
      {BytesPerSecond{rate}});
}
Options eager() {
  Options options;
  options.policy = "eager";
  return options;
}
const Codelet kSimulatedOnDevice{.name = "device", .expected = {Time{0}, Time{1'000'000}}};
const Codelet kSimulatedOnCpu{.name = "cpu", .expected = {Time{2'000'000}, Time{0}}};
const Codelet kSlowOnCpu{.name = "slow", .expected = {Time{20'000'000}, Time{0}}};

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

// 1 GB/s, 1 ms per task and per MB.
MachineDescription two_devices() {
  MachineDescription machine = one_device(std::nullopt, 1_GiB, 1e9);
  machine.nodes.push_back({NodeId{3}, "device1", NodeKind::device, 1_GiB});
  join(machine, kRam, NodeId{3});
  machine.workers.push_back({WorkerId{2}, ProcessorKind::emulated, NodeId{3}});
  return machine;
}

// One task releases `tasks` readers of its result. Returns the end of the last reader.
Time end_of_fork(std::string_view policy, int tasks, Bytes bytes, std::uint32_t look_ahead = 0) {
  Options options;
  options.policy = policy;
  options.look_ahead = look_ahead;
  Runtime runtime(two_devices(), options);
  const Handle x = runtime.register_empty(bytes);
  runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {W(x)}});
  for (int i = 0; i < tasks; ++i) {
    runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {R(x)}});
  }
  runtime.wait();
  return runtime.statistics().now;
}

TEST(Runtime, AnIdleAcceleratorGetsWhatWaitsOnAnother) {
  // x goes through RAM to the other accelerator for two times 0.1 ms, and no further task has to wait.
  for (const std::string_view policy : {"eager", "prio", "lws", "darts"}) {
    for (const std::uint32_t look_ahead : {1U, 32U}) {
      SCOPED_TRACE(std::string(policy) + ", look_ahead " + std::to_string(look_ahead));
      EXPECT_EQ(end_of_fork(policy, 2, Bytes{100'000}, look_ahead).ns, 2'200'000);
      EXPECT_EQ(end_of_fork(policy, 4, Bytes{100'000}, look_ahead).ns, 3'200'000);
    }
  }
}

TEST(Runtime, ATaskStaysWhereItsCopiesWouldTakeLongerThanItWaits) {
  // Two times 2 ms for x, and at most 1 ms to wait.
  for (const std::string_view policy : {"eager", "prio", "lws", "darts"}) {
    EXPECT_EQ(end_of_fork(policy, 2, Bytes{2'000'000}).ns, 3'000'000) << policy;
  }
}

TEST(Runtime, DataThatNobodyWroteMayBeSaidToBeOfNoUse) {
  for (const char* const rules : {"", "hint"}) {
    Options options = eager();
    options.memory_rules = rules;
    Runtime runtime(one_device(kPage * 3, 1_GiB, 1e9), options);
    const Handle never = runtime.register_empty(kPage, "never");
    EXPECT_NO_THROW(runtime.wont_use(never)) << rules;
    runtime.wait();
    EXPECT_EQ(runtime.statistics().nodes[0].bytes_in.value, 0U);
  }
}

TEST(Runtime, WhatWillNotBeUsedIsEvictedFirst) {
  // RAM holds 3 pages. a, b, c are written in this order, so a is the least recently used; the user
  // says that c will not be used. d then pushes out c, and reading a and b costs nothing.
  Runtime runtime(one_device(kPage * 3, 1_GiB, 1e9), eager());
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

TEST(Runtime, WhatNoTaskWillUseIsSavedOnceThoughAPrefetchTakesItsRoom) {
  // RAM holds 8 pages, the device 10: big, of 8, and u and v, which no task uses after they were written.
  // For 10 ms a task holds one page of RAM, so big finds no room there before that has ended. Copies take
  // 1 us per page. Saved to RAM, u and v go again for big; if they came again, it would be 10,000 times.
  Runtime runtime(one_device(kPage * 8, kPage * 10, 4.096e9), eager());
  const Handle u = runtime.register_empty(kPage, "u");
  const Handle v = runtime.register_empty(kPage, "v");
  const Handle big = runtime.register_empty(kPage * 8, "big");
  const Handle page = runtime.register_empty(kPage, "page");
  const Codelet on_cpu{.name = "long", .expected = {Time{10'000'000}, Time{0}}};
  runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {W(big)}});
  runtime.wait();
  runtime.submit({.codelet = &on_cpu, .operands = {W(page)}});
  runtime.submit({.codelet = &on_cpu, .operands = {R(big)}});
  runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {W(u), W(v)}});
  runtime.wait();
  const Statistics s = runtime.statistics();
  for (const LinkStatistics& link : s.links) {
    if (link.from == NodeId{2} && link.to == kRam) {
      EXPECT_LE(link.copies, 4U);
    }
  }
}

TEST(Runtime, WhatNoTaskWillUseIsEvictedFirst) {
  // The device holds 4 pages: x and y, which are used again by tasks that wait 20 ms for c, then two results.
  // When c comes it takes the room of a result, although x was used before: x, y and c are copied in, once each.
  Runtime runtime(one_device(std::nullopt, kPage * 4, 1e9), eager());
  const Handle x = runtime.register_simulated(kPage, kRam, "x");
  const Handle y = runtime.register_simulated(kPage, kRam, "y");
  std::vector<Handle> results;
  for (int i = 0; i < 3; ++i) results.push_back(runtime.register_empty(kPage));
  const Handle c = results[2];
  runtime.submit({.codelet = &kSlowOnCpu, .operands = {W(c)}});
  runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {R(x)}});
  runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {R(y)}});
  for (int i = 0; i < 2; ++i)
    runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {W(results[i])}});
  for (const Handle& again : {x, y})
    runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {R(again), R(c)}});
  runtime.wait();
  EXPECT_EQ(runtime.statistics().nodes[2].bytes_in, kPage * 3);
}

TEST(Runtime, WhatIsPrefetchedIsNotTakenForUnused) {
  // The device holds 2 pages: x, which a task on the CPU reads for 20 ms, and y, which is prefetched later. The
  // result z needs room, and x goes.
  Runtime runtime(one_device(std::nullopt, kPage * 2, 1e9), eager());
  const Handle x = runtime.register_simulated(kPage, kRam, "x");
  const Handle y = runtime.register_simulated(kPage, kRam, "y");
  const Handle z = runtime.register_empty(kPage);
  runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {R(x)}});
  runtime.wait();
  runtime.submit({.codelet = &kSimulatedOnCpu, .operands = {W(runtime.register_empty(kPage))}});
  runtime.wait();  // so what comes now is newer
  runtime.submit({.codelet = &kSlowOnCpu, .operands = {R(x)}});
  runtime.prefetch(y, NodeId{2});
  Group meanwhile;  // it arrives
  runtime.submit({.codelet = &kSimulatedOnDevice, .group = &meanwhile});
  runtime.wait(meanwhile);
  runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {W(z)}});
  runtime.wait();
  const Bytes before = runtime.statistics().nodes[2].bytes_in;
  EXPECT_EQ(before, kPage * 2);
  runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {R(y)}});
  runtime.wait();
  EXPECT_EQ(runtime.statistics().nodes[2].bytes_in, before);
}

TEST(Runtime, ResultsThatARamWithoutADiskCannotHoldAreRefusedInSimulation) {
  // RAM holds one page, which nobody can take from r. The result w would have nowhere to go from the device, as on a
  // real machine.
  Runtime runtime(one_device(kPage, kPage * 3, 1e9, /*disk=*/false), eager());
  const Handle r = runtime.register_empty(kPage, "r");
  const Handle w = runtime.register_empty(kPage, "w");
  runtime.submit({.codelet = &kSimulatedOnCpu, .operands = {W(r)}});
  try {
    runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {W(w)}});
    FAIL() << "w was taken";
  } catch (const CapacityError& error) {
    EXPECT_THAT(error.what(),
                ::testing::HasSubstr("writes w: the data written so far and this need "
                                     "8192 bytes, the memory limit is 4096 bytes"));
  }
  runtime.wait();
}

TEST(Runtime, StatisticsAndReportsMayBeReadWhileASimulationRuns) {
  Runtime runtime(one_device(1_MiB, 1_MiB, 1e9), eager());
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

// --- the application's own time

TEST(Runtime, SimulatedTasksStartWhileTheApplicationSubmits) {
  // 10 us for each submission, 25 us for each task on one worker: the first starts at once and has ended
  // when the third has been submitted, at 30 us; all end at 3 x 25 us.
  MachineDescription machine = one_device(std::nullopt, 1_GiB, 1e9);
  machine.submit_overhead = Time{10'000};
  const Codelet kernel{.name = "cpu", .expected = {Time{25'000}, Time{0}}};
  Runtime runtime(machine, Options{});
  for (int i = 1; i <= 3; ++i) {
    runtime.submit({.codelet = &kernel});
    EXPECT_EQ(runtime.statistics().now.ns, i * 10'000);
  }
  EXPECT_EQ(runtime.statistics().tasks_done, 1U);
  runtime.wait();
  EXPECT_EQ(runtime.statistics().now.ns, 75'000);
}

// --- data that lie somewhere at the start

// Before and after the end of 1 MB that lie on a node at the start, when one task of 1 ms on the device has used
// them. A copy takes 1 ms.
struct UseOfSimulated {
  Statistics before;
  Statistics after;
};
UseOfSimulated use_simulated(std::optional<Bytes> ram, NodeId node, AccessMode mode) {
  Runtime runtime(one_device(ram, 1_GiB, 1e9), Options{});
  const Handle x = runtime.register_simulated(Bytes{1'000'000}, node);
  runtime.submit({.codelet = &kSimulatedOnDevice, .operands = {Operand{x, mode}}});
  runtime.wait();
  const Statistics before = runtime.statistics();
  runtime.unregister(x);
  return {before, runtime.statistics()};
}

TEST(Runtime, SimulatedDataOfRamLieOutsideItsLimit) {
  // 1 ms to the device, 1 ms there, 1 ms back at the end. RAM has room for one page.
  const auto [before, s] = use_simulated(kPage, kRam, AccessMode::RW);
  EXPECT_EQ(before.now.ns, 2'000'000);
  EXPECT_EQ(s.now.ns, 3'000'000);
  EXPECT_EQ(s.nodes[0].peak, Bytes{0});
  EXPECT_EQ(s.nodes[0].bytes_in, Bytes{1'000'000});
}

TEST(Runtime, SimulatedDataOfTheDiskPassRam) {
  // Disk to RAM, RAM to the device, the task there, and the same way back.
  const auto [before, s] = use_simulated(1_GiB, NodeId{1}, AccessMode::RW);
  EXPECT_EQ(before.now.ns, 3'000'000);
  EXPECT_EQ(s.now.ns, 5'000'000);
  EXPECT_EQ(s.nodes[1].bytes_out, Bytes{1'000'000});
  EXPECT_EQ(s.nodes[1].bytes_in, Bytes{1'000'000});
}

TEST(Runtime, SimulatedDataOfAnAcceleratorAreUsedThere) {
  // 1 ms there, and no copy. The content is at home at the end.
  const auto [before, s] = use_simulated(1_GiB, NodeId{2}, AccessMode::RW);
  EXPECT_EQ(before.now.ns, 1'000'000);
  EXPECT_EQ(s.now.ns, 1'000'000);
  EXPECT_EQ(s.nodes[2].peak, Bytes{0});
}

TEST(Runtime, SimulatedDataThatOnlyAreReadAreNotWrittenBack) {
  // Disk to RAM, RAM to the device, the task there.
  EXPECT_EQ(use_simulated(1_GiB, NodeId{1}, AccessMode::R).after.now.ns, 3'000'000);
}

TEST(Runtime, SimulatedDataAreRefusedWhereTheyCannotLie) {
  using ::testing::AllOf;
  using ::testing::HasSubstr;
  Runtime real(small_options());
  EXPECT_THAT(message_of<UsageError>([&] { real.register_simulated(kPage, kRam, "x"); }),
              AllOf(HasSubstr("register_simulated"), HasSubstr("x"), HasSubstr("register_buffer")));
  Runtime simulated(one_device(std::nullopt, 1_GiB, 1e9), Options{});
  EXPECT_THAT(message_of<UsageError>([&] { simulated.register_simulated(kPage, NodeId{7}, "x"); }),
              AllOf(HasSubstr("x"), HasSubstr("memory node 7")));
  MachineDescription diskless;
  diskless.nodes = {{kRam, "ram", NodeKind::ram, {}}};
  diskless.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam}};
  Runtime without_disk(diskless, Options{});
  EXPECT_THAT(
      message_of<UsageError>([&] { without_disk.register_simulated(kPage, NodeId{1}, "x"); }),
      HasSubstr("memory node 1"));
}

// --- machines that cannot be

TEST(Runtime, ASimulatedMachineThatCannotBeIsRefusedNamingThePart) {
  using Change = void (*)(MachineDescription&);
  const std::pair<Change, const char*> changes[] = {
      {[](MachineDescription& m) { m.nodes.clear(); }, "RAM as its node 0"},
      {[](MachineDescription& m) { m.workers.clear(); }, "and a worker"},
      {[](MachineDescription& m) { m.nodes[1].id = NodeId{2}; }, "node 1"},
      {[](MachineDescription& m) { m.workers[1].node = NodeId{3}; }, "worker 1: there is no node"},
      {[](MachineDescription& m) { m.workers[1].pipeline = 0; }, "worker 1"},
      {[](MachineDescription& m) { m.workers[0].task_overhead = Time{-1}; }, "worker 0"},
      {[](MachineDescription& m) { m.workers[0].wake_latency = Time{-1}; }, "wake_latency"},
      {[](MachineDescription& m) { m.links[2].to = NodeId{3}; }, "link 2: there is no node"},
      {[](MachineDescription& m) { m.links[2].latency = Time{-1}; }, "link 2"},
      {[](MachineDescription& m) { m.links[2].bandwidth = BytesPerSecond{-1}; }, "link 2"},
      {[](MachineDescription& m) { m.links[2].worker_bandwidth = {1e-300}; }, "worker_bandwidth"},
      {[](MachineDescription& m) { m.links[2].first_write = {1e-300}; }, "first_write"},
      {[](MachineDescription& m) { m.links[2].busy_latency = Time{-1}; }, "busy_latency"},
      {[](MachineDescription& m) { m.links[2].segments = {0}; }, "link 2: there is no segment"},
      {[](MachineDescription& m) { m.links[2].serialised = {4}; }, "link 2: there is no link"},
      {[](MachineDescription& m) {
         m.segments = {{"bus", BytesPerSecond{0}}};
       },
       "segment bus"},
      {[](MachineDescription& m) { m.submit_overhead = Time{-1}; }, "submit_overhead"},
  };
  for (const auto& [change, part] : changes) {
    MachineDescription machine = one_device(std::nullopt, 1_GiB, 1e9);
    change(machine);
    EXPECT_THAT(message_of<UsageError>([&] { Runtime runtime(machine, Options{}); }),
                ::testing::HasSubstr(part));
  }
}

// --- how long workers were busy

// Two GPUs that launch kernels ahead, and a CPU worker.
MachineDescription two_gpus() {
  MachineDescription machine = one_device(std::nullopt, 1_MiB, 1e9);
  machine.nodes.push_back({NodeId{3}, "device1", NodeKind::device, 1_MiB});
  for (const std::uint32_t from : {0U, 2U}) {
    join(machine, NodeId{from}, NodeId{3}, {.copies_in_flight = 2});
  }
  machine.workers.push_back({WorkerId{2}, ProcessorKind::emulated, NodeId{3}});
  for (WorkerDescription& worker : machine.workers) {
    worker.task_overhead = Time{3000};
    if (worker.kind == ProcessorKind::cpu) continue;
    worker.copy_overhead = Time{2000};
    worker.pipeline = 2;
  }
  return machine;
}

// Random chains of tasks; what they take is the same on all workers.
std::int64_t submit_random_tasks(Runtime& runtime, const std::vector<Codelet>& codelets,
                                 base::Random& random) {
  std::vector<Handle> data;
  for (int i = 0; i < 20; ++i) data.push_back(runtime.register_simulated(kPage * 10));
  std::int64_t sum = 0;
  for (int i = 0; i < 100; ++i) {
    const Codelet& codelet = codelets[random.below(codelets.size())];
    const Handle read = data[random.below(10)];
    const Handle written = data[10 + random.below(10)];
    runtime.submit({.codelet = &codelet, .operands = {R(read), RW(written)}});
    sum += codelet.expected[0].ns;
  }
  return sum;
}

TEST(Runtime, SimulatedWorkersAreBusyForTheTimeOfTheirKernelsAndNoLongerThanTheRun) {
  std::vector<Codelet> codelets;
  for (const std::int64_t us : {5, 40, 300}) {
    codelets.push_back({.name = "kernel", .expected = {Time{us * 1000}, Time{us * 1000}}});
  }
  codelets.back().synchronous = true;
  for (const sched::PolicyEntry& policy : testing::tested_policies()) {
    for (const std::uint64_t seed : seeds(10)) {
      SCOPED_TRACE(std::string(policy.name) + ", TEST_SEED_VICINAL=" + std::to_string(seed));
      base::Random random(seed);
      Options options;
      options.policy = policy.name;
      Runtime runtime(two_gpus(), options);
      const std::int64_t kernels = submit_random_tasks(runtime, codelets, random);
      runtime.wait();
      const Statistics s = runtime.statistics();
      std::int64_t busy = 0;
      for (const WorkerStatistics& worker : s.workers) {
        EXPECT_LE(worker.busy, s.now);
        busy += worker.busy.ns;
      }
      EXPECT_EQ(busy, kernels);
    }
  }
}

}  // namespace
}  // namespace vicinal
