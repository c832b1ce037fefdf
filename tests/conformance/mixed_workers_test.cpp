// Memories whose workers differ in kind: whoever is woken for a task may be unable to run it, and then somebody
// else must be.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sched/policy.hpp"
#include "support/machines.hpp"
#include "support/policy_names.hpp"
#include "support/tested.hpp"
#include "support/watchdog.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

constexpr std::uint64_t kPageOfDatum = 4096;

struct MixedTask {
  Codelet codelet;
  std::vector<std::pair<std::size_t, AccessMode>> accesses;  // datum, mode
  std::optional<WorkerId> worker;
  std::optional<NodeId> node;  // where some worker runs it
  int priority = 0;
  bool waits = false;  // until all has ended
};

// Up to three accelerators, whose workers and those of RAM are drawn from all kinds; limits are none or what
// the largest task needs.
class MixedProgram {
 public:
  explicit MixedProgram(std::uint64_t seed) : random_(seed * 2 + 1) {
    make_machine();
    for (std::size_t i = 0; i < 1 + random_.below(8); ++i) {
      pages_.push_back(1 + random_.below(4));
      written_.push_back(false);
    }
    for (std::size_t i = 0; i < 1 + random_.below(40); ++i) make_task();
    set_limits();
    look_ahead_ = static_cast<std::uint32_t>(random_.below(3));
  }

  void run(std::string_view policy) const {
    Options options;
    options.policy = policy;
    options.look_ahead = look_ahead_;
    Runtime runtime(machine_, options);
    std::vector<Handle> data;
    for (const std::uint64_t pages : pages_) {
      data.push_back(runtime.register_empty(Bytes{pages * kPageOfDatum}));
    }
    for (const MixedTask& task : tasks_) {
      std::vector<Operand> operands;
      for (const auto& [datum, mode] : task.accesses) operands.push_back({data[datum], mode});
      runtime.submit({.codelet = &task.codelet,
                      .operands = operands,
                      .priority = task.priority,
                      .worker = task.worker,
                      .node = task.node});
      if (task.waits) runtime.wait();
    }
    runtime.wait();
    EXPECT_EQ(runtime.statistics().tasks_done, tasks_.size());
  }

 private:
  bool chance(std::uint64_t in) { return random_.below(in) == 0; }

  void make_machine() {
    machine_.nodes = {{kRam, "ram", NodeKind::ram, {}}, {NodeId{1}, "disk", NodeKind::disk, {}}};
    for (std::uint32_t device = 0; device <= random_.below(3); ++device) {
      machine_.nodes.push_back(
          {NodeId{2 + device}, "device" + std::to_string(device), NodeKind::device, {}});
    }
    for (std::uint32_t n = 0; n < machine_.nodes.size(); ++n) {
      if (n != 0) {
        const auto rate = BytesPerSecond{1e9 * static_cast<double>(1 + random_.below(9))};
        testing::join(machine_, kRam, NodeId{n}, {rate});
      }
      if (n == 1) continue;
      for (std::uint64_t i = 0; i < 1 + random_.below(3); ++i) {
        const WorkerId id{static_cast<std::uint32_t>(machine_.workers.size())};
        machine_.workers.push_back(
            {id, static_cast<ProcessorKind>(random_.below(kProcessorKinds)), NodeId{n}});
      }
    }
  }

