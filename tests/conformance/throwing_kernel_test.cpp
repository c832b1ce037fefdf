// A task that throws, or is cancelled, poisons what it would have written; whoever waits is told.
#include <atomic>
#include <cstdint>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/failure_fixture.hpp"
#include "support/small_runs.hpp"
#include "support/watchdog.hpp"
#include "vicinal/recursion.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

void throw_kernel(KernelContext& /*context*/) {
  throw std::runtime_error("pivot 3 is zero");
}
void throw_number_kernel(KernelContext& /*context*/) {
  throw 42;  // NOLINT(hicpp-exception-baseclass): that is the point
}
const Codelet kThrow{.name = "throws", .cpu = throw_kernel};
const Codelet kThrowOnDevice{.name = "throws_on_device",
                             .kernels = {{ProcessorKind::emulated, throw_kernel}}};
const Codelet kThrowNumber{.name = "throws_number", .cpu = throw_number_kernel};

class ThrowingKernel : public ::testing::TestWithParam<std::tuple<std::uint32_t, bool>> {
 protected:
  Options options() const {
    Options options = small_options(std::get<0>(GetParam()));
    options.submitter_works = std::get<1>(GetParam());
    return options;
  }
  Watchdog watchdog_{"a kernel that throws", 60};
};

TEST_P(ThrowingKernel, EndsTheRunWithItsErrorAndPoisonsWhatItWouldHaveWritten) {
  Runtime runtime(options());
  std::vector<std::int64_t> kept_values(512, 11);
  const Handle kept = runtime.register_buffer(kept_values.data(), kPage, "kept");
  const Handle lost = runtime.register_empty(kPage, "lost");
  const Handle after = runtime.register_empty(kPage, "after");
  runtime.submit(add(kept, 1));
  runtime.wait();
  std::atomic<int> outcomes[3] = {};
  const auto count = [&](Outcome outcome) { ++outcomes[static_cast<int>(outcome)]; };
  runtime.submit(
      {.codelet = &kThrow, .operands = {R(kept), W(lost)}, .on_end = count, .name = "trsm(4,3)"});
  for (int i = 0; i < 20; ++i) {
    runtime.submit({.codelet = &kNext, .operands = {R(lost), W(after)}, .on_end = count});
  }
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(); }),
              AllOf(HasSubstr("trsm(4,3)"), HasSubstr("pivot 3 is zero")));
  EXPECT_EQ(outcomes[static_cast<int>(Outcome::failed)], 1);
  EXPECT_EQ(outcomes[static_cast<int>(Outcome::cancelled)], 20);
  runtime.wait();  // the second returns
  EXPECT_EQ(value_of(runtime, kept), 12);
  EXPECT_THAT(message_of<PoisonedError>([&] { value_of(runtime, lost); }), HasSubstr("lost"));
  EXPECT_THAT(message_of<PoisonedError>([&] { runtime.wait(after); }), HasSubstr("after"));
  // A task that reads it is cancelled, and says why.
  runtime.submit({.codelet = &kNext, .operands = {R(lost), W(after)}});
  EXPECT_THAT(message_of<PoisonedError>([&] { runtime.wait(); }),
              AllOf(HasSubstr("next"), HasSubstr("lost")));
  // Written anew, it is as good as any.
  runtime.submit(set(lost, 3));
  runtime.submit({.codelet = &kNext, .operands = {R(lost), W(after)}});
  runtime.wait();
  EXPECT_EQ(value_of(runtime, after), 4);
  const Statistics s = runtime.statistics();
  EXPECT_EQ(s.tasks_failed, 1U);
  EXPECT_EQ(s.tasks_cancelled, 21U);
  EXPECT_EQ(s.tasks_submitted, s.tasks_done + s.tasks_failed + s.tasks_cancelled);
}

TEST_P(ThrowingKernel, WhatIsNoStdExceptionIsReportedToo) {
  Runtime runtime(options());
  runtime.submit({.codelet = &kThrowNumber});
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(); }), HasSubstr("throws_number"));
}

