// With computed priorities tasks are deferred: what is refused is refused at the call all the same, and what
// was accepted ends exactly once, whatever other threads unregister or invalidate meanwhile.
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/failure_fixture.hpp"
#include "support/small_runs.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

class DeferredTasks : public Failure {
 protected:
  static Options options() {
    Options options = small_options();
    options.compute_priorities = true;
    return options;
  }
  // Counts what was accepted and what has ended.
  void submit(TaskSpec spec) {
    spec.on_end = [this](Outcome outcome) {
      ++ended_;
      if (outcome == Outcome::done) ++done_;
    };
    runtime_.submit(spec);
    ++accepted_;
  }
  void expect_all_ended() {
    runtime_.wait();
    EXPECT_EQ(ended_, accepted_);
    const Statistics s = runtime_.statistics();
    EXPECT_EQ(s.tasks_done + s.tasks_failed + s.tasks_cancelled, s.tasks_submitted);
  }

  Runtime runtime_{options()};
  const Watched watched_{watchdog_, runtime_};
  const Handle x_ = runtime_.register_empty(kPage, "x");
  std::atomic<int> accepted_{0};
  std::atomic<int> ended_{0};
  std::atomic<int> done_{0};
};

TEST_F(DeferredTasks, ATaskThatReadsWhatNobodyWroteIsRefusedAtOnce) {
  EXPECT_THAT(message_of<UsageError>([&] { submit(add(x_, 1)); }), HasSubstr("never written"));
  submit(set(x_, 3));
  submit(add(x_, 1));
  expect_all_ended();
  EXPECT_EQ(done_, 2);
  EXPECT_EQ(value_of(runtime_, x_), 4);
}

TEST_F(DeferredTasks, ATaskThatReadsWhatARefusedOneWouldHaveWrittenIsRefusedToo) {
  const Handle never = runtime_.register_empty(kPage, "never");
  const std::vector<Operand> operands{R(never), W(x_)};
  TaskSpec spec{.codelet = &kNext};
  spec.operands = operands;
  EXPECT_THROW(submit(spec), UsageError);
  EXPECT_THAT(message_of<UsageError>([&] { submit(add(x_, 1)); }), HasSubstr("never written"));
  expect_all_ended();
  EXPECT_EQ(accepted_, 0);
}

TEST_F(DeferredTasks, ATaskThatReadsWhatIsInvalidatedIsRefusedAtOnceAndThoseBeforeAreNot) {
  submit(set(x_, 1));
  submit(add(x_, 1));
  runtime_.invalidate(x_);
  EXPECT_THAT(message_of<UsageError>([&] { submit(add(x_, 1)); }), HasSubstr("invalidated"));
  submit(set(x_, 5));
  expect_all_ended();
  EXPECT_EQ(done_, 3);
  EXPECT_EQ(value_of(runtime_, x_), 5);
}

TEST_F(DeferredTasks, ATaskAfterAnIdThatNeverWasIsRefusedAtOnce) {
  const std::vector<TaskId> after{TaskId{(std::uint64_t{9} << 32) | 0xfffffffU}};
  TaskSpec spec = set(x_, 1);
  spec.after = after;
  EXPECT_THROW(submit(spec), UsageError);
  expect_all_ended();
  EXPECT_EQ(accepted_, 0);
}

TEST_F(DeferredTasks, WhatWasAcceptedBeforeAnotherThreadUnregistersEndsBefore) {
  for (int round = 0; round < 100; ++round) {
    std::vector<std::int64_t> value(512, 0);
    const int before = accepted_;
    const Handle x = runtime_.register_buffer(value.data(), kPage, "x");
    std::atomic<bool> goes{false};
    std::thread other([&] {
      try {
        for (int i = 0;; ++i) {
          submit(add(x, 1));
          goes = i > 20;
        }
      } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("unregister"));
      }
    });
    while (!goes) std::this_thread::yield();
    runtime_.unregister(x);
    other.join();
    EXPECT_EQ(value[0], accepted_ - before) << "round " << round;
  }
  expect_all_ended();
  EXPECT_EQ(done_, accepted_);
}

// Reads that were accepted have a content to read, on whichever side of the invalidation the threads meet.
TEST_F(DeferredTasks, WhatWasAcceptedBeforeAnotherThreadInvalidatesRunsBefore) {
  const Handle x = runtime_.register_empty(kPage, "x");
  for (int round = 0; round < 300; ++round) {
    submit(set(x, 0));
    std::atomic<bool> goes{false};
    std::thread other([&] {
      try {
        for (int i = 0; i < 2000; ++i) {
          submit(add(x, 1));
          goes = i > 20;
        }
      } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("invalidated"));
      }
      goes = true;
    });
    while (!goes) std::this_thread::yield();
    runtime_.invalidate(x);
    other.join();
  }
  expect_all_ended();
  EXPECT_EQ(done_, accepted_);
}

// The kernel's task and those deferred name the same data: whoever is accepted has its place in the order.
TEST_F(DeferredTasks, AKernelThatReadsWhileItsFirstWriterIsDeferredReadsAfterItOrIsRefused) {
  struct Shared {
    std::function<void(const TaskSpec&)> submit;
    Handle x;
    std::atomic<bool> go{false};
    std::atomic<int> wrong{0};
  };
  static const Codelet looks{.name = "looks", .cpu = [](KernelContext& k) {
                               auto& shared = *k.parameter<Shared*>();
                               if (*k.data<std::int64_t>(0) != 7) ++shared.wrong;
                             }};
  static const Codelet inside{
      .name = "inside", .cpu = [](KernelContext& k) {
        auto& shared = *k.parameter<Shared*>();
        shared.go = true;
        for (bool refused = true; refused;) {
          try {
            shared.submit({.codelet = &looks, .operands = {R(shared.x)}, .parameters = &shared});
            refused = false;
          } catch (const UsageError&) {
          }
        }
      }};
  for (int round = 0; round < 300; ++round) {
    Shared shared;
    shared.submit = [this](const TaskSpec& spec) { submit(spec); };
    shared.x = runtime_.register_empty(kPage, "x");
    const Handle y = runtime_.register_empty(kPage, "y");
    submit({.codelet = &inside, .parameters = &shared});
    { const Acquired now = runtime_.acquire(y, AccessMode::W); }  // `inside` runs from here on
    while (!shared.go) std::this_thread::yield();
    submit(set(shared.x, 7));
    expect_all_ended();
    EXPECT_EQ(shared.wrong, 0);
    runtime_.unregister(shared.x);
    runtime_.unregister(y);
  }
}

}  // namespace
}  // namespace vicinal
