// The public interface, each promise once: what include/vicinal/runtime.hpp says is what happens.
#include "vicinal/runtime.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Bytes kPage{4096};
using Values = std::vector<std::int64_t>;

// Every way to run that the results must not depend on.
struct Way {
  const char* name;
  std::uint32_t workers;
  bool submitter_works;
  std::uint64_t pages;  // of RAM; 0: no limit and no disk
  std::uint32_t accelerators;
  const char* policy;
};
void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}

class Every : public ::testing::TestWithParam<Way> {
 protected:
  Options options() const {
    Options options = small_options(GetParam().workers);
    options.submitter_works = GetParam().submitter_works;
    options.accelerators = GetParam().accelerators;
    options.accelerator_memory = kPage * 8;
    options.policy = GetParam().policy;
    if (GetParam().pages > 0) {
      options.memory = kPage * GetParam().pages;
      options.disk = folder_.path();
    }
    return options;
  }
  TemporaryFolder folder_{"runtime"};
  Watchdog watchdog_{::testing::UnitTest::GetInstance()->current_test_info()->name(), 20};
};

INSTANTIATE_TEST_SUITE_P(
    Way, Every,
    ::testing::Values(
        Way{"submitter alone", 1, true, 0, 0, "lws"}, Way{"one thread", 1, false, 0, 0, "eager"},
        Way{"three", 3, true, 0, 0, "lws"}, Way{"out of core", 2, true, 8, 0, "darts"},
        Way{"devices", 1, true, 0, 2, "prio"}, Way{"devices out of core", 2, false, 8, 2, "lws"},
        Way{"devices out of core, darts", 2, true, 8, 2, "darts"}),
    [](const ::testing::TestParamInfo<Way>& way) {
      std::string name = way.param.name;
      std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
      return name;
    });

// --- data -------------------------------------------------------------------------------------

TEST_P(Every, TasksRunAsIfInTheOrderOfTheirSubmission) {
  Values x(512, 1);
  {
    Runtime runtime(options());
    const Watched watched(watchdog_, runtime);
    const Handle h = runtime.register_buffer(x.data(), kPage, "x");
    for (int i = 0; i < 200; ++i) {
      runtime.submit(add(h, 3));
      if (i % 50 == 7) runtime.submit(set(h, i));
    }
    runtime.unregister(h);
  }
  // The last set is at i = 157, followed by 42 additions (158..199): 157 + 42 * 3 = 283.
  EXPECT_EQ(x, Values(512, 283));
}

TEST_P(Every, StridedTilesOfOneMatrixArePackedOnTheirWayAndTheRestIsLeftAlone) {
  // A 30 x 20 matrix, column-major, in tiles of 10 x 10 with leading dimension 32: two rows of gap.
  constexpr std::uint64_t kLd = 32;
  Values matrix(kLd * 20, -1);
  {
    Runtime runtime(options());
    const Watched watched(watchdog_, runtime);
    std::vector<Handle> tiles;
    for (std::uint64_t j = 0; j < 2; ++j) {
      for (std::uint64_t i = 0; i < 3; ++i) {
        tiles.push_back(runtime.register_tile(&matrix[j * 10 * kLd + i * 10], {10, 10, kLd}));
      }
    }
    for (int round = 0; round < 3; ++round) {
      for (std::size_t t = 0; t < tiles.size(); ++t) {
        const bool device = GetParam().accelerators > 0 && (t + round) % 2 == 0;
        runtime.submit(round == 0 ? set(tiles[t], static_cast<int>(t), device ? kSetOnDevice : kSet)
                                  : add(tiles[t], 100, device ? kAddOnDevice : kAdd));
      }
    }
    for (const Handle tile : tiles) runtime.unregister(tile);
  }
  for (std::uint64_t j = 0; j < 20; ++j) {
    for (std::uint64_t i = 0; i < kLd; ++i) {
      const std::int64_t expected =
          i >= 30 ? -1 : static_cast<std::int64_t>(200 + j / 10 * 3 + i / 10);
      ASSERT_EQ(matrix[j * kLd + i], expected) << i << ", " << j;
    }
  }
}

