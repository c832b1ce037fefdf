// A complete policy and its trial in simulated time: of the ready tasks that the worker can run, the
// one with the fewest bytes to load. See docs/write-a-policy.md.

#include <array>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include "drivers/simulated/simulated_driver.hpp"
#include "engine/lifecycle.hpp"
#include "sched/policy.hpp"

// --- the policy: this part would be src/sched/policies/nearest.cpp

namespace vicinal::sched {
namespace {

// nearest: fewest missing bytes first, first in first out among equals.
class Nearest final : public Policy {
 public:
  std::string_view name() const override { return "nearest"; }
  void start(PolicyContext& context) override { context_ = &context; }

  void push(graph::Task& task, WorkerId /*releasing*/) override { ready_.push_back(&task); }

  graph::Task* pop(WorkerId worker) override {
    const NodeId node = context_->machine().workers[worker.value].node;
    auto best = ready_.end();
    Bytes fewest{std::numeric_limits<std::uint64_t>::max()};
    for (auto task = ready_.begin(); task != ready_.end(); ++task) {
      if (!context_->can_run(**task, worker)) continue;
      const Bytes missing = context_->missing_bytes(**task, node);
      if (missing < fewest) {
        fewest = missing;
        best = task;
      }
    }
    if (best == ready_.end()) return nullptr;
    graph::Task* const task = *best;
    ready_.erase(best);
    return task;
  }

 private:
  PolicyContext* context_ = nullptr;
  std::list<graph::Task*> ready_;  // in the order of their pushes
};

}  // namespace

std::unique_ptr<Policy> make_nearest() {
  return std::make_unique<Nearest>();
}

}  // namespace vicinal::sched

// --- the trial: an engine, a simulated driver, no thread

namespace {

using namespace vicinal;

constexpr Bytes kBlock = 1_MiB;
constexpr std::size_t kBlocks = 4;
constexpr std::size_t kRounds = 8;

// One accelerator with room for two of the four blocks.
MachineDescription machine() {
  const NodeId device{1};
  const BytesPerSecond bandwidth{1e9};
  return {.nodes = {{kRam, "ram", NodeKind::ram, std::nullopt},
                    {device, "device0", NodeKind::device, kBlock * 2}},
          .links = {{kRam, device, bandwidth, Time{0}, 1}, {device, kRam, bandwidth, Time{0}, 1}},
          .workers = {{WorkerId{0}, ProcessorKind::emulated, device}}};
}

// Submits read(0) .. read(3), eight times over, and returns the copies to the accelerator.
std::uint64_t copies_under(std::unique_ptr<sched::Policy> policy) {
  sim::World world;
  drivers::SimulatedDriver driver(machine(), world);
  engine::EngineConfig config;
  config.machine = machine();
  config.policy = std::move(policy);
  config.now = [&driver] { return driver.now(); };
  config.notify_waiters = [] {};
  config.simulated = true;
  config.look_ahead = 1;
  engine::Engine engine(std::move(config));
  engine.attach({&driver, &driver}, {&driver});  // by node; by worker
  driver.start(engine);

  const Codelet read{.name = "read", .expected = {Time{0}, Time{1'000'000}}};
  std::array<graph::Handle, kBlocks> blocks;
  for (graph::Handle& block : blocks) {
    block.layout = {kBlock.value, 1, kBlock.value, 1};
    block.home.kind = graph::HomeKind::buffer;
    block.content = graph::Content::written;
    engine.add(block);
  }
  for (std::size_t i = 0; i < kRounds * kBlocks; ++i) {
    graph::Task& task = engine.new_task(kNoWorker);
    task.codelet = &read;
    task.access_count = 1;
    task.inline_accesses[0] = graph::Access(blocks[i % kBlocks], AccessMode::R);
    engine.submit(task, {}, kNoWorker);
  }
  engine.submission_closed();
  while (world.step()) {
  }
  const std::uint64_t copies = engine.statistics().links[0].copies;
  const bool all_ran = engine.counts().all_ended();
  for (graph::Handle& block : blocks) engine.remove(block);
  return all_ran ? copies : 0;
}

}  // namespace

int main() {
  // In order of submission every task finds its block just evicted. No order loads fewer than 4.
  const std::uint64_t in_order = copies_under(sched::make_policy("eager"));
  const std::uint64_t nearest = copies_under(sched::make_nearest());
  std::printf("copies to the accelerator: eager %d, nearest %d\n", static_cast<int>(in_order),
              static_cast<int>(nearest));
  return in_order == kRounds * kBlocks && nearest == kBlocks ? 0 : 1;
}
