// What lives how long: handles and their unregistration, groups, acquisitions, lists of operands, a process
// that was forked.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/failure_fixture.hpp"
#include "support/sanitized.hpp"
#include "support/small_runs.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

void pause_briefly() {
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}
const Codelet kSlow{.name = "slow", .cpu = [](KernelContext&) { pause_briefly(); }};

Options with_threads(std::uint32_t workers) {
  Options options = small_options(workers);
  options.submitter_works = false;
  return options;
}

// --- unregistration ---------------------------------------------------------------------------

TEST_F(Failure, ATaskSubmittedInsideATaskThatUnregisterWaitsForIsRefusedByName) {
  struct Shared {
    Runtime* runtime = nullptr;
    Handle x;
    std::atomic<bool> started{false};
    std::string message;
  };
  static const Codelet submits{
      .name = "submits", .cpu = [](KernelContext& k) {
        auto& shared = *k.parameter<Shared*>();
        shared.started = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        shared.message = message_of<UsageError>([&] { shared.runtime->submit(add(shared.x, 1)); });
        *k.data<std::int64_t>(0) = 42;
      }};
  Runtime runtime(with_threads(2));
  const Watched watched(watchdog_, runtime);
  auto value = std::make_unique<std::int64_t>(0);
  Shared shared;
  shared.runtime = &runtime;
  shared.x = runtime.register_buffer(value.get(), Bytes{8}, "the_data");
  runtime.submit({.codelet = &submits, .operands = {RW(shared.x)}, .parameters = &shared});
  while (!shared.started) std::this_thread::yield();
  runtime.unregister(shared.x);
  EXPECT_EQ(*value, 42);
  value.reset();  // nobody may use it any more
  runtime.wait();
  EXPECT_THAT(shared.message, HasSubstr("the_data"));
}

TEST_F(Failure, WhatAnotherThreadSubmitsIsRunBeforeUnregisterReturnsOrRefused) {
  static const Codelet increment{.name = "increment",
                                 .cpu = [](KernelContext& k) { ++*k.data<std::int64_t>(0); }};
  Runtime runtime(with_threads(2));
  const Watched watched(watchdog_, runtime);
  for (int round = 0; round < 200; ++round) {
    auto value = std::make_unique<std::int64_t>(0);
    const Handle x = runtime.register_buffer(value.get(), Bytes{8}, "x");
    std::atomic<std::int64_t> accepted{0};
    std::thread submitter([&] {
      try {
        for (;;) {
          runtime.submit({.codelet = &increment, .operands = {RW(x)}});
          ++accepted;
        }
      } catch (const UsageError&) {  // it is being unregistered, or is no longer registered
      }
    });
    while (accepted < 3) std::this_thread::yield();
    runtime.unregister(x);
    const std::int64_t seen = *value;
    submitter.join();
    runtime.wait();
    ASSERT_EQ(seen, accepted) << "round " << round;
    ASSERT_EQ(*value, seen) << "round " << round;
  }
}

TEST_F(Failure, AnUnregisterThatThrowsLeavesTheHandleAsItWas) {
  Runtime runtime(small_options(1));
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage, "x");
  {
    const Acquired held = runtime.acquire(x, AccessMode::W);
    for_each_element(held.view(), [](std::int64_t& element) { element = 5; });
    EXPECT_THAT(message_of<UsageError>([&] { runtime.unregister(x); }), HasSubstr("x"));
  }
  EXPECT_EQ(value_of(runtime, x), 5);
  runtime.submit(add(x, 2));
  EXPECT_EQ(value_of(runtime, x), 7);
  runtime.unregister(x);
  EXPECT_THROW(runtime.submit(add(x, 1)), UsageError);
}

// --- handles ----------------------------------------------------------------------------------

TEST_F(Failure, AStaleHandleIsNeverTakenForTheNextOneInItsPlace) {
  Runtime runtime(small_options(1));
  const Watched watched(watchdog_, runtime);
  std::int64_t first = 1;
  std::int64_t second = 2;
  const Handle stale = runtime.register_buffer(&first, Bytes{8}, "first");
  runtime.unregister(stale);
  const Handle x = runtime.register_buffer(&second, Bytes{8}, "second");
  EXPECT_FALSE(stale == x);
  EXPECT_THROW(runtime.submit(set(stale, 9)), UsageError);
  EXPECT_THROW(runtime.acquire(stale, AccessMode::RW), UsageError);
  EXPECT_THROW(runtime.invalidate(stale), UsageError);
  EXPECT_THROW(runtime.prefetch(stale, kRam), UsageError);
  EXPECT_THROW(runtime.wont_use(stale), UsageError);
  EXPECT_THROW(runtime.wait(stale), UsageError);
  EXPECT_THROW(runtime.unregister(stale), UsageError);
  runtime.submit(add(x, 1));
  runtime.unregister(x);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 3);
}