std::atomic<std::uint64_t> seen_ld{0};
std::atomic<std::uint64_t> seen_count{0};
void look_kernel(KernelContext& k) {
  seen_ld = k.leading_dimension(0);
  seen_count = k.count<std::int64_t>(0);
}
const Codelet kLook{.name = "look", .cpu = look_kernel};
const Codelet kLookOnDevice{.name = "look", .emulated = look_kernel};

TEST(Runtime, AKernelSeesTheLeadingDimensionOfTheReplicaItIsGiven) {
  Options options = small_options(1);
  options.accelerators = 1;
  Runtime runtime(options);
  Values matrix(64 * 10);
  const Handle tile = runtime.register_tile(matrix.data(), {10, 10, 64});
  runtime.submit({.codelet = &kLook, .operands = {R(tile)}, .worker = WorkerId{0}});
  runtime.wait();
  EXPECT_EQ(seen_ld, 64U);  // in the user's buffer
  EXPECT_EQ(seen_count, 100U);
  runtime.submit({.codelet = &kLookOnDevice, .operands = {R(tile)}});
  runtime.wait();
  EXPECT_EQ(seen_ld, 10U);  // packed
  EXPECT_EQ(seen_count, 100U);
}

TEST_P(Every, WriteBackNoLeavesTheHomeAsItIs) {
  Options o = options();
  o.accelerators = 1;
  o.accelerator_memory = kPage * 8;
  Values x(512, 1);
  Values y(512, 1);
  Runtime runtime(o);
  const Watched watched(watchdog_, runtime);
  const Handle a = runtime.register_buffer(x.data(), kPage);
  const Handle b = runtime.register_buffer(y.data(), kPage);
  runtime.submit(set(a, 5, kSetOnDevice));
  runtime.submit(set(b, 5, kSetOnDevice));
  runtime.unregister(a, WriteBack::no);
  runtime.unregister(b, WriteBack::yes);
  EXPECT_EQ(x, Values(512, 1));
  EXPECT_EQ(y, Values(512, 5));
}

TEST_P(Every, TheEndOfTheRuntimeWritesBackWhatIsHomedInBuffers) {
  Values x(512, 1);
  {
    Runtime runtime(options());
    const Watched watched(watchdog_, runtime);
    const Handle a = runtime.register_buffer(x.data(), kPage);
    for (int i = 0; i < 5; ++i) {
      runtime.submit(add(a, 1, i % 2 == 0 && GetParam().accelerators > 0 ? kAddOnDevice : kAdd));
    }
  }
  EXPECT_EQ(x, Values(512, 6));
}

TEST(Runtime, OverlappingBuffersAreRefusedAndNamed) {
  Runtime runtime(small_options());
  Values x(1000);
  const Handle a = runtime.register_buffer(x.data(), Bytes{800}, "left");
  EXPECT_THAT(message_of<UsageError>([&] { runtime.register_buffer(&x[99], Bytes{80}, "right"); }),
              AllOf(HasSubstr("left"), HasSubstr("right")));
  const Handle b = runtime.register_buffer(&x[100], Bytes{80}, "right");
  // Interleaved tiles do not overlap; the third would, by one element.
  const Handle c = runtime.register_tile(&x[200], {5, 4, 20}, "upper");
  const Handle d = runtime.register_tile(&x[205], {5, 4, 20}, "lower");
  EXPECT_THAT(message_of<UsageError>([&] {
                runtime.register_tile(&x[209], {5, 4, 20}, "third");
              }),
              AllOf(HasSubstr("lower"), HasSubstr("third")));
  for (const Handle handle : {a, b, c, d}) runtime.unregister(handle);
  runtime.unregister(runtime.register_buffer(x.data(), Bytes{8000}, "whole"));
}

TEST(Runtime, RegionsOfOneFileThatOverlapAreRefused) {
  const TemporaryFolder folder("files");
  Options options = small_options();
  options.memory = kPage * 4;
  options.disk = folder.path();
  Runtime runtime(options);
  const Handle a = runtime.register_file({folder.file("m"), 0}, kPage, "a");
  EXPECT_THAT(message_of<UsageError>([&] {
                runtime.register_file({folder.file("m"), 4095}, kPage, "b");
              }),
              AllOf(HasSubstr("a"), HasSubstr("b")));
  const Handle b = runtime.register_file({folder.file("m"), 4096}, kPage, "b");
  runtime.submit(set(a, 1));
  runtime.submit(set(b, 2));
  runtime.unregister(a);
  runtime.unregister(b);
  std::ifstream file(folder.file("m"), std::ios::binary);
  Values values(1024);
  file.read(reinterpret_cast<char*>(values.data()), 8192);
  EXPECT_EQ(file.gcount(), 8192);
  EXPECT_EQ(std::count(values.begin(), values.begin() + 512, 1), 512);
  EXPECT_EQ(std::count(values.begin() + 512, values.end(), 2), 512);
}

