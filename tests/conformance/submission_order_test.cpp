// The order of submissions where tasks are deferred for their priorities; waits between threads and between
// runtimes; ends that submit again.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/failure_fixture.hpp"
#include "support/small_runs.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

Options planned(bool submitter_works = false) {
  Options options = small_options(2);
  options.submitter_works = submitter_works;
  options.compute_priorities = true;
  return options;
}

// 3 x + parameter: the result tells the order.
const Codelet kStepInOrder{.name = "step", .cpu = [](KernelContext& k) {
                             auto& x = *k.data<std::uint64_t>(0);
                             x = 3 * x + k.parameter<std::uint64_t>();
                           }};

// --- computed priorities ----------------------------------------------------------------------

TEST_F(Failure, WithComputedPrioritiesAThreadSeesItsTasksInOrderWhileAnotherWaits) {
  for (int round = 0; round < 10; ++round) {
    Runtime runtime(planned(round % 2 == 0));
    const Watched watched(watchdog_, runtime);
    std::uint64_t value = 0;
    std::uint64_t expected = 0;
    const Handle x = runtime.register_buffer(&value, Bytes{8}, "x");
    std::uint64_t i = 0;
    const auto submit_until = [&](std::uint64_t end) {
      for (; i < end; ++i) {
        runtime.submit({.codelet = &kStepInOrder, .operands = {RW(x)}, .parameters = i});
        expected = 3 * expected + i;
      }
    };
    submit_until(10000);
    std::atomic<bool> waits{false};
    std::thread other([&] {
      waits = true;
      runtime.wait();
    });
    while (!waits) std::this_thread::yield();
    submit_until(10100);
    {
      const Acquired acquired = runtime.acquire(x, AccessMode::R);
      EXPECT_EQ(*acquired.data<std::uint64_t>(), expected) << "round " << round;
    }
    submit_until(10200);
    other.join();
    runtime.unregister(x);
    EXPECT_EQ(value, expected) << "round " << round;
  }
}

TEST_F(Failure, WithComputedPrioritiesAWaitNeverMissesATaskPlannedMeanwhile) {
  Runtime runtime(planned());
  const Watched watched(watchdog_, runtime);
  std::atomic<bool> stop{false};
  std::thread waiter([&] {
    while (!stop) runtime.wait();
  });
  std::uint64_t value = 7;
  std::uint64_t expected = 7;
  const Handle x = runtime.register_buffer(&value, Bytes{8}, "x");
  for (std::uint64_t i = 0; i < 5000; ++i) {
    runtime.submit({.codelet = &kStepInOrder, .operands = {RW(x)}, .parameters = i});
    expected = 3 * expected + i;
    if (i % 500 != 499) continue;
    const Acquired acquired = runtime.acquire(x, AccessMode::R);
    EXPECT_EQ(*acquired.data<std::uint64_t>(), expected);
  }
  stop = true;
  waiter.join();
  runtime.unregister(x);
  EXPECT_EQ(value, expected);
}

TEST_F(Failure, WithComputedPrioritiesATaskInsideATaskComesAfterThoseSubmittedBefore) {
  struct Shared {
    Runtime* runtime = nullptr;
    Handle x;
    std::atomic<bool> go{false};
  };
  static const Codelet inside{
      .name = "inside", .cpu = [](KernelContext& k) {
        auto& shared = *k.parameter<Shared*>();
        while (!shared.go) std::this_thread::yield();
        shared.runtime->submit(
            {.codelet = &kStepInOrder, .operands = {RW(shared.x)}, .parameters = std::uint64_t{5}});
      }};
  Runtime runtime(planned());
  const Watched watched(watchdog_, runtime);
  std::uint64_t value = 1;
  Shared shared;
  shared.runtime = &runtime;
  shared.x = runtime.register_buffer(&value, Bytes{8}, "x");
  const Handle y = runtime.register_empty(kPage, "y");
  runtime.submit({.codelet = &inside, .operands = {W(y)}, .parameters = &shared});
  runtime.prefetch(shared.x, kRam);
  runtime.wont_use(shared.x);
  { const Acquired now = runtime.acquire(shared.x, AccessMode::R); }  // `inside` runs from here on
  runtime.submit(
      {.codelet = &kStepInOrder, .operands = {RW(shared.x)}, .parameters = std::uint64_t{100}});
  shared.go = true;
  runtime.wait();
  runtime.unregister(shared.x);
  EXPECT_EQ(value, 3 * (3 * 1 + 100) + 5);
}

TEST_F(Failure, WithComputedPrioritiesWhatIsWrittenAfterAnInvalidationIsWrittenHome) {
  Options options = planned(true);
  options.accelerators = 1;
  Runtime runtime(options);
  const Watched watched(watchdog_, runtime);
  std::vector<std::int64_t> values(512, 1);
  const Handle x = runtime.register_buffer(values.data(), kPage, "x");
  runtime.invalidate(x);
  TaskSpec spec = set(x, 42);
  spec.worker = WorkerId{2};
  runtime.submit(spec);
  runtime.unregister(x);
  EXPECT_EQ(values, std::vector<std::int64_t>(512, 42));
}