TEST_F(Failure, AHandleOfARuntimeThatIsGoneIsRefused) {
  Handle left;
  {
    Runtime earlier(small_options(1));
    left = earlier.register_empty(kPage, "left");
  }
  for (int round = 0; round < 20; ++round) {  // some of them lie where the earlier one lay
    Runtime runtime(small_options(1));
    runtime.register_empty(kPage, "own");
    EXPECT_THROW(runtime.submit(set(left, 1)), UsageError);
    EXPECT_THROW(runtime.unregister(left), UsageError);
  }
}

// --- lists of operands ------------------------------------------------------------------------

[[gnu::noinline]] void overwrite_the_stack() {
  volatile char bytes[4096];
  for (auto& byte : bytes) byte = 0x41;
}

TEST_F(Failure, ATaskSpecOwnsTheOperandsItWasGivenAsAList) {
  static const Codelet sum{.name = "sum", .cpu = [](KernelContext& k) {
                             std::int64_t& to = *k.data<std::int64_t>(k.operands() - 1);
                             for (std::size_t i = 0; i + 1 < k.operands(); ++i)
                               to += *k.data<std::int64_t>(i);
                           }};
  Runtime runtime(small_options(1));
  const Watched watched(watchdog_, runtime);
  std::vector<Handle> h;
  for (std::int64_t i = 0; i < 6; ++i) {
    h.push_back(runtime.register_empty(Bytes{8}));
    runtime.submit(set(h.back(), i));
  }
  TaskSpec few{.codelet = &sum, .operands = {R(h[1]), RW(h[0])}};
  TaskSpec many{.codelet = &sum,
                .operands = {R(h[1]), R(h[2]), R(h[3]), R(h[4]), R(h[5]), RW(h[0])}};
  TaskSpec temporary{.codelet = &sum, .operands = std::vector<Operand>{R(h[2]), RW(h[0])}};
  TaskSpec assigned;
  assigned.codelet = &sum;
  assigned.operands = {R(h[3]), RW(h[0])};
  overwrite_the_stack();
  const TaskSpec copied = many;
  runtime.submit(few);        // 1
  runtime.submit(many);       // + 1 + 2 + 3 + 4 + 5
  runtime.submit(temporary);  // + 2
  runtime.submit(assigned);   // + 3
  runtime.submit(copied);     // + 15
  EXPECT_EQ(value_of(runtime, h[0]), 1 + 15 + 2 + 3 + 15);
}

// --- groups, acquisitions ---------------------------------------------------------------------

TEST_F(Failure, AGroupMayGoBeforeItsTasksHaveEnded) {
  Runtime runtime(with_threads(2));
  const Watched watched(watchdog_, runtime);
  const Handle x = runtime.register_empty(kPage, "x");
  const Handle unwritten = runtime.register_empty(kPage, "unwritten");
  runtime.submit(set(x, 1));
  const auto step = [&] {
    const auto group = std::make_unique<Group>();
    for (int i = 0; i < 5; ++i) {
      runtime.submit({.codelet = &kSlow, .operands = {RW(x)}, .group = group.get()});
    }
    runtime.submit({.codelet = &kSlow, .operands = {R(unwritten)}, .group = group.get()});
    runtime.wait(*group);
  };
  EXPECT_THROW(step(), UsageError);
  std::vector<std::unique_ptr<std::uint64_t>> others;  // where the group lay
  for (int i = 0; i < 100; ++i) others.push_back(std::make_unique<std::uint64_t>(7));
  runtime.wait();
  for (const auto& other : others) EXPECT_EQ(*other, 7U);
}

TEST_F(Failure, AnAcquisitionMayOutliveItsRuntimeAndIsWrittenHomeWhenItGoes) {
  for (const bool other_thread : {false, true}) {
    std::vector<std::int64_t> values(512, 1);
    std::unique_ptr<Acquired> held;
    {
      Runtime runtime(out_of_core(4));
      const Handle x = runtime.register_buffer(values.data(), kPage, "x");
      const Handle y = runtime.register_empty(kPage, "y");
      runtime.submit(set(y, 3));
      std::unique_ptr<Acquired> own;
      const auto acquire = [&] {
        held = std::make_unique<Acquired>(runtime.acquire(y, AccessMode::RW));
        own = std::make_unique<Acquired>(runtime.acquire(x, AccessMode::RW));
      };
      if (other_thread) {
        std::thread(acquire).join();
      } else {
        acquire();
      }
      own.reset();
    }
    std::int64_t sum = 0;
    for_each_element(held->view(), [&](std::int64_t& element) { sum += element; });
    EXPECT_EQ(sum, 3 * 512);
    held.reset();
  }
}