TEST_P(Every, EmptyDataOrderTasksAndCostNothing) {
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle nothing = runtime.register_empty(Bytes{0}, "nothing");
  const Handle empty_buffer = runtime.register_buffer(nullptr, Bytes{0}, "empty buffer");
  const Handle x = runtime.register_empty(kPage, "x");
  runtime.submit({.codelet = &kSet, .operands = {W(x), W(nothing)}, .parameters = std::int64_t{1}});
  for (int i = 0; i < 10; ++i) {
    runtime.submit({.codelet = &kAdd,
                    .operands = {RW(x), RW(nothing), R(empty_buffer)},
                    .parameters = std::int64_t{1}});
  }
  runtime.wait();
  EXPECT_EQ(value_of(runtime, x), 11);
  const Acquired acquired = runtime.acquire(nothing, AccessMode::RW);
  EXPECT_EQ(acquired.view().layout.bytes().value, 0U);
}

TEST(Runtime, DataAboveFourGibibytesAreRegisteredWithoutBeingTouched) {
  static std::atomic<std::uint64_t> count;
  const Codelet ends{.name = "ends", .cpu = [](KernelContext& k) {
                       count = k.count<std::int64_t>(0);
                       k.data<std::int64_t>(0)[0] = 1;
                       k.data<std::int64_t>(0)[k.count<std::int64_t>(0) - 1] = 2;
                     }};
  Runtime runtime(small_options(1));
  const Handle big = runtime.register_empty(5_GiB, "big");
  runtime.submit({.codelet = &ends, .operands = {W(big)}});
  runtime.wait();
  EXPECT_EQ(count, (5ULL << 30) / 8);
  {
    const Acquired acquired = runtime.acquire(big, AccessMode::R);
    EXPECT_EQ(acquired.data<std::int64_t>()[0], 1);
    EXPECT_EQ(acquired.data<std::int64_t>()[(5ULL << 30) / 8 - 1], 2);
  }
  runtime.unregister(big);
  EXPECT_EQ(runtime.statistics().nodes[0].resident.value, 0U);
}

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

TEST_P(Every, InvalidateDropsTheContentAfterTheTasksBefore) {
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage, "x");
  const Handle y = runtime.register_empty(kPage, "y");
  runtime.submit(set(x, 4));
  runtime.submit({.codelet = &kNext, .operands = {R(x), W(y)}});
  runtime.invalidate(x);
  runtime.submit(set(x, 8));
  runtime.wait();
  EXPECT_EQ(value_of(runtime, y), 5);
  EXPECT_EQ(value_of(runtime, x), 8);
  runtime.invalidate(x);
  runtime.wait();
  if (GetParam().pages > 0) {
    EXPECT_EQ(runtime.statistics().nodes[0].resident, kPage);  // y's alone
  }
}

