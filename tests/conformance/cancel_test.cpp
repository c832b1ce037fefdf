// Groups that are cancelled, and tasks that ask whether they are.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/policy.hpp"
#include "support/every_way.hpp"
#include "support/machines.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/tested.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

const Codelet kSimulated{.name = "simulated", .expected = {Time{10'000}, Time{5'000}}};

// How many tasks ended how.
struct Ends {
  std::array<std::atomic<int>, 3> by_outcome{};
  int of(Outcome outcome) const { return by_outcome.at(static_cast<std::size_t>(outcome)); }
  auto counter() {
    return [this](Outcome outcome) { ++by_outcome.at(static_cast<std::size_t>(outcome)); };
  }
};

TEST_P(Every, CancelOfAGroupLeavesOthersAlone) {
  Ends inside;
  Ends outside;
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle gate = runtime.register_empty(kPage);
  const Handle x = runtime.register_empty(kPage);
  const Handle y = runtime.register_empty(kPage);
  Group group;
  Group other;
  runtime.submit(set(x, 1));
  runtime.submit(set(y, 1));
  {
    const Acquired held = runtime.acquire(gate, AccessMode::W);
    for_each_element(held.view(), [](std::int64_t& value) { value = 1; });
    for (int i = 0; i < 20; ++i) {
      runtime.submit({.codelet = &kNothing,
                      .operands = {R(gate), RW(x)},
                      .group = &group,
                      .on_end = inside.counter()});
      TaskSpec spec = add(y, 1);
      spec.group = i % 2 == 0 ? &other : nullptr;
      spec.on_end = outside.counter();
      runtime.submit(spec);
    }
    runtime.cancel(group);
    TaskSpec late = add(x, 1);
    late.group = &group;
    late.on_end = inside.counter();
    runtime.submit(late);
  }
  runtime.wait(group);
  EXPECT_EQ(inside.of(Outcome::cancelled), 21);
  runtime.wait();  // nobody outside of the group has read what it should have written
  EXPECT_EQ(outside.of(Outcome::done), 20);
  EXPECT_EQ(value_of(runtime, y), 21);
  EXPECT_THROW(value_of(runtime, x), PoisonedError);
  // The group has been waited for: its tasks run again.
  TaskSpec anew = set(x, 4);
  anew.group = &group;
  runtime.submit(anew);
  runtime.wait(group);
  EXPECT_EQ(value_of(runtime, x), 4);
}

TEST_P(Every, AWaitForAllEndsTheCancellationOfAGroup) {
  Ends ends;
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage);
  Group group;
  for (int round = 0; round < 3; ++round) {
    runtime.cancel(group);  // also of a group without tasks
    TaskSpec spec = set(x, 1);
    spec.group = &group;
    spec.on_end = ends.counter();
    runtime.submit(spec);
    EXPECT_TRUE(runtime.wait_for(std::chrono::hours(1)));
    EXPECT_EQ(ends.of(Outcome::cancelled), round + 1);
    runtime.submit(spec);
    runtime.wait();
    EXPECT_EQ(ends.of(Outcome::done), round + 1);
  }
}

TEST_P(Every, WhoReadsWhatACancelledGroupShouldHaveWrittenIsCancelled) {
  Ends ends;
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage, "x");
  const Handle y = runtime.register_empty(kPage);
  const Handle z = runtime.register_empty(kPage);
  Group group;
  runtime.cancel(group);
  TaskSpec spec = set(x, 1);
  spec.group = &group;
  runtime.submit(spec);
  runtime.submit({.codelet = &kNext, .operands = {R(x), W(y)}, .on_end = ends.counter()});
  runtime.submit(set(z, 3));
  EXPECT_THAT(message_of<PoisonedError>([&] { runtime.wait(); }), HasSubstr("reads handle x"));
  EXPECT_EQ(ends.of(Outcome::cancelled), 1);
  EXPECT_EQ(value_of(runtime, z), 3);
}

TEST_P(Every, AKernelThatAsksStopsWhenItsGroupIsCancelled) {
  std::atomic<bool> runs{false};
  std::atomic<bool> other_asked{false};
  auto polls = [&](KernelContext& k) {
    runs = true;
    // A thread of the kernel's own may ask, too.
    const StopToken token = k.stop_token();
    EXPECT_TRUE(token.stop_possible());
    std::thread own([&] {
      while (!token.stop_requested()) std::this_thread::yield();
      other_asked = true;
    });
    while (!k.cancelled()) std::this_thread::yield();
    own.join();
    throw Cancelled();
  };
  const Codelet codelet{.name = "polls", .cpu = Kernel::bind(polls)};
  for (const bool of_group : {true, false}) {
    Ends ends;
    Runtime runtime(options());
    const Watched watched(watchdog_, runtime);
    runs = other_asked = false;
    const Handle x = runtime.register_empty(kPage);
    const Handle y = runtime.register_empty(kPage);
    runtime.submit(set(y, 2));
    runtime.wait(y);
    Group group;
    runtime.submit(
        {.codelet = &codelet, .operands = {W(x)}, .group = &group, .on_end = ends.counter()});
    std::thread canceller([&] {
      while (!runs) std::this_thread::yield();
      if (of_group) {
        runtime.cancel(group);
      } else {
        runtime.cancel();
      }
    });
    runtime.wait(group);
    canceller.join();
    EXPECT_EQ(ends.of(Outcome::cancelled), 1);
    EXPECT_TRUE(other_asked);
    EXPECT_THROW(value_of(runtime, x), PoisonedError);
    EXPECT_EQ(value_of(runtime, y), 2);
    runtime.wait();
    EXPECT_EQ(runtime.statistics().tasks_cancelled, 1U);
    EXPECT_EQ(runtime.statistics().tasks_failed, 0U);
  }
}