// Notes the order in which one worker runs tasks.
std::vector<int> order_of_run;
Codelet noting(Time expected) {
  return {.name = "note",
          .cpu = [](KernelContext& k) { order_of_run.push_back(k.parameter<int>()); },
          .expected = {expected, Time{0}}};
}
Options one_by_priority() {
  Options options = small_options(1);
  options.policy = "prio";
  options.compute_priorities = true;
  return options;
}

TEST_F(Failure, ComputedPrioritiesKeepTheirOrderBeyondAQuarterOfAnHour) {
  order_of_run.clear();
  constexpr std::int64_t kMinute = 60'000'000'000;
  // Without dependencies: 20, 100, 40, 30, 6000 minutes and a millisecond; the longest goes first.
  const std::vector<std::int64_t> times{20 * kMinute, 100 * kMinute,  40 * kMinute,
                                        30 * kMinute, 6000 * kMinute, 1'000'000};
  std::vector<Codelet> codelets;
  for (const std::int64_t time : times) codelets.push_back(noting(Time{time}));
  Runtime runtime(one_by_priority());
  const Watched watched(watchdog_, runtime);
  for (int i = 0; i < 6; ++i) runtime.submit({.codelet = &codelets[i], .parameters = i});
  runtime.wait();
  EXPECT_EQ(order_of_run, (std::vector<int>{4, 1, 2, 3, 0, 5}));
}

TEST_F(Failure, ComputedPrioritiesLookBeyondTheTasksThatAreHandedOverTogether) {
  order_of_run.clear();
  const Codelet note = noting(Time{1'000'000});
  // 65,535 tasks are planned; of those that the next one hands over, the last in the chain is followed by
  // 32,767 others of it, and goes before a task that nothing follows.
  constexpr int kTasks = 1 << 16;
  Runtime runtime(one_by_priority());
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(Bytes{8}, "x");
  runtime.submit({.codelet = &note, .operands = {W(x)}, .parameters = 0});
  for (int i = 1; i < kTasks / 2 - 1; ++i) {
    runtime.submit({.codelet = &note, .operands = {RW(x)}, .parameters = i});
  }
  runtime.submit({.codelet = &note, .parameters = -1});
  for (int i = kTasks / 2 - 1; i < kTasks + 100; ++i) {
    runtime.submit({.codelet = &note, .operands = {RW(x)}, .parameters = i});
  }
  runtime.wait();
  ASSERT_EQ(order_of_run.size(), static_cast<std::size_t>(kTasks) + 101);
  const auto alone = std::ranges::find(order_of_run, -1) - order_of_run.begin();
  EXPECT_GE(alone, kTasks / 2 - 1);  // after all of the chain that was handed over with it
}

// --- waits of several threads -----------------------------------------------------------------

TEST_F(Failure, AWaitDoesNotWaitForWhatIsAcquiredIfNoTaskNeedsIt) {
  for (const bool simulated : {false, true}) {
    MachineDescription machine;
    machine.nodes = {{kRam, "ram", NodeKind::ram, {}}};
    machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam}};
    auto runtime = simulated ? std::make_unique<Runtime>(machine, Options{})
                             : std::make_unique<Runtime>(small_options(2));
    const Watched watched(watchdog_, *runtime);
    const Handle x = runtime->register_empty(kPage, "x");
    const Handle y = runtime->register_empty(kPage, "y");
    {
      const Acquired held = runtime->acquire(x, AccessMode::W);
      runtime->submit(set(y, 2));
      runtime->wait();
      EXPECT_EQ(runtime->statistics().tasks_done, 1U);
    }
    if (simulated) continue;
    std::atomic<bool> holds{false};
    std::atomic<bool> stop{false};
    std::thread other([&] {
      const Acquired held = runtime->acquire(x, AccessMode::R);
      holds = true;
      while (!stop) std::this_thread::yield();
    });
    while (!holds) std::this_thread::yield();
    runtime->submit(add(y, 2));
    runtime->wait();
    EXPECT_EQ(value_of(*runtime, y), 4);
    stop = true;
    other.join();
  }
}

TEST_F(Failure, ComputedPrioritiesTakeATasksOwnFlops) {
  std::vector<std::string> order;
  const Codelet note{.name = "note", .cpu = [](KernelContext& k) {
                       auto& [names, name] =
                           *k.parameter<std::pair<std::vector<std::string>*, const char*>*>();
                       names->emplace_back(name);
                     }};
  std::pair short_one(&order, "short");
  std::pair long_one(&order, "long");
  Options options = planned(true);
  options.workers = 1;
  options.policy = "prio";
  Runtime runtime(options);
  const Watched watched(watchdog_, runtime);
  runtime.submit({.codelet = &note, .parameters = &short_one});
  runtime.submit({.codelet = &note, .parameters = &long_one, .flops = 1e6});
  runtime.wait();
  EXPECT_THAT(order, ::testing::ElementsAre("long", "short"));
}

// --- several runtimes -------------------------------------------------------------------------