TEST(Runtime, PrefetchBringsACopyToTheNodeBeforeTheTaskAsksForIt) {
  Options options = small_options(1);
  options.accelerators = 1;
  options.accelerator_memory = kPage * 4;
  Runtime runtime(options);
  const Watchdog watchdog(&runtime, "prefetch");
  Values x(512, 3);
  const Handle a = runtime.register_buffer(x.data(), kPage);
  const NodeId device = runtime.machine().workers[1].node;
  runtime.prefetch(a, device);
  runtime.wait();  // for the order; the copy may still be in course
  while (runtime.statistics().nodes[device.value].bytes_in != kPage) std::this_thread::yield();
  runtime.submit(add(a, 1, kAddOnDevice));
  runtime.wait();
  EXPECT_EQ(runtime.statistics().nodes[device.value].bytes_in, kPage);  // once
  EXPECT_THAT(message_of<UsageError>([&] { runtime.prefetch(a, NodeId{7}); }), HasSubstr("7"));
  EXPECT_EQ(value_of(runtime, a), 4);
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

// --- tasks ------------------------------------------------------------------------------------

struct Large {
  std::array<std::int64_t, 20> values;
};
void large_kernel(KernelContext& k) {
  const auto large = k.parameter<Large>();
  k.data<std::int64_t>(0)[0] =
      std::accumulate(large.values.begin(), large.values.end(), std::int64_t{0});
}
const Codelet kLarge{.name = "large", .cpu = large_kernel};

TEST_P(Every, LargeParametersTravelWithTheTask) {
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  std::vector<Handle> handles;
  for (int i = 0; i < 20; ++i) {
    handles.push_back(runtime.register_empty(Bytes{8}));
    Large large{};
    large.values.fill(i);
    runtime.submit({.codelet = &kLarge, .operands = {W(handles.back())}, .parameters = large});
  }
  runtime.wait();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(value_of(runtime, handles[i]), 20 * i);
}

void sum_kernel(KernelContext& k) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i + 1 < k.operands(); ++i)
    sum = 10 * sum % 1'000'003 + *k.data<std::int64_t>(i);
  *k.data<std::int64_t>(k.operands() - 1) = sum;
}
const Codelet kSum{.name = "sum", .cpu = sum_kernel};

TEST(Runtime, TasksMayHaveManyOperandsAndNameAHandleTwice) {
  Runtime runtime(small_options());
  Values x(40);
  std::vector<Handle> handles;
  for (int i = 0; i < 40; ++i) {
    x[i] = i + 1;
    handles.push_back(runtime.register_buffer(&x[i], Bytes{8}));
  }
  for (const std::size_t count : {1U, 3U, 4U, 5U, 16U, 17U, 39U}) {
    std::vector<Operand> operands;
    std::int64_t expected = 0;
    for (std::size_t i = 0; i < count; ++i) {
      operands.push_back(R(handles[i]));
      expected = 10 * expected % 1'000'003 + x[i];
    }
    operands.push_back(R(handles[0]));  // named twice
    expected = 10 * expected % 1'000'003 + x[0];
    operands.push_back(W(handles[39]));
    runtime.submit({.codelet = &kSum, .operands = operands});
    runtime.wait();
    EXPECT_EQ(x[39], expected) << count;
  }
  // Read and written by the same task, under two numbers: RW.
  runtime.submit({.codelet = &kSum, .operands = {R(handles[5]), R(handles[6]), W(handles[5])}});
  runtime.wait();
  EXPECT_EQ(x[5], 67);  // 6 and 7
  const std::vector<Operand> too_many(256, R(handles[0]));
  EXPECT_THAT(
      message_of<UsageError>([&] { runtime.submit({.codelet = &kNothing, .operands = too_many}); }),
      AllOf(HasSubstr("256"), HasSubstr("255")));
}

TEST_P(Every, OnlyTheNamedWorkerRunsARestrictedTask) {
  static std::atomic<int> wrong;
  wrong = 0;
  const Codelet check{.name = "check", .cpu = [](KernelContext& k) {
                        if (k.worker() != k.parameter<WorkerId>()) ++wrong;
                      }};
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const auto workers = static_cast<std::uint32_t>(runtime.machine().workers.size());
  const Handle x = runtime.register_empty(kPage);
  runtime.submit(set(x, 1));
  for (std::uint32_t i = 0; i < 200; ++i) {
    // The waiting thread's own worker is one of them.
    const WorkerId worker{i % workers};
    TaskSpec spec{.codelet = &check, .parameters = worker, .worker = worker};
    const std::array<Operand, 1> operands{R(x)};
    if (i % 3 == 0) spec.operands = std::span<const Operand>(operands);
    runtime.submit(spec);
  }
  runtime.wait();
  EXPECT_EQ(wrong, 0);
  const Statistics s = runtime.statistics();
  for (const auto& worker : s.workers) EXPECT_GE(worker.tasks, 200 / workers);
}

