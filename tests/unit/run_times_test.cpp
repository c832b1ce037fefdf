// The way of a task's run time from the worker, or from the driver that has measured it, to the policy.
#include "engine/run_times.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/lifecycle.hpp"
#include "graph/handle.hpp"
#include "machine/performance_model.hpp"
#include "support/queue_policy.hpp"

namespace vicinal::engine {
namespace {

using machine::PerformanceModel;

// A clock that stands unless the test moves it, and counts the looks at it.
struct FakeClock {
  std::int64_t ns = 0;
  int looks = 0;
  std::function<Time()> now = [this] {
    ++looks;
    return Time{ns};
  };
};

struct TimedTask {
  explicit TimedTask(const Codelet& codelet, std::uint64_t bytes) {
    handle.layout = {.column_bytes = bytes, .columns = 1, .stride_bytes = bytes};
    task.codelet = &codelet;
    task.inline_accesses[0] = graph::Access(handle, AccessMode::RW, 0, false);
    task.access_count = 1;
  }
  graph::Handle handle;
  graph::Task task;
};

class RunTimes : public ::testing::Test {
 protected:
  PerformanceModel model;
  FakeClock clock;
  const Codelet codelet{.name = "f"};
};

TEST_F(RunTimes, TimesEachRunAtFirstAndOneInSixteenWhenTheyAreEven) {
  RunTimer timer(model, ProcessorKind::cpu);
  TimedTask timed(codelet, 64);
  const auto run = [&](std::int64_t ns, bool failed = false) {
    timer.begin(timed.task, clock.now);
    clock.ns += ns;
    if (!failed) timer.end(clock.now);
  };
  const auto known = [&] { return model.runs("f", ProcessorKind::cpu, footprint_of(timed.task)); };
  run(500);
  EXPECT_EQ(known(), 1U);  // the first is handed on at once
  run(9'000, true);        // a failed one says nothing
  for (int i = 0; i < 14; ++i) run(500);
  EXPECT_EQ(known(), 15U);  // handed on by 1, 2, 4 and 8
  EXPECT_EQ(model.predict("f", ProcessorKind::cpu, footprint_of(timed.task)), Time{500});
  clock.looks = 0;
  for (int i = 0; i < 160; ++i) run(500);
  EXPECT_EQ(clock.looks, 20);  // ten runs, begin and end
  timer.flush();
  EXPECT_EQ(known(), 25U);
}

TEST_F(RunTimes, KeepsFootprintsApartAlsoWhereTheyMeetInASlot) {
  RunTimer timer(model, ProcessorKind::emulated);
  std::deque<TimedTask> tasks;
  for (std::uint64_t i = 1; i <= 300; ++i) tasks.emplace_back(codelet, i * 64);
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      timer.begin(tasks[i].task, clock.now);
      clock.ns += static_cast<std::int64_t>(i + 1) * 1000;
      timer.end(clock.now);
    }
  }
  timer.flush();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto footprint = footprint_of(tasks[i].task);
    EXPECT_EQ(model.runs("f", ProcessorKind::emulated, footprint), 3U);
    EXPECT_EQ(model.predict("f", ProcessorKind::emulated, footprint),
              Time{static_cast<std::int64_t>(i + 1) * 1000});
  }
}

TEST_F(RunTimes, KeepsWhatADriverHasMeasuredWithTheTaskThatEndedNotWithTheLastThatBegan) {
  RunTimer timer(model, ProcessorKind::gpu);
  TimedTask small(codelet, 64);
  TimedTask large(codelet, 4096);
  timer.begin(small.task, clock.now);
  timer.begin(large.task, clock.now);  // queued behind it
  timer.note(small.task, Time{100});
  timer.note(large.task, Time{9000});
  const auto predicted = [&](const TimedTask& timed) {
    return model.predict("f", ProcessorKind::gpu, footprint_of(timed.task));
  };
  EXPECT_EQ(predicted(small), Time{100});
  EXPECT_EQ(predicted(large), Time{9000});
}

// A policy that asks how long each task it is given will take.
class AskingPolicy final : public sched::QueuePolicy {
 public:
  AskingPolicy(bool asks, std::vector<std::int64_t>& answers) : asks_(asks), answers_(answers) {}
  sched::PolicyTraits traits() const override { return {.wants_run_times = asks_}; }
  void start(sched::PolicyContext& context) override { context_ = &context; }
  void push(graph::Task& task, WorkerId releasing) override {
    answers_.push_back(context_->run_time(task, WorkerId{0}).ns);
    QueuePolicy::push(task, releasing);
  }

