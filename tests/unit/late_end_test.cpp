// Tasks that a driver ends after start_task has returned, from another thread.
#include <atomic>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "driver_fakes.hpp"
#include "drivers/clock.hpp"
#include "engine/lifecycle.hpp"
#include "machine/performance_model.hpp"
#include "support/queue_policy.hpp"

namespace vicinal::engine {
namespace {

class TimingPolicy final : public sched::QueuePolicy {
  sched::PolicyTraits traits() const override { return {.wants_run_times = true}; }
};

TEST(LateEnd, AChainOfTasksRunsInOrderAndItsTimesAreTheDrivers) {
  constexpr int kTasks = 100;
  constexpr Time kRunTime{1234};
  machine::PerformanceModel model;
  EngineConfig config;
  config.machine = {.nodes = {{kRam, "ram", NodeKind::ram, std::nullopt}},
                    .links = {},
                    .workers = {{WorkerId{0}, ProcessorKind::cpu, kRam}}};
  config.policy = std::make_unique<TimingPolicy>();
  config.now = drivers::monotonic_now;
  std::atomic<int> changes{0};
  config.notify_waiters = [&](WorkerId) {
    ++changes;
    changes.notify_all();
  };
  config.models = &model;
  Engine engine(std::move(config));
  drivers::LateDriver driver(kRunTime);
  engine.attach({&driver}, {&driver});
  driver.start(engine);

  std::vector<int> order;  // by the driver's second thread alone
  int number = 0;
  const auto note = [&](KernelContext&) { order.push_back(number++); };
  const Codelet codelet{.name = "note", .cpu = Kernel::bind(note)};
  graph::Handle handle;
  handle.layout = {.column_bytes = 64, .columns = 1, .stride_bytes = 64};
  engine.data().add(handle);
  for (int i = 0; i < kTasks; ++i) {
    graph::Task& task = engine.new_task(kNoWorker);
    task.codelet = &codelet;
    task.access_count = 1;
    task.inline_accesses[0] = graph::Access(handle, AccessMode::W);
    engine.submit(task, {}, kNoWorker);
  }
  engine.submission_closed();
  for (int seen = changes; !engine.counts().all_ended(); seen = changes) changes.wait(seen);
  driver.stop();
  engine.hand_on_run_times();
  EXPECT_EQ(order.size(), std::size_t{kTasks});
  EXPECT_EQ(engine.take_error(), nullptr);
  // Every run is known, and to the nanosecond as the driver has said.
  machine::Footprint footprint;
  footprint.add(Bytes{64}, AccessMode::W);
  EXPECT_EQ(model.runs("note", ProcessorKind::cpu, footprint), std::uint64_t{kTasks});
  EXPECT_EQ(model.predict("note", ProcessorKind::cpu, footprint), kRunTime);
  EXPECT_TRUE(engine.data().remove(handle));
}

}  // namespace
}  // namespace vicinal::engine
