// Submission: from tasks, from several threads, to several runtimes, and how much may be pending.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/every_way.hpp"
#include "support/small_runs.hpp"
#include "support/threads.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

// --- from where -------------------------------------------------------------------------------

Runtime* submitted_to = nullptr;
Handle submitted_handle;
void spawn_kernel(KernelContext& k) {
  const auto depth = k.parameter<int>();
  if (depth == 0) {
    submitted_to->submit(add(submitted_handle, 1));
    return;
  }
  static const Codelet spawn{.name = "spawn", .cpu = spawn_kernel};
  for (int i = 0; i < 3; ++i) submitted_to->submit({.codelet = &spawn, .parameters = depth - 1});
}

TEST_P(Every, TasksMaySubmitTasksAndTheWindowNeverHoldsThemBack) {
  Options o = options();
  o.window_tasks = 2;
  o.window_bytes = kPage;
  Runtime runtime(o);
  const Watched watched(watchdog_, runtime);
  submitted_to = &runtime;
  submitted_handle = runtime.register_empty(kPage);
  runtime.submit(set(submitted_handle, 0));
  const Codelet spawn{.name = "spawn", .cpu = spawn_kernel};
  for (int i = 0; i < 4; ++i) runtime.submit({.codelet = &spawn, .parameters = 3});
  runtime.wait();
  EXPECT_EQ(value_of(runtime, submitted_handle), 4 * 27);
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
  in_threads(4, [&](std::size_t t) {
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
  runtime.unregister(a);
  runtime.unregister(b);
  EXPECT_EQ(shared, Values(2, 800));
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < 200; ++i) expected = 3 * expected + i;
  EXPECT_EQ(own, std::vector<std::uint64_t>(4, expected));
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

TEST(Runtime, TwoRuntimesLiveInOneProcess) {
  for (const auto* policy : {"lws", "darts"}) {
    Options options = small_options(2);
    options.policy = policy;
    Runtime one(options);
    Runtime two(options);
    submitted_to = &two;
    const Handle a = one.register_empty(kPage);
    submitted_handle = two.register_empty(kPage);
    two.submit(set(submitted_handle, 0));
    // A task of one may submit to the other, and even wait for it.
    const Codelet cross{.name = "cross", .cpu = [](KernelContext&) {
                          submitted_to->submit(add(submitted_handle, 1));
                          submitted_to->wait();
                        }};
    for (int i = 0; i < 50; ++i)
      one.submit({.codelet = &cross, .operands = {i == 0 ? W(a) : RW(a)}});
    one.wait();
    two.wait();
    EXPECT_EQ(value_of(two, submitted_handle), 50);
  }
}

// --- how much ---------------------------------------------------------------------------------

std::atomic<std::uint64_t> most_pending{0};
void pending_kernel(KernelContext& /*context*/) {
  const Statistics s = submitted_to->statistics();
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
    submitted_to = &runtime;
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
  submitted_to = &runtime;
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

}  // namespace
}  // namespace vicinal
