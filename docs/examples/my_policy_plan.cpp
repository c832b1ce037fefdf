// A complete policy that plans, and its trial in simulated time: tasks in the order of their submission, and
// victims by what is known of that order long before tasks are ready. See docs/write-a-policy.md.

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/runtime_impl.hpp"
#include "sched/future_uses.hpp"
#include "sched/policy.hpp"
#include "sched/records.hpp"

// --- the policy: this part would be src/sched/policies/in_order.cpp

namespace vicinal::sched {
namespace {

// in_order: of the ready tasks the one submitted first; what is used last by all that were submitted goes.
class InOrder final : public Policy {
 public:
  std::string_view name() const override { return "in_order"; }
  PolicyTraits traits() const override { return {.wants_ends = true, .plans = true}; }
  memory::VictimChoice* victims() override { return &future_; }
  void start(PolicyContext& context) override {
    context_ = &context;
    future_.start(context);
  }

  void plan(const KnownTasks& known) override {
    for (std::size_t i = known.planned_before; i < known.tasks.size(); ++i) {
      graph::Task* const task = known.tasks[i];
      if (task == nullptr) continue;
      Record& record = records_.take();
      record.number = known.first + i;
      future_.expect(*task, record.place);  // on whichever node
      task->policy_data = &record;
    }
  }
  void push(graph::Task& task, WorkerId /*releasing*/) override {
    ready_.emplace(record_of(task).number, &task);
  }
  graph::Task* pop(WorkerId worker) override {
    for (const auto& [number, task] : ready_) {
      if (!context_->can_run(*task, worker)) continue;
      graph::Task* const popped = task;
      ready_.erase(number);
      const NodeId node = context_->machine().workers[worker.value].node;
      future_.give(*popped, node, record_of(*popped).place);
      return popped;
    }
    return nullptr;
  }
  void task_done(graph::Task& task, WorkerId /*worker*/) override {
    if (task.policy_data == nullptr) return;  // the plan failed before it
    future_.forget(task, record_of(task).place);
    records_.give_back(record_of(task));
  }
  void data_forgotten(graph::Handle& handle) override { future_.forget(handle); }

 private:
  struct Record {
    std::uint64_t number = 0;
    FutureUses::Place place;
  };
  static Record& record_of(graph::Task& task) { return *static_cast<Record*>(task.policy_data); }

  PolicyContext* context_ = nullptr;
  FutureUses future_;
  std::map<std::uint64_t, graph::Task*> ready_;  // by number
  RecordPool<Record> records_;
};

}  // namespace

std::unique_ptr<Policy> make_in_order() {
  return std::make_unique<InOrder>();
}

}  // namespace vicinal::sched

// --- the trial: a runtime on a simulated machine

namespace {

using namespace vicinal;

constexpr Bytes kBlock = 1_MiB;
constexpr std::size_t kBlocks = 4;
constexpr std::size_t kRounds = 8;

// One accelerator with room for two of the four blocks and for a counter.
MachineDescription machine() {
  const NodeId device{1};
  const BytesPerSecond bandwidth{1e9};
  return {.nodes = {{kRam, "ram", NodeKind::ram, std::nullopt},
                    {device, "device0", NodeKind::device, kBlock * 2 + 4_KiB}},
          .links = {{kRam, device, bandwidth, Time{0}, 1}, {device, kRam, bandwidth, Time{0}, 1}},
          .workers = {{WorkerId{0}, ProcessorKind::emulated, device}}};
}

// Each task reads a block and counts, so that one is ready when the one before has ended. Returns the
// blocks copied to the accelerator.
std::uint64_t copies_under(std::unique_ptr<sched::Policy> policy) {
  runtime::RuntimeImpl runtime(Options{}, runtime::MachineSetup(machine()), nullptr,
                               std::move(policy));
  const Codelet count{.name = "count", .expected = {Time{0}, Time{1'000'000}}};
  const Handle counter = runtime.add_simulated(Bytes{8}, kRam, "counter");
  std::vector<Handle> blocks;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    blocks.push_back(runtime.add_simulated(kBlock, kRam, "block" + std::to_string(i)));
  }
  for (std::size_t i = 0; i < kRounds * kBlocks; ++i) {
    runtime.submit({.codelet = &count, .operands = {R(blocks[i % kBlocks]), RW(counter)}});
  }
  runtime.wait();
  return runtime.statistics().links[0].copies - 1;  // the counter's
}

}  // namespace

int main() {
  // Without a plan each task finds its block just evicted, but for the last: what nobody reads any more has made
  // room for others by then. With the plan one read in three finds its block, for of the 2 blocks that fit
  // one stays until its next reader comes.
  const std::uint64_t unplanned = copies_under(sched::make_policy("belady"));
  const std::uint64_t planned = copies_under(sched::make_in_order());
  std::printf("copies to the accelerator: belady %d, in_order %d\n", static_cast<int>(unplanned),
              static_cast<int>(planned));
  return unplanned == kRounds * kBlocks - 1 && planned == 22 ? 0 : 1;
}