struct Two {
  Runtime* own = nullptr;
  Runtime* other = nullptr;
  std::atomic<int> inside{0};
  std::string message;
  std::string other_message;
};
std::string told_to(const Codelet& codelet, Runtime& runtime) {
  Two two;
  two.own = &runtime;
  runtime.submit({.codelet = &codelet, .parameters = &two});
  runtime.wait();
  return two.message;
}

TEST_F(Failure, AKernelThatHasUsedAnotherRuntimeStillMustNotWaitForItsOwn) {
  static const Codelet outer{.name = "outer", .cpu = [](KernelContext& k) {
                               auto& two = *k.parameter<Two*>();
                               Runtime inner(small_options(1));
                               inner.submit({.codelet = &kNothing});
                               inner.wait();
                               two.message = message_of<UsageError>([&] { two.own->wait(); });
                               for (int i = 0; i < 3; ++i) two.own->submit({.codelet = &kNothing});
                             }};
  Options options = small_options(1);
  options.window_tasks = 2;
  Runtime runtime(options);
  const Watched watched(watchdog_, runtime);
  EXPECT_THAT(told_to(outer, runtime), HasSubstr("inside a task"));
  EXPECT_EQ(runtime.statistics().tasks_done, 4U);
}

TEST_F(Failure, AKernelRunByAKernelOfAnotherRuntimeMustNotWaitForTheFirst) {
  static const Codelet inner{.name = "inner", .cpu = [](KernelContext& k) {
                               auto& two = *k.parameter<Two*>();
                               two.message = message_of<UsageError>([&] { two.own->wait(); });
                             }};
  static const Codelet outer{.name = "outer", .cpu = [](KernelContext& k) {
                               auto& two = *k.parameter<Two*>();
                               Runtime runtime(small_options(1));  // this thread is its worker
                               runtime.submit({.codelet = &inner, .parameters = &two});
                               runtime.wait();
                             }};
  Runtime runtime(small_options(1));
  const Watched watched(watchdog_, runtime);
  EXPECT_THAT(told_to(outer, runtime), HasSubstr("inside a task"));
}

TEST_F(Failure, KernelsOfTwoRuntimesThatWaitForEachOtherGetAnError) {
  static const Codelet waits{.name = "waits", .cpu = [](KernelContext& k) {
                               auto& two = *k.parameter<Two*>();
                               const bool first = two.inside.fetch_add(1) == 0;
                               while (two.inside.load() < 2) std::this_thread::yield();
                               Runtime* const whom = first ? two.other : two.own;
                               try {
                                 whom->wait();
                               } catch (const UsageError& error) {
                                 (first ? two.message : two.other_message) = error.what();
                               }
                             }};
  Options options = small_options(1);
  options.submitter_works = false;
  Runtime first(options);
  Runtime second(options);
  const Watched watched(watchdog_, first);
  Two two;
  two.own = &first;
  two.other = &second;
  first.submit({.codelet = &waits, .parameters = &two});
  while (two.inside.load() == 0) std::this_thread::yield();
  second.submit({.codelet = &waits, .parameters = &two});
  first.wait();
  second.wait();
  EXPECT_THAT(two.message + two.other_message, HasSubstr("inside a task of another runtime"));
  EXPECT_TRUE(two.message.empty() || two.other_message.empty());  // one of them could wait
}

// --- ends that submit again -------------------------------------------------------------------

TEST_F(Failure, AnEndThatSubmitsAgainWhileEverythingIsCancelledDoesNotPileUp) {
  constexpr int kEnds = 200'000;
  std::atomic<int> left{kEnds};
  std::function<void(Outcome)> again;
  Runtime runtime(small_options(1));
  const Watched watched(watchdog_, runtime);
  again = [&](Outcome) {
    if (--left > 0) runtime.submit({.codelet = &kNothing, .on_end = again});
  };
  runtime.submit({.codelet = &kNothing, .on_end = again});
  runtime.cancel();
  runtime.wait();
  EXPECT_EQ(left, 0);
  EXPECT_EQ(runtime.statistics().tasks_cancelled, static_cast<std::uint64_t>(kEnds));
}

// The waiting thread has seen it submitted and not ended, and no worker ends anything afterwards.
TEST_F(Failure, AWaitEndsWhenTheLastTaskIsCancelledByTheThreadThatSubmitsIt) {
  for (const bool submitter_works : {false, true}) {
    Options options = small_options(2);
    options.submitter_works = submitter_works;
    Runtime runtime(options);
    const Watched watched(watchdog_, runtime);
    std::thread other;
    runtime.cancel();
    runtime.submit({.codelet = &kNothing, .on_end = [&](Outcome outcome) {
                      EXPECT_EQ(outcome, Outcome::cancelled);
                      other = std::thread([&] { runtime.wait(); });
                      std::this_thread::sleep_for(std::chrono::milliseconds(100));
                    }});
    other.join();
    EXPECT_EQ(runtime.statistics().tasks_cancelled, 1U);
  }
}

}  // namespace
}  // namespace vicinal
