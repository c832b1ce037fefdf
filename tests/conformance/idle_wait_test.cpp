// A thread that waits while nothing happens looks for work some times, then sleeps; what it waits for wakes it.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "comm/local/local_world.hpp"
#include "comm/progress_thread.hpp"
#include "runtime/runtime_impl.hpp"
#include "support/queue_policy.hpp"
#include "support/small_runs.hpp"
#include "support/watchdog.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using runtime::MachineSetup;
using runtime::RuntimeImpl;

// A look asks the policy seven times: at once, five times ever later, and when the worker counts as asleep.
constexpr std::uint64_t kFewLooks = 7 * 5;

class CountingPolicy final : public sched::QueuePolicy {
 public:
  explicit CountingPolicy(std::atomic<std::uint64_t>& asked) : asked_(asked) {}
  graph::Task* pop(WorkerId worker) override {
    asked_.fetch_add(1);
    return QueuePolicy::pop(worker);
  }

 private:
  std::atomic<std::uint64_t>& asked_;
};

Options few_tasks(std::uint32_t workers) {
  Options options = small_options();
  options.workers = workers;
  options.submitter_works = true;
  options.window_tasks = 2;
  return options;
}

void yield_until(const std::atomic<bool>& flag) {
  while (!flag.load()) std::this_thread::yield();
}

// While others would look thousands of times: how often it is asked, from the first time on. A slow machine makes it fewer.
std::uint64_t asked_while_nothing_happens(const std::atomic<std::uint64_t>& asked) {
  while (asked.load() == 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return asked.load();
}

// What the kernels of a test share.
struct State {
  std::atomic<std::uint64_t> asked{0};
  std::atomic<std::uint64_t> asked_meanwhile{0};
  std::atomic<bool> has_begun{false};
  std::atomic<bool> goes_on{false};
};
State* state = nullptr;

const Codelet kBeginsToRun{.name = "begins", .cpu = [](KernelContext&) {
                             state->has_begun = true;
                             yield_until(state->goes_on);
                             state->asked_meanwhile = asked_while_nothing_happens(state->asked);
                           }};
class IdleWait : public ::testing::Test {
 protected:
  IdleWait() { state = &state_; }

  State state_;
};

// The other worker's kernel is long.
struct LongKernel {
  explicit LongKernel(State& its_state)
      : impl(few_tasks(2), MachineSetup(few_tasks(2)), nullptr,
             std::make_unique<CountingPolicy>(its_state.asked)),
        x(impl.add({8, 1, 8, 1}, {}, false, "x")) {
    impl.submit({.codelet = &kBeginsToRun, .operands = {W(x)}});
    yield_until(its_state.has_begun);
    impl.submit({.codelet = &kNothing, .operands = {RW(x)}});
    its_state.asked = 0;
    its_state.goes_on = true;
  }
  RuntimeImpl impl;
  Handle x;
};

TEST_F(IdleWait, AFullWindowIsWaitedForAsleep) {
  LongKernel run(state_);
  run.impl.submit({.codelet = &kNothing, .operands = {RW(run.x)}});
  run.impl.wait();
  EXPECT_LE(state_.asked_meanwhile, kFewLooks);
}

TEST_F(IdleWait, TheEndOfAllTasksIsWaitedForAsleep) {
  LongKernel run(state_);
  run.impl.wait();
  EXPECT_LE(state_.asked_meanwhile, kFewLooks);
}

TEST_F(IdleWait, AHandleIsWaitedForAsleep) {
  LongKernel run(state_);
  run.impl.wait(run.x);
  EXPECT_LE(state_.asked_meanwhile, kFewLooks);
}

// Between the tasks of a chain the worker never lacks work.
TEST_F(IdleWait, RoomInTheWindowIsSeenWhenATaskHasEndedAndNotWhenAllHave) {
  const Watchdog watchdog("a full window");
  RuntimeImpl impl(few_tasks(2), MachineSetup(few_tasks(2)), nullptr,
                   std::make_unique<CountingPolicy>(state_.asked));
  const Handle x = impl.add({8, 1, 8, 1}, {}, false, "x");
  impl.submit({.codelet = &kBeginsToRun, .operands = {W(x)}});
  yield_until(state_.has_begun);
  // The first two end only if this thread submits the third as soon as the first has ended.
  static std::atomic<bool> is_submitted;
  is_submitted = false;
  static const Codelet waits_for_submission{
      .name = "waits", .cpu = [](KernelContext&) { yield_until(is_submitted); }};
  impl.submit({.codelet = &waits_for_submission, .operands = {RW(x)}});
  state_.asked = 0;
  state_.goes_on = true;
  impl.submit({.codelet = &kNothing, .operands = {RW(x)}});
  is_submitted = true;
  impl.wait();
  EXPECT_EQ(impl.statistics().tasks_done, 3U);
}

// Rank 1 has nothing but what it is to receive, and more to submit.
TEST_F(IdleWait, AnotherRankIsWaitedForAsleep) {
  comm::LocalWorld world(2);
  const auto program = [&](std::uint32_t rank) {
    std::atomic<std::uint64_t> not_counted;
    RuntimeImpl impl(
        few_tasks(1), MachineSetup(few_tasks(1)), nullptr,
        std::make_unique<CountingPolicy>(rank == 1 ? state_.asked : not_counted),
        std::make_shared<comm::ProgressThread>([&] { return world.transport({rank}); }));
    const auto add = [&](RankId owner, const char* name) {
      const Layout layout{8, 1, 8, 1};
      return impl.add_owned(owner, layout, name, false, [&](std::string its_name) {
        return impl.add(layout, {}, false, std::move(its_name));
      });
    };
    const Handle x = add({0}, "x");
    const Handle y = add({1}, "y");
    impl.submit({.codelet = &kBeginsToRun, .operands = {W(x)}});
    impl.submit({.codelet = &kNothing, .operands = {R(x), W(y)}});
    if (rank == 1) {
      state_.asked = 0;
      state_.goes_on = true;
    }
    impl.submit({.codelet = &kNothing, .operands = {RW(y)}});
    impl.wait();
    EXPECT_EQ(impl.statistics().tasks_failed, 0U);
  };
  std::thread other(program, 1);
  program(0);
  other.join();
  EXPECT_GT(state_.asked_meanwhile, 0U);
  EXPECT_LE(state_.asked_meanwhile, kFewLooks);
}

}  // namespace
}  // namespace vicinal