TEST_P(Every, ExplicitDependenciesHoldWithoutData) {
  static std::atomic<int> counter;
  const Codelet count{.name = "count", .cpu = [](KernelContext&) {
                        std::this_thread::sleep_for(std::chrono::microseconds(50));
                        ++counter;
                      }};
  static std::atomic<int> seen;
  const Codelet look{.name = "look", .cpu = [](KernelContext&) { seen = counter.load(); }};
  for (const bool planned : {false, true}) {
    Options o = options();
    o.compute_priorities = planned;
    Runtime runtime(o);
    const Watched watched(watchdog_, runtime);
    for (int round = 0; round < 10; ++round) {
      counter = 0;
      std::vector<TaskId> before;
      for (int i = 0; i < 5; ++i) before.push_back(runtime.submit({.codelet = &count}));
      const TaskId last = runtime.submit({.codelet = &look, .after = before});
      const std::array<TaskId, 1> again{last};
      runtime.submit({.codelet = &count, .after = again});
      runtime.wait();
      EXPECT_EQ(seen, 5);
      // Of ended tasks, whose slots may be used by others now: no dependency.
      runtime.submit({.codelet = &count, .after = before});
      runtime.wait();
      EXPECT_EQ(counter, 7);
    }
  }
}

TEST_P(Every, OnEndIsCalledOncePerTaskAndMaySubmit) {
  std::atomic<int> ends{0};
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage);
  runtime.submit(set(x, 0));
  const auto then = [&](Outcome outcome) {
    EXPECT_EQ(outcome, Outcome::done);
    if (ends.fetch_add(1) < 20) runtime.submit(add(x, 1));
  };
  for (int i = 0; i < 30; ++i) runtime.submit({.codelet = &kNothing, .on_end = then});
  runtime.wait();  // for what they submitted, too
  EXPECT_EQ(ends, 30);
  EXPECT_EQ(value_of(runtime, x), 20);
}

Runtime* the_runtime = nullptr;
Handle the_handle;
void spawn_kernel(KernelContext& k) {
  const auto depth = k.parameter<int>();
  if (depth == 0) {
    the_runtime->submit(add(the_handle, 1));
    return;
  }
  static const Codelet spawn{.name = "spawn", .cpu = spawn_kernel};
  for (int i = 0; i < 3; ++i) the_runtime->submit({.codelet = &spawn, .parameters = depth - 1});
}

TEST_P(Every, TasksMaySubmitTasksAndTheWindowNeverHoldsThemBack) {
  Options o = options();
  o.window_tasks = 2;
  o.window_bytes = kPage;
  Runtime runtime(o);
  const Watched watched(watchdog_, runtime);
  the_runtime = &runtime;
  the_handle = runtime.register_empty(kPage);
  runtime.submit(set(the_handle, 0));
  const Codelet spawn{.name = "spawn", .cpu = spawn_kernel};
  for (int i = 0; i < 4; ++i) runtime.submit({.codelet = &spawn, .parameters = 3});
  runtime.wait();
  EXPECT_EQ(value_of(runtime, the_handle), 4 * 27);
}

TEST_P(Every, SeveralThreadsMaySubmitAndGetOneOrderForAllHandles) {
  // Each task adds 1 to both of two numbers: whatever the order, they stay equal. Each thread's own
  // chain keeps its order: it multiplies by 3 and adds its step, modulo 2^64.
  static const Codelet both{.name = "both", .cpu = [](KernelContext& k) {
                              ++*k.data<std::int64_t>(0);
                              ++*k.data<std::int64_t>(1);
                              if (*k.data<std::int64_t>(0) != *k.data<std::int64_t>(1))
                                std::abort();
                              auto& own = *k.data<std::uint64_t>(2);
                              own = 3 * own + k.parameter<std::uint64_t>();
                            }};
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  Values shared(2, 0);
  std::vector<std::uint64_t> own(4, 0);
  const Handle a = runtime.register_buffer(&shared[0], Bytes{8});
  const Handle b = runtime.register_buffer(&shared[1], Bytes{8});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const Handle mine = runtime.register_buffer(&own[t], Bytes{8});
      for (std::uint64_t i = 0; i < 200; ++i) {
        if (t % 2 == 0) {
          runtime.submit({.codelet = &both, .operands = {RW(a), RW(b), RW(mine)}, .parameters = i});
        } else {
          runtime.submit({.codelet = &both, .operands = {RW(b), RW(a), RW(mine)}, .parameters = i});
        }
      }
      runtime.unregister(mine);
    });
  }
  for (auto& thread : threads) thread.join();
  runtime.unregister(a);
  runtime.unregister(b);
  EXPECT_EQ(shared, Values(2, 800));
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < 200; ++i) expected = 3 * expected + i;
  EXPECT_EQ(own, std::vector<std::uint64_t>(4, expected));
}