TEST_P(Every, ATypedTaskIsGivenItsOwnStopToken) {
  std::atomic<bool> runs{false};
  Runtime runtime(options());
  const Watched watched(watchdog_, runtime);
  const auto x = runtime.data<int>(4, "x");
  Group group;
  const auto search = [&runs](int from, StopToken stop, std::span<int> found, double by) {
    EXPECT_EQ(from + by, 3.5);
    runs = true;
    while (!stop.stop_requested()) std::this_thread::yield();
    found[0] = from;
    throw Cancelled();
  };
  runtime.task("search", search, 1, StopToken(), out(x), 2.5, into(group));
  std::thread canceller([&] {
    while (!runs) std::this_thread::yield();
    runtime.cancel(group);
  });
  runtime.wait(group);
  canceller.join();
  EXPECT_THROW(runtime.wait(x.handle()), PoisonedError);
  // One that is not cancelled, with a result, in a task that takes its arguments as a template does.
  const auto asks = [](const auto& stop, auto values) {
    values[0] = 8;
    return stop.stop_possible() && !stop.stop_requested();
  };
  EXPECT_TRUE(runtime.task("asks", asks, StopToken(), out(x)).get());
  EXPECT_EQ(runtime.read(x)[0], 8);
}

TEST(Cancelled, IsAFailureWhereNobodyHasCancelled) {
  Runtime runtime(small_options());
  const Watchdog watchdog(&runtime, "cancelled", 20);
  runtime.task("gives_up", [] { throw Cancelled(); });
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(); }),
              HasSubstr("task gives_up failed: it stopped as if it had been cancelled"));
  EXPECT_FALSE(StopToken().stop_requested());
  EXPECT_FALSE(StopToken().stop_possible());
}

TEST(Cancelled, GroupsOfTwoRuntimesAreCancelledApart) {
  Runtime one(small_options());
  Runtime two(small_options());
  const Watchdog watchdog(&one, "two runtimes", 20);
  Group group;
  Group of_two;
  one.cancel(group);
  two.cancel(of_two);
  const Handle x = one.register_empty(kPage);
  const Handle y = two.register_empty(kPage);
  Ends ends;
  TaskSpec in_one = set(x, 1);
  in_one.group = &group;
  in_one.on_end = ends.counter();
  one.submit(in_one);
  TaskSpec in_two = set(y, 1);
  in_two.group = &group;
  in_two.on_end = ends.counter();
  two.submit(in_two);
  two.wait(y);
  one.wait();
  EXPECT_EQ(ends.of(Outcome::cancelled), 1);
  EXPECT_EQ(ends.of(Outcome::done), 1);
}

// Chains in two groups and in none, some of whose data must leave memory; one group is cancelled while they run.
void cancel_one_of_two_groups(Runtime& runtime, bool simulated) {
  constexpr int kChains = 6;
  constexpr int kLength = 8;
  Group kept;
  Group cancelled;
  Ends inside;
  Ends outside;
  std::vector<Handle> handles;
  const Codelet& first = simulated ? kSimulated : kSet;
  const Codelet& next = simulated ? kSimulated : kAdd;
  for (int i = 0; i < 3 * kChains; ++i) handles.push_back(runtime.register_empty(kPage));
  for (int t = 0; t < kLength; ++t) {
    for (int i = 0; i < 3 * kChains; ++i) {
      const Handle x = handles[static_cast<std::size_t>(i)];
      TaskSpec spec = t == 0 ? set(x, 1, first) : add(x, 1, next);
      const std::array<Group*, 3> groups{&kept, &cancelled, nullptr};
      spec.group = groups.at(static_cast<std::size_t>(i % 3));
      spec.on_end = i % 3 == 1 ? std::function<void(Outcome)>(inside.counter())
                               : std::function<void(Outcome)>(outside.counter());
      runtime.submit(spec);
    }
    if (t == 2 && simulated) {
      EXPECT_FALSE(runtime.wait_for(cancelled, std::chrono::seconds(-1)));
    }
    if (t == 4) runtime.cancel(cancelled);
  }
  runtime.wait(kept);
  EXPECT_TRUE(runtime.wait_for(std::chrono::hours(1)));
  EXPECT_EQ(outside.of(Outcome::done), 2 * kChains * kLength);
  EXPECT_GE(inside.of(Outcome::cancelled), 3 * kChains);  // those submitted after the call
  EXPECT_EQ(inside.of(Outcome::done) + inside.of(Outcome::cancelled), kChains * kLength);
  for (std::size_t i = 0; i < handles.size(); ++i) {
    EXPECT_TRUE(runtime.ready(handles[i]));
    if (simulated) continue;
    if (i % 3 == 1) {
      EXPECT_THROW(value_of(runtime, handles[i]), PoisonedError);
    } else {
      EXPECT_EQ(value_of(runtime, handles[i]), kLength);
    }
  }
}

