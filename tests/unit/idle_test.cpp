// Whom the engine wakes: workers that a push, a copy or a peer gives something to do, and not those that
// wait for what they have pulled.
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/lifecycle.hpp"
#include "support/holding_driver.hpp"
#include "support/queue_policy.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {
namespace {

using testing::HoldingDriver;

constexpr NodeId kFirstDevice{1};
constexpr NodeId kSecondDevice{2};
constexpr WorkerId kWorkerOfFirst{0};
constexpr WorkerId kWorkerOfSecond{1};

class MovingPolicy final : public sched::QueuePolicy {
  sched::PolicyTraits traits() const override { return {.moves_tasks = true}; }
};

// RAM, where the data are, and accelerators of one worker each that look two tasks ahead.
class Idle : public ::testing::TestWithParam<bool> {
 protected:
  Idle() : engine_(config(GetParam())) {
    engine_.attach({&ram_, &first_, &second_}, {&first_, &second_});
  }
  ~Idle() override {
    for (const auto& handle : handles_) engine_.residency().forget(*handle);
  }

  static EngineConfig config(bool simulated) {
    EngineConfig config;
    constexpr Bytes kRoom{1 << 20};
    config.machine.nodes = {{kRam, "ram", NodeKind::ram, {}},
                            {kFirstDevice, "device0", NodeKind::device, kRoom},
                            {kSecondDevice, "device1", NodeKind::device, kRoom}};
    for (const NodeId node : {kFirstDevice, kSecondDevice}) {
      config.machine.links.push_back({kRam, node, {}, {}});
      config.machine.links.push_back({node, kRam, {}, {}});
    }
    config.machine.workers = {{kWorkerOfFirst, ProcessorKind::emulated, kFirstDevice},
                              {kWorkerOfSecond, ProcessorKind::emulated, kSecondDevice}};
    config.policy = std::make_unique<MovingPolicy>();
    config.now = [] { return Time{}; };
    config.notify_waiters = [](WorkerId) {};
    config.look_ahead = 1;
    config.simulated = simulated;
    return config;
  }

  // A task that reads a datum of its own.
  void submit() {
    graph::Handle& handle = *handles_.emplace_back(std::make_unique<graph::Handle>());
    handle.layout = {.column_bytes = 4096, .columns = 1, .stride_bytes = 4096};
    handle.home.kind = graph::HomeKind::buffer;
    handle.home.address = content_.data();
    handle.content = graph::Content::written;
    engine_.data().add(handle);
    graph::Task& task = engine_.new_task(kNoWorker);
    task.codelet = &codelet_;
    task.inline_accesses[0] = graph::Access(handle, AccessMode::R);
    task.access_count = 1;
    engine_.submit(task, {}, kNoWorker);
  }
  void end_copy(HoldingDriver& driver) {
    ASSERT_FALSE(driver.copies.empty());
    const memory::CopyId id = driver.copies.front().id;
    driver.copies.pop_front();
    engine_.copy_done(id, nullptr);
  }
  void end_task(HoldingDriver& driver, WorkerId worker) {
    ASSERT_FALSE(driver.tasks.empty());
    graph::Task& task = *driver.tasks.front();
    driver.tasks.pop_front();
    engine_.task_done(task, worker, nullptr, std::nullopt);
  }

