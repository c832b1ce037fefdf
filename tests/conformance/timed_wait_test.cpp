// Waits that end after some time, and questions that do not wait.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/every_way.hpp"
#include "support/machines.hpp"
#include "support/small_runs.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using namespace std::chrono_literals;

TEST_P(Every, ATimedWaitRunsTasksAndSaysThatAllHaveEnded) {
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage);
  const Handle y = runtime.register_empty(kPage);
  Group group;
  runtime.submit(set(x, 1));
  runtime.submit(set(y, 1));
  for (int i = 0; i < 20; ++i) {
    TaskSpec spec = add(x, 1);
    spec.group = &group;
    runtime.submit(spec);
    runtime.submit(add(y, 1));
  }
  EXPECT_TRUE(runtime.wait_for(group, 1h));
  EXPECT_TRUE(group.ready());
  EXPECT_TRUE(runtime.ready(group));
  EXPECT_TRUE(runtime.wait_for(y, 1h));
  EXPECT_TRUE(runtime.ready(y));
  EXPECT_TRUE(runtime.wait_for(1h));
  EXPECT_TRUE(runtime.wait_for(-1s));  // all has ended
  EXPECT_EQ(value_of(runtime, x), 21);
  EXPECT_EQ(value_of(runtime, y), 21);
}

TEST_P(Every, ATimedWaitEndsWithoutWhatItWaitsFor) {
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle gate = runtime.register_empty(kPage);
  const Handle x = runtime.register_empty(kPage);
  Group group;
  runtime.submit(set(x, 5));
  {
    const Acquired held = runtime.acquire(gate, AccessMode::W);
    for_each_element(held.view(), [](std::int64_t& value) { value = 1; });
    TaskSpec behind = add(gate, 1);
    behind.group = &group;
    runtime.submit(behind);
    for (const auto duration : {-1h, 0h}) {
      EXPECT_FALSE(runtime.wait_for(duration));
      EXPECT_FALSE(runtime.wait_for(group, duration));
      EXPECT_FALSE(runtime.wait_for(gate, duration));
    }
    EXPECT_FALSE(runtime.wait_for(1ms));
    EXPECT_FALSE(runtime.wait_for(group, 1ms));
    EXPECT_FALSE(runtime.wait_for(gate, 1.5ms));
    EXPECT_FALSE(
        runtime.wait_for(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())));
    EXPECT_FALSE(runtime.ready(gate));
    EXPECT_FALSE(runtime.ready(group));
    EXPECT_TRUE(runtime.wait_for(x, std::chrono::hours::max()));
  }
  EXPECT_TRUE(runtime.wait_for(std::chrono::hours::max()));
  EXPECT_EQ(value_of(runtime, gate), 2);
  EXPECT_EQ(value_of(runtime, x), 5);
}

TEST_P(Every, ATimedWaitThrowsWhatAWaitWould) {
  const Codelet fails{.name = "fails", .cpu = [](KernelContext&) { throw Error("no"); }};
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage);
  runtime.submit({.codelet = &fails, .operands = {W(x)}});
  EXPECT_THROW(runtime.wait_for(1h), TaskError);
  EXPECT_TRUE(runtime.wait_for(1h));
  EXPECT_TRUE(runtime.ready(x));  // a read would throw at once
  EXPECT_THROW(runtime.wait_for(x, 0s), PoisonedError);
  Group group;
  runtime.submit({.codelet = &fails, .operands = {W(x)}, .group = &group});
  EXPECT_THROW(runtime.wait_for(group, 1h), TaskError);
  runtime.submit({.codelet = &fails, .operands = {W(x)}});
  EXPECT_THROW(runtime.wait_for(x, 1h), TaskError);
  EXPECT_TRUE(runtime.wait_for(0s));
}

TEST_P(Every, ResultsAndDataAreAskedWithoutAWait) {
  std::atomic<bool> open{false};
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle gate = runtime.register_empty(Bytes{8}, "gate");
  const Data<std::int64_t> typed(gate);
  Result<int> result = [&] {
    const Acquired held = runtime.acquire(gate, AccessMode::W);
    *held.data<std::int64_t>() = 7;
    const Result<int> later = runtime.task(
        "later", [](std::span<const std::int64_t> value) { return static_cast<int>(value[0]); },
        in(typed));
    EXPECT_FALSE(later.ready());
    EXPECT_FALSE(later.wait_for(1ms));
    EXPECT_FALSE(runtime.ready(later.data()));
    return later;
  }();
  EXPECT_TRUE(result.wait_for(1h));
  EXPECT_TRUE(result.ready());
  EXPECT_TRUE(runtime.ready(result.data()));
  EXPECT_TRUE(runtime.wait_for(result.data(), 0s));
  EXPECT_EQ(result.get(), 7);
  // Also inside a task, and by threads that poll.
  EXPECT_TRUE(runtime.task("asks", [result] { return result.ready(); }).get());
  const Result<int> slow = runtime.task("slow", [] {
    std::this_thread::sleep_for(2ms);
    return 1;
  });
  std::vector<std::thread> askers;
  for (int i = 0; i < 2; ++i) {
    askers.emplace_back([&] {
      while (!slow.ready() && !open) std::this_thread::yield();
    });
  }
  while (!slow.wait_for(100us)) continue;
  open = true;
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(slow.get(), 1);
}