// --- what it threw is kept

struct Singular : std::runtime_error {
  explicit Singular(int at) : std::runtime_error("singular"), column(at) {}
  int column;
};
void throw_nested_kernel(KernelContext& /*context*/) {
  try {
    throw std::out_of_range("index 7");
  } catch (...) {
    std::throw_with_nested(Singular(3));
  }
}
const Codelet kThrowNested{.name = "factor", .cpu = throw_nested_kernel};
void set_kernel_of_zeroes(KernelContext& k) {
  for_each_element(k.operand(0), [](std::int64_t& x) { x = 0; });
}

// Throws what the error nests as Singular, of which it looks at the members and at what that nests itself.
void expect_singular(const std::exception& error) {
  try {
    std::rethrow_if_nested(error);
    FAIL() << error.what() << " nests nothing";
  } catch (const Singular& singular) {
    EXPECT_EQ(singular.column, 3);
    EXPECT_THROW(std::rethrow_if_nested(singular), std::out_of_range);
  }
}
template <typename Kind, typename Call>
void expect_nests_singular(const Call& call) {
  try {
    call();
    FAIL() << "nothing was thrown";
  } catch (const Kind& error) {
    EXPECT_THAT(error.what(), HasSubstr("singular"));
    expect_singular(error);
  }
}

TEST_P(ThrowingKernel, WhatTheKernelThrewIsNestedInEveryErrorThatTellsOfIt) {
  Runtime runtime(options());
  const Handle lost = runtime.register_empty(kPage, "lost");
  const Handle after = runtime.register_empty(kPage, "after");
  const auto fail_once = [&] {
    runtime.submit({.codelet = &kThrowNested, .operands = {W(lost)}});
    runtime.submit({.codelet = &kNext, .operands = {R(lost), W(after)}});
  };
  fail_once();
  expect_nests_singular<TaskError>([&] { runtime.wait(); });
  for (const Handle handle : {lost, after}) {
    expect_nests_singular<PoisonedError>([&] { value_of(runtime, handle); });
    expect_nests_singular<PoisonedError>([&] { runtime.wait(handle); });
  }
  runtime.submit({.codelet = &kNext, .operands = {R(lost), W(after)}});
  expect_nests_singular<PoisonedError>([&] { runtime.wait(); });
  Group group;
  runtime.submit({.codelet = &kThrowNested, .group = &group});
  expect_nests_singular<TaskError>([&] { runtime.wait(group); });
  // Written anew and lost for another reason, it is that which is told.
  runtime.submit(set(lost, 1));
  runtime.submit({.codelet = &kThrow, .operands = {RW(lost)}});
  EXPECT_THROW(runtime.wait(), TaskError);
  EXPECT_THAT(message_of<PoisonedError>([&] { value_of(runtime, lost); }),
              HasSubstr("pivot 3 is zero"));
  // Cancelled by the application: by no error.
  runtime.submit(set(lost, 1));
  runtime.wait();
  runtime.cancel();
  runtime.submit(set(lost, 2));
  runtime.wait();
  EXPECT_THAT(message_of<PoisonedError>([&] { value_of(runtime, lost); }),
              Not(HasSubstr("pivot 3 is zero")));
}

TEST_P(ThrowingKernel, ATypedResultThrowsWhatItsFunctionThrew) {
  Runtime runtime(options());
  const Result<int> first = runtime.task("first", []() -> int { throw Singular(5); });
  const Result<int> second = runtime.task(
      "second", [](std::span<const int> from) { return from[0]; }, in(first.data()));
  for (const Result<int>& result : {first, second}) {
    try {
      result.get();
      FAIL() << "nothing was thrown";
    } catch (const PoisonedError& error) {
      EXPECT_THAT(error.what(), HasSubstr("task first failed: singular"));
      try {
        std::rethrow_if_nested(error);
        FAIL() << "nothing is nested";
      } catch (const Singular& singular) {
        EXPECT_EQ(singular.column, 5);
      }
    }
  }
  EXPECT_THROW(runtime.wait(), TaskError);
}

