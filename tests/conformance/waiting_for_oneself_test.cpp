// A thread that waits for data which the thread itself holds gets an error that names the data.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/failure_fixture.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

class WaitingForOneself : public ::testing::TestWithParam<std::tuple<std::uint32_t, bool, bool>> {
 protected:
  Options options() const {
    Options options = small_options(std::get<0>(GetParam()));
    options.submitter_works = std::get<1>(GetParam());
    if (std::get<2>(GetParam())) {
      options.memory = kPage * 3;
      options.disk = folder_.path();
    }
    return options;
  }
  TemporaryFolder folder_{"oneself"};
  Watchdog watchdog_{"a wait for oneself", 60};
};

TEST_P(WaitingForOneself, ThrowsAndNamesWhatIsHeld) {
  Runtime runtime(options());
  const Handle a = runtime.register_empty(kPage, "a");
  const Handle b = runtime.register_empty(kPage, "b");
  Group group;
  {
    const Acquired held = runtime.acquire(a, AccessMode::W);
    for_each_element(held.view(), [](std::int64_t& x) { x = 6; });
    runtime.submit({.codelet = &kNext, .operands = {R(a), W(b)}, .group = &group});
    EXPECT_THAT(message_of<UsageError>([&] { runtime.wait(); }), HasSubstr("a"));
    EXPECT_THAT(message_of<UsageError>([&] { runtime.wait(group); }), HasSubstr("a"));
    EXPECT_THAT(message_of<UsageError>([&] { runtime.wait(b); }), HasSubstr("a"));
    EXPECT_THAT(message_of<UsageError>([&] { runtime.acquire(b, AccessMode::R); }), HasSubstr("a"));
    EXPECT_THAT(message_of<UsageError>([&] { runtime.acquire(a, AccessMode::R); }), HasSubstr("a"));
    EXPECT_THAT(runtime.stall_report(),
                AllOf(HasSubstr("next"), HasSubstr("acquired"), HasSubstr("a")));
  }
  runtime.wait();
  EXPECT_EQ(value_of(runtime, b), 7);
  EXPECT_EQ(value_of(runtime, a), 6);
}

TEST_P(WaitingForOneself, DoesNotThrowWhileAnotherThreadHoldsSomethingToo) {
  Runtime runtime(options());
  const Handle a = runtime.register_empty(kPage, "a");
  const Handle b = runtime.register_empty(kPage, "b");
  const Acquired held = runtime.acquire(a, AccessMode::W);
  auto other = std::make_unique<Acquired>(runtime.acquire(b, AccessMode::W));
  std::thread releaser;
  {
    // The main thread's own hold of b passes to another thread, which holds c and lets go of b late.
    const Handle c = runtime.register_empty(kPage, "c");
    std::atomic<bool> has_c{false};
    releaser = std::thread([&] {
      const Acquired mine = runtime.acquire(c, AccessMode::W);
      has_c = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(150));
      other.reset();
    });
    while (!has_c) std::this_thread::yield();
    runtime.submit(set(b, 4));
    runtime.wait(b);  // b is held when this begins
    releaser.join();
  }
  EXPECT_EQ(value_of(runtime, b), 4);
}

INSTANTIATE_TEST_SUITE_P(Workers, WaitingForOneself,
                         ::testing::Combine(::testing::Values(1U, 3U), ::testing::Bool(),
                                            ::testing::Bool()));

TEST_F(Failure, AnAcquisitionThatNeedsTheRoomOfWhatThisThreadHoldsThrowsAndNamesIt) {
  Runtime runtime(out_of_core(2));
  watchdog_.set(&runtime);
  const Handle a = runtime.register_empty(kPage, "first");
  const Handle b = runtime.register_empty(kPage, "second");
  const Handle c = runtime.register_empty(kPage, "third");
  {
    const Acquired one = runtime.acquire(a, AccessMode::W);
    const Acquired two = runtime.acquire(b, AccessMode::W);
    EXPECT_THAT(message_of<UsageError>([&] { runtime.acquire(c, AccessMode::W); }),
                AllOf(HasSubstr("first"), HasSubstr("second"), Not(HasSubstr("third"))));
    runtime.submit(set(c, 3));
    EXPECT_THAT(message_of<UsageError>([&] { runtime.wait(); }),
                AllOf(HasSubstr("first"), HasSubstr("second")));
  }
  runtime.wait();
  EXPECT_EQ(value_of(runtime, c), 3);
  watchdog_.set(nullptr);
}

TEST_F(Failure, ASubmissionHeldBackByTheWindowForWhatThisThreadHoldsThrows) {
  Options options = small_options();
  options.window_tasks = 2;
  Runtime runtime(options);
  watchdog_.set(&runtime);
  const Handle a = runtime.register_empty(kPage, "a");
  {
    const Acquired held = runtime.acquire(a, AccessMode::W);
    EXPECT_THAT(message_of<UsageError>([&] {
                  for (int i = 0; i < 3; ++i) runtime.submit(set(a, i));
                }),
                AllOf(HasSubstr("a"), HasSubstr("window")));
  }
  runtime.wait();
  watchdog_.set(nullptr);
}

TEST_F(Failure, SimulatedWaitsForOneselfThrowToo) {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}};
  machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam}};
  Runtime runtime(machine, Options{});
  const Handle a = runtime.register_empty(kPage, "a");
  const Codelet codelet{.name = "task", .expected = {Time{1000}, Time{0}}};
  {
    const Acquired held = runtime.acquire(a, AccessMode::W);
    runtime.submit({.codelet = &codelet, .operands = {RW(a)}});
    EXPECT_THAT(message_of<UsageError>([&] { runtime.wait(); }), HasSubstr("a"));
  }
  runtime.wait();
}

}  // namespace
}  // namespace vicinal
