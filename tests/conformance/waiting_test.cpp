// Waiting: for a group, a handle, an acquisition or all; what ends it, and what a stall report says.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/every_way.hpp"
#include "support/small_runs.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

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

}  // namespace
}  // namespace vicinal