TEST_P(ThrowingKernel, ACombinationThatThrowsNamesTheDataAndNestsWhatItThrew) {
  const Codelet zero{.name = "zero", .cpu = set_kernel_of_zeroes};
  const Codelet fails{.name = "sums", .cpu = throw_nested_kernel};
  Runtime runtime(options());
  const Handle total = runtime.register_empty(kPage, "total");
  runtime.submit(set(total, 1));
  runtime.set_reduction(total, {.neutral = &zero, .combine = &fails});
  for (int i = 0; i < 4; ++i) {
    runtime.submit({.codelet = &kAdd, .operands = {Reduce(total)}, .parameters = std::int64_t{1}});
  }
  runtime.combine(total);
  try {
    runtime.wait();
    FAIL() << "nothing was thrown";
  } catch (const TaskError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("sums"), HasSubstr("total")));
    expect_singular(error);
  }
  expect_nests_singular<PoisonedError>([&] { value_of(runtime, total); });
}

TEST_P(ThrowingKernel, ARecursiveTaskNestsWhatItsFunctionOrATaskInsideThrew) {
  const Codelet by_function{.name = "divides", .recursive = [](Recursion&) { throw Singular(3); }};
  const Codelet by_task{.name = "divides", .recursive = [](Recursion& r) {
                          r.submit({.codelet = &kThrowNested, .operands = {RW(r.whole(0))}});
                        }};
  for (const Codelet* codelet : {&by_function, &by_task}) {
    Runtime runtime(options());
    const Handle x = runtime.register_empty(kPage, "x");
    runtime.submit(set(x, 1));
    runtime.submit({.codelet = codelet, .operands = {RW(x)}});
    try {
      runtime.wait();
      FAIL() << "nothing was thrown";
    } catch (const TaskError& error) {
      EXPECT_THROW(std::rethrow_if_nested(error), Singular);
    }
    try {
      value_of(runtime, x);
      FAIL() << "nothing was thrown";
    } catch (const PoisonedError& error) {
      EXPECT_THROW(std::rethrow_if_nested(error), Singular);
    }
  }
}

TEST_P(ThrowingKernel, TheFirstOfManyErrorsIsThrownAndTheRuntimeGoesOn) {
  Runtime runtime(options());
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 30; ++i) {
      runtime.submit(
          {.codelet = i % 7 == 3 ? &kThrow : &kNothing, .name = "t" + std::to_string(i)});
    }
    EXPECT_THROW(runtime.wait(), TaskError);
    runtime.submit({.codelet = &kNothing});
    runtime.wait();
  }
}

TEST_P(ThrowingKernel, WaitsForAGroupOrAHandleThrowItsError) {
  Runtime runtime(options());
  const Handle lost = runtime.register_empty(kPage, "lost");
  Group group;
  runtime.submit({.codelet = &kThrow, .operands = {W(lost)}, .group = &group, .name = "first"});
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(group); }), HasSubstr("first"));
  EXPECT_EQ(group.pending(), 0U);
  runtime.submit({.codelet = &kThrow, .operands = {W(lost)}, .name = "second"});
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(lost); }), HasSubstr("second"));
  EXPECT_THAT(message_of<PoisonedError>([&] { runtime.wait(lost); }), HasSubstr("lost"));
  runtime.wait();
}

TEST_P(ThrowingKernel, AGroupWhoseTasksReadPoisonedDataThrows) {
  Runtime runtime(options());
  const Handle lost = runtime.register_empty(kPage, "lost");
  runtime.submit({.codelet = &kThrow, .operands = {W(lost)}});
  EXPECT_THROW(runtime.wait(), TaskError);
  Group group;
  runtime.submit({.codelet = &kNothing, .operands = {R(lost)}, .group = &group, .name = "reader"});
  EXPECT_THAT(message_of<PoisonedError>([&] { runtime.wait(group); }),
              AllOf(HasSubstr("reader"), HasSubstr("lost")));
}