std::atomic<std::uint64_t> most_pending{0};
void pending_kernel(KernelContext& /*context*/) {
  const Statistics s = the_runtime->statistics();
  const std::uint64_t pending = s.tasks_submitted - s.tasks_done;
  if (pending > most_pending) most_pending = pending;
}
const Codelet kPending{.name = "pending", .cpu = pending_kernel};

TEST_P(Every, TheSubmissionWindowBoundsWhatIsPending) {
  for (const bool planned : {false, true}) {
    Options o = options();
    o.window_tasks = 7;
    o.compute_priorities = planned;
    Runtime runtime(o);
    const Watched watched(watchdog_, runtime);
    the_runtime = &runtime;
    most_pending = 0;
    const Handle x = runtime.register_empty(kPage);
    runtime.submit(set(x, 0));
    for (int i = 0; i < 100; ++i) {
      runtime.submit({.codelet = &kPending, .operands = {R(x)}});
      runtime.submit({.codelet = &kPending, .operands = {RW(x)}});
    }
    runtime.wait();
    EXPECT_LE(most_pending, 7U);
    EXPECT_GE(most_pending, 2U);
  }
}

TEST_P(Every, TheSubmissionWindowBoundsTheBytesOfWhatIsPending) {
  Options o = options();
  o.window_bytes = kPage * 3;
  Runtime runtime(o);
  const Watched watched(watchdog_, runtime);
  the_runtime = &runtime;
  most_pending = 0;
  std::vector<Handle> handles;
  for (int i = 0; i < 5; ++i) {
    handles.push_back(runtime.register_empty(kPage));
    runtime.submit(set(handles.back(), 0));
  }
  runtime.wait();
  for (int i = 0; i < 100; ++i) {
    runtime.submit({.codelet = &kPending, .operands = {R(handles[i % 5])}});
    if (i % 10 == 0) runtime.wait(handles[0]);  // does not count as bytes
  }
  runtime.wait();
  EXPECT_LE(most_pending, 3U + 1U);  // and the task of wait(handle)
  // One that is larger than the window alone still goes through.
  const Handle large = runtime.register_empty(kPage * 5);
  runtime.submit(set(large, 1));
  runtime.wait();
}

TEST(Runtime, ComputedPrioritiesRunTheLongestPathFirst) {
  static std::vector<int> order;
  order.clear();
  const Codelet note{.name = "note",
                     .cpu = [](KernelContext& k) { order.push_back(k.parameter<int>()); },
                     .expected = {Time{1'000'000}, Time{0}}};
  Options options = small_options(1);  // the waiting thread alone
  options.policy = "prio";
  options.compute_priorities = true;
  Runtime runtime(options);
  std::vector<Handle> h;
  for (int i = 0; i < 3; ++i) h.push_back(runtime.register_empty(Bytes{8}));
  // Chains of 1, 3 and 2 tasks of 1 ms, submitted in this order: bottom levels 1 | 3 2 1 | 2 1 ms.
  runtime.submit({.codelet = &note, .operands = {W(h[0])}, .parameters = 0});
  for (int i = 0; i < 3; ++i) {
    runtime.submit(
        {.codelet = &note, .operands = {i == 0 ? W(h[1]) : RW(h[1])}, .parameters = 10 + i});
  }
  for (int i = 0; i < 2; ++i) {
    runtime.submit(
        {.codelet = &note, .operands = {i == 0 ? W(h[2]) : RW(h[2])}, .parameters = 20 + i});
  }
  // And one with a priority of its own, in microseconds like the computed ones: before all.
  runtime.submit({.codelet = &note, .parameters = 30, .priority = 1'000'000});
  runtime.wait();
  ASSERT_EQ(order.size(), 7U);
  EXPECT_EQ(order[0], 30);
  EXPECT_EQ(order[1], 10);  // level 3
  EXPECT_THAT((std::vector{order[2], order[3]}), ::testing::UnorderedElementsAre(11, 20));  // 2
  EXPECT_THAT((std::vector(order.begin() + 4, order.end())),
              ::testing::UnorderedElementsAre(0, 12, 21));  // 1
}