TEST_P(Every, AHandleIsReadyWhenItsPartsAre) {
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  std::vector<std::int64_t> values(64, 1);
  const auto x = runtime.data(values, "x");
  const Handle gate = runtime.register_empty(kPage);
  const auto parts = runtime.partition(x, row_blocks(2));
  {
    const Acquired held = runtime.acquire(gate, AccessMode::W);
    for_each_element(held.view(), [](std::int64_t& value) { value = 1; });
    runtime.task(
        "part",
        [](std::span<const std::int64_t> by, std::span<std::int64_t> to) { to[0] += by[0]; },
        in(Data<std::int64_t>(gate)), inout(parts[0]));
    EXPECT_FALSE(runtime.ready(x));
    EXPECT_TRUE(runtime.ready(parts[1]));
  }
  EXPECT_TRUE(runtime.wait_for(x, 1h));
  EXPECT_TRUE(runtime.ready(x));
  EXPECT_EQ(runtime.read(x)[0], 2);
  {
    const Acquired held = runtime.acquire(gate, AccessMode::W);
    for_each_element(held.view(), [](std::int64_t& value) { value = 2; });
    runtime.task(
        "whole",
        [](std::span<const std::int64_t> by, std::span<std::int64_t> to) { to[63] += by[0]; },
        in(Data<std::int64_t>(gate)), inout(x));
    EXPECT_FALSE(runtime.ready(x));
    EXPECT_FALSE(runtime.ready(parts[1]));
  }
  EXPECT_TRUE(runtime.wait_for(parts[1], 1h));
  EXPECT_EQ(runtime.read(parts[1])[31], 3);
}

TEST(TimedWaits, ManyThreadsWaitAndLeave) {
  // The only worker is whoever waits, and most waits end before the tasks do.
  Runtime runtime(small_options(1));
  const Watchdog watchdog(&runtime, "many timed waits", 20);
  const Handle x = runtime.register_empty(kPage);
  const Codelet slow{.name = "slow", .cpu = [](KernelContext&) {
                       std::this_thread::sleep_for(std::chrono::microseconds(300));
                     }};
  std::atomic<int> ended{0};
  for (int i = 0; i < 40; ++i) {
    runtime.submit({.codelet = &slow, .operands = {W(x)}, .on_end = [&](Outcome) { ++ended; }});
  }
  std::vector<std::thread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&, i] {
      while (!(i == 0 ? runtime.wait_for(x, 100us) : runtime.wait_for(100us * i))) continue;
    });
  }
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(ended, 40);
}

TEST(TimedWaits, InsideATaskAreRefused) {
  Runtime runtime(small_options());
  const Watchdog watchdog(&runtime, "inside", 20);
  const Result<bool> asks = runtime.task("asks", [&runtime] {
    return message_of<UsageError>([&] { runtime.wait_for(1s); }).find("inside a task") !=
           std::string::npos;
  });
  EXPECT_TRUE(asks.get());
}

TEST(TimedWaits, OfASimulationPassSimulatedTime) {
  const Codelet two_ms{.name = "two_ms", .expected = {Time{2'000'000}}};
  const MachineDescription machine =
      around_ram({{kRam, "ram", NodeKind::ram, {}}}, {{WorkerId{0}, ProcessorKind::cpu, kRam}}, {});
  Options options;
  options.policy = "eager";
  Runtime runtime(machine, options);
  const Handle x = runtime.register_empty(kPage);
  Group group;
  for (int i = 0; i < 2; ++i) {
    runtime.submit({.codelet = &two_ms, .operands = {W(x)}, .group = i == 0 ? &group : nullptr});
    if (i == 0) {
      EXPECT_FALSE(runtime.ready(x));
    }
  }
  const auto now = [&] { return runtime.statistics().now.ns; };
  EXPECT_FALSE(runtime.wait_for(0s));
  EXPECT_EQ(now(), 0);
  EXPECT_FALSE(runtime.wait_for(group, 1ms));
  EXPECT_EQ(now(), 1'000'000);
  EXPECT_TRUE(runtime.wait_for(group, 1ms));  // ends in that nanosecond
  EXPECT_EQ(now(), 2'000'000);
  EXPECT_FALSE(runtime.wait_for(x, 1'999'999ns));
  EXPECT_TRUE(runtime.wait_for(x, 1h));
  EXPECT_EQ(now(), 4'000'000);
  EXPECT_TRUE(runtime.wait_for(1h));
  EXPECT_EQ(now(), 4'000'000);
  // What is acquired keeps a task from running: time passes all the same, up to what a run may last.
  {
    const Acquired held = runtime.acquire(x, AccessMode::R);
    runtime.submit({.codelet = &two_ms, .operands = {RW(x)}});
    EXPECT_FALSE(runtime.wait_for(1s));
    EXPECT_EQ(now(), 1'004'000'000);
    EXPECT_FALSE(runtime.wait_for(std::chrono::hours::max()));
    EXPECT_EQ(now(), 1'004'000'000);
  }
  EXPECT_TRUE(runtime.wait_for(1s));
  EXPECT_EQ(now(), 1'006'000'000);
}

}  // namespace
}  // namespace vicinal