  const Codelet codelet_{.name = "f",
                         .kernels = {{ProcessorKind::emulated, [](KernelContext&) {}}}};
  std::vector<std::byte> content_ = std::vector<std::byte>(4096);
  std::vector<std::unique_ptr<graph::Handle>> handles_;
  HoldingDriver ram_;
  HoldingDriver first_;
  HoldingDriver second_;
  Engine engine_;
};

TEST_P(Idle, AWorkerThatHasPulledAllItMayIsWokenByTheCopyAndNotByPushes) {
  submit();
  EXPECT_FALSE(engine_.advance(kWorkerOfFirst));  // waits for the copy
  const int before = first_.wakes;
  submit();
  EXPECT_EQ(first_.wakes, before + 1);  // it may pull one more
  EXPECT_FALSE(engine_.advance(kWorkerOfFirst));
  submit();
  submit();
  EXPECT_EQ(first_.wakes, before + 1);  // not these
  ASSERT_EQ(first_.copies.size(), 1U);
  end_copy(first_);
  EXPECT_EQ(first_.wakes, before + 2);
  EXPECT_TRUE(engine_.advance(kWorkerOfFirst));
  EXPECT_EQ(first_.tasks.size(), 1U);
}

TEST_P(Idle, AWorkerThatHasRunAllThatItPulledIsWokenByAPush) {
  submit();
  submit();
  EXPECT_FALSE(engine_.advance(kWorkerOfFirst));
  for (int i = 0; i < 2; ++i) {
    end_copy(first_);
    EXPECT_TRUE(engine_.advance(kWorkerOfFirst));
    end_task(first_, kWorkerOfFirst);
  }
  EXPECT_FALSE(engine_.advance(kWorkerOfFirst));
  const int before = first_.wakes;
  submit();
  EXPECT_EQ(first_.wakes, before + 1);
}

TEST_P(Idle, OfTwoThatWaitTheOneThatMayPullMoreIsWoken) {
  for (int i = 0; i < 3; ++i) submit();
  EXPECT_FALSE(engine_.advance(kWorkerOfFirst));   // pulls two
  EXPECT_FALSE(engine_.advance(kWorkerOfSecond));  // and the other
  const int first = first_.wakes;
  const int second = second_.wakes;
  submit();
  EXPECT_EQ(first_.wakes, first);
  EXPECT_EQ(second_.wakes, second + 1);
}

TEST_P(Idle, AWorkerThatLosesATaskToAPeerLooksWhetherItMayPullAnother) {
  submit();
  submit();
  EXPECT_FALSE(engine_.advance(kWorkerOfFirst));  // has pulled both, and may give the second away
  const int before = first_.wakes;
  EXPECT_FALSE(engine_.advance(kWorkerOfSecond));
  EXPECT_EQ(second_.copies.size(), 1U);  // it has got one
  EXPECT_EQ(first_.wakes, before + 1);
}

// As the threads of a machine do: a worker that has found nothing looks again only when it is woken.
TEST_P(Idle, EveryTaskRunsWhereWorkersLookOnlyWhenWoken) {
  first_.wakes = second_.wakes = 1;
  int submitted = 0;
  int ended = 0;
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 3 && submitted < 30; ++i, ++submitted) submit();
    for (const auto& [driver, worker] :
         {std::pair(&first_, kWorkerOfFirst), std::pair(&second_, kWorkerOfSecond)}) {
      if (std::exchange(driver->wakes, 0) > 0) {
        while (engine_.advance(worker)) {
          end_task(*driver, worker);
          ++ended;
        }
      }
      if (!driver->copies.empty()) end_copy(*driver);
    }
  }
  EXPECT_EQ(ended, 30);
}

TEST_P(Idle, ACopyThatADriverReportsTwiceIsTheErrorOfTheRun) {
  submit();
  EXPECT_FALSE(engine_.advance(kWorkerOfFirst));
  const memory::CopyId id = first_.copies.front().id;
  end_copy(first_);
  EXPECT_FALSE(engine_.errors().any());
  engine_.copy_done(id, nullptr);
  EXPECT_TRUE(engine_.errors().cancelling());
  EXPECT_THROW(std::rethrow_exception(engine_.take_error()), DeviceError);
  EXPECT_TRUE(engine_.advance(kWorkerOfFirst));  // what was there before is there
  end_task(first_, kWorkerOfFirst);
}

INSTANTIATE_TEST_SUITE_P(RealAndSimulated, Idle, ::testing::Bool());

}  // namespace
}  // namespace vicinal::engine
