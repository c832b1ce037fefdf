// A task that throws, or is cancelled, poisons what it would have written; whoever waits is told.
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
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

TEST_P(ThrowingKernel, AnErrorNobodyWaitedForDoesNotDisturbTheEnd) {
  Runtime runtime(options());
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