TEST(Cancelled, AGroupUnderEveryPolicy) {
  for (const sched::PolicyEntry& entry : tested_policies()) {
    const std::string policy(entry.name);
    SCOPED_TRACE(policy);
    const TemporaryFolder folder("cancel");
    for (const bool computed : {false, true}) {
      Options options = small_options(2);
      use_accelerators(options, 1, kPage * 4);
      options.policy = policy;
      options.memory = kPage * 6;
      options.disk = folder.path();
      options.compute_priorities = computed;
      Runtime runtime(options);
      const Watchdog watchdog(&runtime, policy, 20);
      cancel_one_of_two_groups(runtime, false);
    }
    const MachineDescription machine = around_ram(
        {{kRam, "ram", NodeKind::ram, {}}, {NodeId{1}, "device0", NodeKind::device, kPage * 4}},
        {{WorkerId{0}, ProcessorKind::cpu, kRam},
         {WorkerId{1}, ProcessorKind::emulated, NodeId{1}}});
    Options options;
    options.policy = policy;
    Runtime runtime(machine, options);
    cancel_one_of_two_groups(runtime, true);
  }
}

TEST(Cancelled, GroupsInASimulationToo) {
  const MachineDescription machine =
      around_ram({{kRam, "ram", NodeKind::ram, {}}}, {{WorkerId{0}, ProcessorKind::cpu, kRam}});
  const Codelet second{.name = "second", .expected = {Time{1'000'000'000}}};
  Runtime runtime(machine, Options{});
  Group group;
  for (int i = 0; i < 5; ++i) runtime.submit({.codelet = &second, .group = &group});
  for (int i = 0; i < 3; ++i) runtime.submit({.codelet = &second});
  EXPECT_FALSE(runtime.wait_for(group, std::chrono::milliseconds(500)));  // one has begun
  runtime.cancel(group);
  runtime.wait();
  const Statistics s = runtime.statistics();
  EXPECT_EQ(s.tasks_done + s.tasks_cancelled, 8U);
  EXPECT_GE(s.tasks_cancelled, 4U);  // the one that had begun is perhaps of the group
  EXPECT_EQ(s.now.ns, static_cast<std::int64_t>(s.tasks_done) * 1'000'000'000);
}

TEST(Cancelled, GroupsWhileOthersSubmitAndWait) {
  // Each thread has a group of its own, and cancels it again and again; all tasks end, and those of no group run.
  Runtime runtime(small_options(3));
  const Watchdog watchdog(&runtime, "many groups", 20);
  Ends inside;
  Ends outside;
  constexpr int kThreads = 3;
  constexpr int kRounds = 30;
  constexpr int kTasks = 5;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const Handle x = runtime.register_empty(kPage);
      const Handle y = runtime.register_empty(kPage);
      Group group;
      runtime.submit(set(y, 0));
      for (int round = 0; round < kRounds; ++round) {
        for (int i = 0; i < kTasks; ++i) {
          TaskSpec spec = i == 0 ? set(x, 1) : add(x, 1);
          spec.group = &group;
          spec.on_end = inside.counter();
          runtime.submit(spec);
          TaskSpec other = add(y, 1);
          other.on_end = outside.counter();
          runtime.submit(other);
          if (i == 2) runtime.cancel(group);
        }
        while (!runtime.wait_for(group, std::chrono::microseconds(50))) continue;
      }
      EXPECT_EQ(value_of(runtime, y), kRounds * kTasks);
      runtime.unregister(y);
    });
  }
  for (std::thread& thread : threads) thread.join();
  runtime.wait();
  EXPECT_EQ(outside.of(Outcome::done), kThreads * kRounds * kTasks);
  EXPECT_EQ(inside.of(Outcome::done) + inside.of(Outcome::cancelled), kThreads * kRounds * kTasks);
  EXPECT_GE(inside.of(Outcome::cancelled),
            kThreads * kRounds * 2);  // those submitted after the call
}

}  // namespace
}  // namespace vicinal