TEST_P(ThrowingKernel, UnregisterOfPoisonedDataThrowsAfterForgettingThem) {
  Runtime runtime(options());
  std::vector<std::int64_t> values(512, 1);
  const Handle a = runtime.register_buffer(values.data(), kPage, "a");
  runtime.submit({.codelet = &kThrow, .operands = {RW(a)}});
  EXPECT_THROW(runtime.wait(), TaskError);
  EXPECT_THAT(message_of<PoisonedError>([&] { runtime.unregister(a); }), HasSubstr("a"));
  const Handle again = runtime.register_buffer(values.data(), kPage, "again");
  runtime.submit(set(again, 4));
  runtime.wait();
  EXPECT_EQ(value_of(runtime, again), 4);
}

// By default it ends the program: see process_end_test.cpp.
TEST_P(ThrowingKernel, AnErrorNobodyWaitedForDoesNotDisturbTheEnd) {
  Options warned = options();
  warned.undelivered_errors = "warn";
  Runtime runtime(warned);
  const Handle a = runtime.register_empty(kPage, "a");
  for (int i = 0; i < 10; ++i) runtime.submit({.codelet = &kThrow, .operands = {W(a)}});
}

TEST_P(ThrowingKernel, AnOnEndThatThrowsIsReported) {
  Runtime runtime(options());
  runtime.submit({.codelet = &kNothing,
                  .on_end = [](Outcome) { throw std::runtime_error("the callback failed"); },
                  .name = "t"});
  EXPECT_THAT(message_of<TaskError>([&] { runtime.wait(); }),
              AllOf(HasSubstr("t"), HasSubstr("the callback failed")));
  runtime.wait();
}

INSTANTIATE_TEST_SUITE_P(Workers, ThrowingKernel,
                         ::testing::Combine(::testing::Values(1U, 3U), ::testing::Bool()));

TEST_F(Failure, AKernelThatThrowsOnADeviceOutOfCorePoisonsAndLeavesTheRest) {
  Options options = out_of_core(3);
  options.accelerators = 2;
  options.accelerator_memory = kPage * 2;
  Runtime runtime(options);
  const Watched watched(watchdog_, runtime);
  const std::vector<Handle> tiles = empty_tiles(runtime, 12);
  for (int i = 0; i < 12; ++i) runtime.submit(set(tiles[i], i, i % 2 == 0 ? kSetOnDevice : kSet));
  runtime.wait();
  runtime.submit({.codelet = &kThrowOnDevice, .operands = {RW(tiles[4])}});
  EXPECT_THROW(runtime.wait(), TaskError);
  for (int i = 0; i < 12; ++i) {
    if (i == 4) continue;
    EXPECT_EQ(value_of(runtime, tiles[i]), i);
  }
  EXPECT_THROW(value_of(runtime, tiles[4]), PoisonedError);
}

TEST_F(Failure, CancelledTasksPoisonWhatTheyWouldHaveWritten) {
  Runtime runtime(small_options(1));
  const Handle a = runtime.register_empty(kPage, "a");
  runtime.submit(set(a, 1));
  runtime.wait();
  const Handle gate = runtime.register_empty(kPage, "gate");
  {
    const Acquired held = runtime.acquire(gate, AccessMode::W);
    for (int i = 0; i < 5; ++i) {
      runtime.submit({.codelet = &kNothing, .operands = {R(gate), RW(a)}});
    }
    runtime.cancel();
  }
  runtime.wait();
  EXPECT_EQ(runtime.statistics().tasks_cancelled, 5U);
  EXPECT_THROW(value_of(runtime, a), PoisonedError);
  runtime.submit(set(a, 2));
  runtime.wait();
  EXPECT_EQ(value_of(runtime, a), 2);
}

}  // namespace
}  // namespace vicinal