 private:
  const bool asks_;
  std::vector<std::int64_t>& answers_;
  sched::PolicyContext* context_ = nullptr;
};

// One worker on RAM whose tasks take as long as the clock is told.
class FakeDriver final : public Driver {
 public:
  // `measured`: what it says of each run.
  FakeDriver(FakeClock& clock, std::optional<Time> measured) : clock_(clock), measured_(measured) {}
  void start(Completions& completions) override { completions_ = &completions; }
  std::byte* reserve(NodeId, Bytes) override { return nullptr; }
  std::byte* allocate(NodeId, Bytes) override { return nullptr; }
  void release(NodeId, std::byte*, Bytes) override {}
  void start_copy(const memory::Copy&) override {}
  void start_task(graph::Task& task, WorkerId worker) override {
    clock_.ns += 7000;
    completions_->task_done(task, worker, nullptr, measured_);
  }
  void wake(WorkerId) override {}
  void stop() override {}

 private:
  FakeClock& clock_;
  const std::optional<Time> measured_;
  Completions* completions_ = nullptr;
};

// What the policy is told of `count` tasks, each submitted when the last has ended.
std::vector<std::int64_t> answers_of(PerformanceModel* model, const Codelet& codelet, bool asks,
                                     FakeClock& clock, std::optional<Time> measured = {}) {
  std::vector<std::int64_t> answers;
  EngineConfig config;
  config.machine = {.nodes = {{kRam, "ram", NodeKind::ram, std::nullopt}},
                    .links = {},
                    .workers = {{WorkerId{0}, ProcessorKind::cpu, kRam}}};
  config.policy = std::make_unique<AskingPolicy>(asks, answers);
  config.now = clock.now;
  config.notify_waiters = [](WorkerId) {};
  config.models = model;
  Engine engine(std::move(config));
  FakeDriver driver(clock, measured);
  engine.attach({&driver}, {&driver});
  driver.start(engine);
  clock.looks = 0;
  for (int i = 0; i < 3; ++i) {
    graph::Task& task = engine.new_task(kNoWorker);
    task.codelet = &codelet;
    engine.submit(task, {}, kNoWorker);
    while (engine.advance(WorkerId{0})) {
    }
  }
  engine.hand_on_run_times();
  return answers;
}

using ::testing::ElementsAre;

class LearnedRunTimes : public ::testing::Test {
 protected:
  PerformanceModel model;
  FakeClock clock;
  const Codelet codelet{.name = "f", .cpu = [](KernelContext&) {}};
};

TEST_F(LearnedRunTimes, ReachThePolicyFromTheSecondTaskOnAndTheNextRunFromItsFirst) {
  EXPECT_THAT(answers_of(&model, codelet, true, clock), ElementsAre(0, 7000, 7000));
  EXPECT_THAT(answers_of(&model, codelet, true, clock), ElementsAre(7000, 7000, 7000));
}

TEST_F(LearnedRunTimes, AreThoseThatTheDriverHasMeasuredIfItSays) {
  // Not the 7000 ns between start_task and task_done.
  EXPECT_THAT(answers_of(&model, codelet, true, clock, Time{1234}), ElementsAre(0, 1234, 1234));
}

TEST_F(LearnedRunTimes, GiveWayToWhatTheCodeletSays) {
  const Codelet says{
      .name = "f", .cpu = [](KernelContext&) {}, .expected = {Time{123}, Time{}, Time{}}};
  EXPECT_THAT(answers_of(&model, says, true, clock), ElementsAre(123, 123, 123));
}

TEST_F(LearnedRunTimes, AreNotLookedForUnlessThePolicyAsks) {
  EXPECT_THAT(answers_of(&model, codelet, false, clock), ElementsAre(0, 0, 0));
  const int without = clock.looks;
  EXPECT_THAT(answers_of(nullptr, codelet, true, clock), ElementsAre(0, 0, 0));
  EXPECT_EQ(clock.looks, without);
  answers_of(&model, codelet, true, clock);
  EXPECT_EQ(clock.looks, without + 6);  // twice for each of three tasks
}

}  // namespace
}  // namespace vicinal::engine