TEST_F(Failure, WhatWaitsForAnAcquisitionThatOutlivesTheRuntimeIsCancelled) {
  static std::atomic<int> ran;
  ran = 0;
  static const Codelet count{.name = "count", .cpu = [](KernelContext&) { ++ran; }};
  std::unique_ptr<Acquired> held;
  {
    Runtime runtime(small_options(2));
    const Handle x = runtime.register_empty(kPage, "x");
    runtime.submit(set(x, 3));
    held = std::make_unique<Acquired>(runtime.acquire(x, AccessMode::RW));
    runtime.submit({.codelet = &count, .operands = {RW(x)}});
  }
  held.reset();
  EXPECT_EQ(ran, 0);
}

TEST_F(Failure, WhatWasToBePrefetchedBehindAnAcquisitionThatOutlivesTheRuntimeNeedsNoRuntime) {
  std::unique_ptr<Acquired> held;
  {
    Runtime runtime(out_of_core(4));
    const Handle x = runtime.register_empty(kPage, "x");
    runtime.submit(set(x, 3));
    held = std::make_unique<Acquired>(runtime.acquire(x, AccessMode::RW));
    runtime.prefetch(x, kRam);
    runtime.wont_use(x);
  }
  held.reset();
}

TEST_F(Failure, AnUnregistrationThatIsGivenUpLeavesTheDataAsAFailedWriterLeftThem) {
  static const Codelet fails{.name = "fails",
                             .cpu = [](KernelContext&) { throw std::runtime_error("on purpose"); }};
  static const Codelet nothing{.name = "nothing", .cpu = [](KernelContext&) {}};
  Runtime runtime(small_options(2));
  const Handle a = runtime.register_empty(kPage, "a");
  const Handle x = runtime.register_empty(kPage, "x");
  runtime.submit(set(x, 1));
  runtime.submit({.codelet = &fails, .operands = {W(a)}});
  EXPECT_THROW(runtime.wait(), Error);
  auto held = std::make_unique<Acquired>(runtime.acquire(x, AccessMode::RW));
  runtime.submit({.codelet = &nothing, .operands = {RW(x), R(a)}});
  EXPECT_THROW(runtime.unregister(a, WriteBack::no), UsageError);  // it would wait for this thread
  held.reset();
  EXPECT_THROW(runtime.wait(), Error);
  EXPECT_THROW(value_of(runtime, a), PoisonedError);
}

// --- fork -------------------------------------------------------------------------------------

// The child says what happened through its exit status: 3, if it was refused as it should be.
int child_waits(const Options& options, Watchdog& watchdog) {
  Runtime runtime(options);
  const Watched watched(watchdog, runtime);
  const Handle x = runtime.register_empty(kPage, "x");
  runtime.submit(set(x, 1));
  runtime.wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    int status = 1;
    try {
      runtime.submit(add(x, 1));
      runtime.wait();
    } catch (const UsageError& error) {
      status = std::strstr(error.what(), "fork") != nullptr ? 3 : 2;
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(value_of(runtime, x), 1);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(Failure, AWaitInAForkedChildThrowsAndSaysWhatToDo) {
#if TEST_THREAD_SANITIZER
  GTEST_SKIP() << "the thread sanitizer does not follow a fork of several threads";
#endif
  EXPECT_EQ(child_waits(with_threads(2), watchdog_), 3);
  EXPECT_EQ(child_waits(small_options(2), watchdog_), 3);
}

TEST_F(Failure, ARuntimeMayBeDestroyedInAForkedChild) {
#if TEST_THREAD_SANITIZER
  GTEST_SKIP() << "the thread sanitizer does not follow a fork of several threads";
#endif
  Options watched = with_threads(2);
  watched.stall_seconds = 100;  // its thread sleeps at the fork
  auto runtime = std::make_unique<Runtime>(watched);
  const Handle x = runtime->register_empty(kPage, "x");
  runtime->submit(set(x, 1));
  runtime->wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    runtime.reset();
    _exit(3);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

// --- threads that the system does not give ------------------------------------------------------

// 64 MiB more than there are now: the stacks of some threads.
void limit_addresses() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (64U << 20);
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

TEST_F(Failure, ThreadsThatCannotBeStartedEndInAnErrorThatNamesTheOption) {
#if TEST_THREAD_SANITIZER || TEST_ADDRESS_SANITIZER
  GTEST_SKIP() << "sanitizers need more addresses than the limit leaves";
#endif
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    limit_addresses();
    int status = 1;
    for (int round = 0; round < 3; ++round) {
      try {
        Options options = with_threads(200);
        options.stall_seconds = 60;
        const Runtime runtime(options);
      } catch (const CapacityError& error) {
        status = std::strstr(error.what(), "workers") != nullptr ? 3 : 2;
      }
    }
    _exit(status);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

}  // namespace
}  // namespace vicinal