  void make_task() {
    MixedTask task;
    task.codelet.name = "task" + std::to_string(tasks_.size());
    const WorkerDescription& sure = machine_.workers[random_.below(machine_.workers.size())];
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      const bool runs = kind == static_cast<std::size_t>(sure.kind) || chance(3);
      if (runs) {
        task.codelet.expected[kind] = Time{static_cast<std::int64_t>(1 + random_.below(20'000))};
      }
    }
    if (chance(8)) task.worker = sure.id;
    if (chance(8)) task.node = sure.node;
    for (std::size_t datum = 0; datum < pages_.size(); ++datum) {
      if (!chance(3)) continue;
      const auto mode = static_cast<AccessMode>(1 + random_.below(3));
      task.accesses.emplace_back(datum, written_[datum] ? mode : AccessMode::W);
      written_[datum] = true;
    }
    task.priority = static_cast<int>(random_.below(3));
    task.waits = chance(12);
    tasks_.push_back(std::move(task));
  }

  void set_limits() {
    std::uint64_t largest = kPageOfDatum;
    for (const MixedTask& task : tasks_) {
      std::uint64_t sum = 0;
      for (const auto& access : task.accesses) sum += pages_[access.first] * kPageOfDatum;
      largest = std::max(largest, sum);
    }
    for (NodeDescription& node : machine_.nodes) {
      if (node.kind != NodeKind::disk && !chance(3)) node.limit = Bytes{largest};
    }
  }

  base::Random random_;
  MachineDescription machine_;
  std::vector<std::uint64_t> pages_;
  std::vector<bool> written_;
  std::vector<MixedTask> tasks_;
  std::uint32_t look_ahead_ = 0;
};

class MixedWorkers : public ::testing::TestWithParam<std::string> {};

TEST_P(MixedWorkers, EveryTaskFindsAWorkerThatCanRunIt) {
  constexpr std::uint64_t kPrograms = 1500 / testing::kSlowDown;
  testing::Watchdog watchdog{GetParam()};
  for (std::uint64_t seed = 0; seed < kPrograms; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    try {
      MixedProgram(seed).run(GetParam());
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, MixedWorkers, ::testing::ValuesIn(testing::policy_names()),
                         [](const auto& test) { return test.param; });

// Two tasks on an accelerator with a worker of another kind before the one that both can run on.
TEST(Runtime, WhoSleepsBehindAWorkerOfAnotherKindIsWokenForATask) {
  for (const sched::PolicyEntry& policy : testing::tested_policies()) {
    const MachineDescription machine =
        testing::around_ram({{kRam, "ram", NodeKind::ram, {}},
                             {NodeId{1}, "device0", NodeKind::device, {}},
                             {NodeId{2}, "device1", NodeKind::device, {}}},
                            {{WorkerId{0}, ProcessorKind::gpu, NodeId{1}},
                             {WorkerId{1}, ProcessorKind::gpu, NodeId{2}},
                             {WorkerId{2}, ProcessorKind::emulated, NodeId{2}}});
    const Codelet both{.name = "both", .expected = {Time{}, Time{5000}, Time{4000}}};
    const Codelet emulated{.name = "emulated", .expected = {Time{}, Time{5000}, Time{}}};
    Options options;
    options.policy = policy.name;
    Runtime runtime(machine, options);
    const Handle data = runtime.register_empty(Bytes{kPageOfDatum});
    runtime.submit({.codelet = &both, .operands = {W(data)}});
    runtime.submit({.codelet = &emulated, .operands = {R(data)}});
    EXPECT_NO_THROW(runtime.wait()) << policy.name;
    EXPECT_EQ(runtime.statistics().tasks_done, 2U) << policy.name;
  }
}

// Under every policy: two accelerators that would share the tasks, one of which each of them names.
TEST(Runtime, TasksRunOnTheMemoryNodeThatTheyName) {
  const MachineDescription machine =
      testing::around_ram({{kRam, "ram", NodeKind::ram, {}},
                           {NodeId{1}, "device0", NodeKind::device, {}},
                           {NodeId{2}, "device1", NodeKind::device, {}}},
                          {{WorkerId{0}, ProcessorKind::gpu, NodeId{1}},
                           {WorkerId{1}, ProcessorKind::gpu, NodeId{2}},
                           {WorkerId{2}, ProcessorKind::cpu, kRam}});
  Codelet there{.name = "there"};
  there.expected[static_cast<std::size_t>(ProcessorKind::gpu)] = Time{5000};
  for (const sched::PolicyEntry& policy : testing::tested_policies()) {
    Options options;
    options.policy = policy.name;
    Runtime runtime(machine, options);
    for (int i = 0; i < 20; ++i) {
      const Handle data = runtime.register_empty(Bytes{kPageOfDatum});
      runtime.submit({.codelet = &there, .operands = {W(data)}, .node = NodeId{2}});
    }
    // None can run it there: it runs where one can.
    runtime.submit({.codelet = &there, .worker = WorkerId{0}, .node = kRam});
    EXPECT_NO_THROW(runtime.wait()) << policy.name;
    const Statistics s = runtime.statistics();
    EXPECT_EQ(s.workers[1].tasks, 20U) << policy.name;
    EXPECT_EQ(s.workers[0].tasks, 1U) << policy.name;
  }
}

}  // namespace
}  // namespace vicinal