TEST_P(Every, PrioritiesDoNotOverruleDependenciesWhenThereIsNoData) {
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage);
  runtime.submit(set(x, 1));
  for (int i = 0; i < 20; ++i) {
    TaskSpec spec = add(x, i);
    spec.priority = i;
    runtime.submit(spec);
  }
  runtime.submit(set(x, 5));
  runtime.wait();
  EXPECT_EQ(value_of(runtime, x), 5);
}

// --- groups, waiting, cancelling --------------------------------------------------------------

TEST_P(Every, AGroupIsWaitedForWithoutTheRest) {
  static std::atomic<bool> open;
  static std::atomic<bool> blocked_ran;
  open = false;
  blocked_ran = false;
  const Codelet blocked{.name = "blocked", .cpu = [](KernelContext&) { blocked_ran = true; }};
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle gate = runtime.register_empty(kPage);
  const Handle x = runtime.register_empty(kPage);
  Group group;
  {
    const Acquired held = runtime.acquire(gate, AccessMode::W);
    runtime.submit({.codelet = &blocked, .operands = {R(gate)}});
    TaskSpec first = set(x, 1);
    first.group = &group;
    runtime.submit(first);
    for (int i = 0; i < 20; ++i) {
      TaskSpec spec = add(x, 1);
      spec.group = &group;
      runtime.submit(spec);
    }
    runtime.wait(group);
    EXPECT_EQ(group.pending(), 0U);
    EXPECT_FALSE(blocked_ran);
    runtime.wait(x);
    EXPECT_EQ(value_of(runtime, x), 21);
    EXPECT_FALSE(blocked_ran);
  }
  runtime.wait();
  EXPECT_TRUE(blocked_ran);
}

TEST_P(Every, AcquisitionsQueueLikeTasks) {
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage);
  runtime.submit(set(x, 1));
  for (int i = 0; i < 10; ++i) {
    runtime.submit(add(x, 1));
    const Acquired acquired = runtime.acquire(x, AccessMode::RW);
    EXPECT_EQ(*acquired.data<std::int64_t>(), 2 * (i + 1));
    for_each_element(acquired.view(), [](std::int64_t& value) { ++value; });
  }
  {
    // Two readers at once, of one thread.
    const Acquired one = runtime.acquire(x, AccessMode::R);
    const Acquired two = runtime.acquire(x, AccessMode::R);
    EXPECT_EQ(one.data<std::int64_t>(), two.data<std::int64_t>());
    runtime.submit(add(x, 1));  // waits for them
  }
  EXPECT_EQ(value_of(runtime, x), 22);
  // Overwritten without being brought in.
  {
    const Acquired acquired = runtime.acquire(x, AccessMode::W);
    for_each_element(acquired.view(), [](std::int64_t& value) { value = 9; });
  }
  runtime.submit(add(x, 1, GetParam().accelerators > 0 ? kAddOnDevice : kAdd));
  EXPECT_EQ(value_of(runtime, x), 10);
}

TEST_P(Every, CancelEndsWhatHasNotStartedAndWaitReturns) {
  std::atomic<int> done{0};
  std::atomic<int> cancelled{0};
  const auto count = [&](Outcome outcome) { ++(outcome == Outcome::done ? done : cancelled); };
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage);
  const Handle kept = runtime.register_empty(kPage);
  runtime.submit(set(kept, 3));
  runtime.submit(set(x, 0));
  runtime.wait();
  const Codelet slow{.name = "slow", .cpu = [](KernelContext&) {
                       std::this_thread::sleep_for(std::chrono::microseconds(200));
                     }};
  for (int i = 0; i < 100; ++i) {
    runtime.submit({.codelet = &slow, .operands = {RW(x)}, .on_end = count});
  }
  runtime.cancel();
  runtime.wait();
  EXPECT_EQ(done + cancelled, 100);
  EXPECT_GE(cancelled, 50);  // 100 tasks of 200 us: not half of them while cancel was called
  EXPECT_EQ(value_of(runtime, kept), 3);
  EXPECT_THROW(value_of(runtime, x), PoisonedError);
  runtime.submit(set(x, 4));
  runtime.wait();
  EXPECT_EQ(value_of(runtime, x), 4);
}

