// A task's parameters, place, predecessors and counts.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

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
  constexpr int kLast = 1000;
  Values x(kLast + 1);
  std::vector<Handle> handles;
  for (int i = 0; i <= kLast; ++i) {
    x[i] = i + 1;
    handles.push_back(runtime.register_buffer(&x[i], Bytes{8}));
  }
  for (const std::size_t count : {1U, 3U, 4U, 5U, 16U, 17U, 39U, 254U, 255U, 256U, 1000U}) {
    std::vector<Operand> operands;
    std::int64_t expected = 0;
    for (std::size_t i = 0; i < count; ++i) {
      operands.push_back(R(handles[i]));
      expected = 10 * expected % 1'000'003 + x[i];
    }
    operands.push_back(R(handles[0]));  // named twice
    expected = 10 * expected % 1'000'003 + x[0];
    operands.push_back(W(handles[kLast]));
    runtime.submit({.codelet = &kSum, .operands = operands});
    runtime.wait();
    EXPECT_EQ(x[kLast], expected) << count;
  }
  // Read and written by the same task, under two numbers: RW.
  runtime.submit({.codelet = &kSum, .operands = {R(handles[5]), R(handles[6]), W(handles[5])}});
  runtime.wait();
  EXPECT_EQ(x[5], 67);  // 6 and 7
  const std::vector<Operand> too_many(kMostOperands + 1, R(handles[0]));
  EXPECT_THAT(
      message_of<UsageError>([&] { runtime.submit({.codelet = &kNothing, .operands = too_many}); }),
      AllOf(HasSubstr("8193"), HasSubstr("8192")));
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

}  // namespace
}  // namespace vicinal