TEST(Runtime, AnotherWaitingThreadTakesOverTheWorkerOfOneThatLeaves) {
  // The only worker is whoever waits. The main thread waits for x, which comes first; the other one
  // waits for all the rest, and must go on with it when the main thread has left.
  for (int round = 0; round < 20; ++round) {
    Runtime runtime(small_options(1));
    const Watchdog watchdog(&runtime, "handover", 20);
    const Handle x = runtime.register_empty(kPage);
    const Handle y = runtime.register_empty(kPage);
    const Codelet slow{.name = "slow", .cpu = [](KernelContext&) {
                         std::this_thread::sleep_for(std::chrono::milliseconds(2));
                       }};
    runtime.submit({.codelet = &slow, .operands = {W(x)}});
    for (int i = 0; i < 5; ++i) runtime.submit({.codelet = &slow, .operands = {W(y)}});
    std::thread other([&] { runtime.wait(y); });
    runtime.wait(x);
    other.join();
  }
}

TEST(Runtime, TwoRuntimesLiveInOneProcess) {
  for (const auto* policy : {"lws", "darts"}) {
    Options options = small_options(2);
    options.policy = policy;
    Runtime one(options);
    Runtime two(options);
    the_runtime = &two;
    const Handle a = one.register_empty(kPage);
    the_handle = two.register_empty(kPage);
    two.submit(set(the_handle, 0));
    // A task of one may submit to the other, and even wait for it.
    const Codelet cross{.name = "cross", .cpu = [](KernelContext&) {
                          the_runtime->submit(add(the_handle, 1));
                          the_runtime->wait();
                        }};
    for (int i = 0; i < 50; ++i)
      one.submit({.codelet = &cross, .operands = {i == 0 ? W(a) : RW(a)}});
    one.wait();
    two.wait();
    EXPECT_EQ(value_of(two, the_handle), 50);
  }
}

TEST_P(Every, TheStallReportNamesTheWaitingTaskAndWhoHoldsWhat) {
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage, "tile(1,2)");
  {
    const Acquired held = runtime.acquire(x, AccessMode::W);
    runtime.submit(
        {.codelet = &kAdd, .operands = {RW(x)}, .parameters = std::int64_t{1}, .name = "gemm(7)"});
    EXPECT_THAT(runtime.stall_report(), AllOf(HasSubstr("gemm(7)"), HasSubstr("tile(1,2)"),
                                              HasSubstr("acquired"), HasSubstr(GetParam().policy)));
  }
  runtime.wait();
}

TEST_P(Every, StatisticsCountWhatHappened) {
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage);
  runtime.submit(set(x, 1));
  for (int i = 0; i < 9; ++i) runtime.submit(add(x, 1));
  runtime.wait();
  const Statistics s = runtime.statistics();
  EXPECT_EQ(s.tasks_submitted, 10U);
  EXPECT_EQ(s.tasks_done, 10U);
  std::uint64_t sum = 0;
  for (const auto& worker : s.workers) sum += worker.tasks;
  EXPECT_EQ(sum, 10U);
  EXPECT_EQ(s.nodes.size(), runtime.machine().nodes.size());
  EXPECT_EQ(s.links.size(), runtime.machine().links.size());
}

TEST(Runtime, ATaskSubmittedInsideALongOneIsRunByAnotherWorker) {
  struct Shared {
    Runtime* runtime = nullptr;
    const Codelet* inner = nullptr;
    std::atomic<bool> ran{false};
    bool in_time = false;
  };
  const Codelet inner{.name = "inner",
                      .cpu = [](KernelContext& k) { k.parameter<Shared*>()->ran.store(true); }};
  const Codelet outer{.name = "outer", .cpu = [](KernelContext& k) {
                        auto* const shared = k.parameter<Shared*>();
                        // Time for the other worker to fall asleep.
                        std::this_thread::sleep_for(std::chrono::milliseconds(20));
                        shared->runtime->submit({.codelet = shared->inner, .parameters = shared});
                        for (int i = 0; i < 1000 && !shared->ran.load(); ++i) {
                          std::this_thread::sleep_for(std::chrono::milliseconds(10));
                        }
                        shared->in_time = shared->ran.load();
                      }};
  Options options;
  options.workers = 2;
  options.submitter_works = false;
  Runtime runtime(options);
  Shared shared{.runtime = &runtime, .inner = &inner};
  runtime.submit({.codelet = &outer, .parameters = &shared});
  runtime.wait();
  EXPECT_TRUE(shared.in_time);
}

}  // namespace
}  // namespace vicinal
