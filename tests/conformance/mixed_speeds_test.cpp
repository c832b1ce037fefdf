// No policy keeps a task from a worker for ever because another one would be faster: thousands of small
// random graphs on simulated machines whose workers run them at any ratio of speeds, or not at all.
#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sched/policy.hpp"
#include "support/machines.hpp"
#include "support/random_runs.hpp"
#include "support/tested.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

constexpr std::uint64_t kDatum = 4096;

class MixedSpeeds {
 public:
  MixedSpeeds(std::uint64_t seed, std::string policy)
      : random_(seed * 2 + 1), policy_(std::move(policy)) {
    operands_ = 1 + random_.below(5);
    make_machine();
    for (int i = 0; i < 4; ++i) make_codelet();
  }

  void run() {
    Options options;
    options.policy = policy_;
    options.look_ahead =
        random_.below(2) == 0 ? 0 : 1 + static_cast<std::uint32_t>(random_.below(8));
    options.compute_priorities = random_.below(4) == 0;
    options.seed = random_.next();
    Runtime runtime(machine_, options);
    for (std::size_t i = 0; i < 2 + random_.below(10); ++i) {
      data_.push_back(runtime.register_simulated(Bytes{kDatum}));
    }
    const std::size_t tasks = 1 + random_.below(30);
    for (std::size_t i = 0; i < tasks; ++i) {
      submit(runtime);
      if (random_.below(20) == 0) runtime.wait();
    }
    runtime.wait();
    EXPECT_EQ(runtime.statistics().tasks_done, runtime.statistics().tasks_submitted);
    for (const Handle handle : data_) runtime.unregister(handle);
  }

 private:
  // Some graphs have nodes that hold just one task, some have workers of two kinds on one accelerator.
  void make_machine() {
    const Bytes least{operands_ * kDatum};
    const auto limit = [&]() -> std::optional<Bytes> {
      const std::uint64_t tasks = random_.below(4);
      if (tasks == 0) return std::nullopt;
      return Bytes{least.value * tasks};
    };
    machine_.nodes = {{kRam, "ram", NodeKind::ram, std::nullopt}};
    const std::uint64_t cores = random_.below(4);
    for (std::uint64_t i = 0; i < cores; ++i) add_worker(ProcessorKind::cpu, kRam);
    const std::uint64_t devices = random_.below(4) + (cores == 0 ? 1 : 0);
    const bool mixed = random_.below(4) == 0;
    for (std::uint32_t i = 1; i <= devices; ++i) {
      machine_.nodes.push_back({NodeId{i}, "device", NodeKind::device, limit()});
      const BytesPerSecond rate{std::pow(10.0, 7 + random_.uniform() * 4)};
      testing::join(machine_, kRam, NodeId{i}, {rate});
      const std::uint64_t workers = 1 + random_.below(mixed ? 3 : 2);
      for (std::uint64_t w = 0; w < workers; ++w) {
        add_worker(mixed && random_.below(2) == 0 ? ProcessorKind::emulated : ProcessorKind::gpu,
                   NodeId{i});
      }
    }
  }
  void add_worker(ProcessorKind kind, NodeId node) {
    const WorkerId id{static_cast<std::uint32_t>(machine_.workers.size())};
    machine_.workers.push_back({id, kind, node});
  }
  // Some worker of the machine runs it.
  void make_codelet() {
    Codelet& codelet = codelets_.emplace_back();
    codelet.name = "k" + std::to_string(codelets_.size());
    const auto time = [&] {
      return Time{static_cast<std::int64_t>(std::pow(10.0, 3 + random_.uniform() * 4))};
    };
    for (Time& expected : codelet.expected) {
      if (random_.below(3) != 0) expected = time();
    }
    const auto& some = machine_.workers[random_.below(machine_.workers.size())];
    Time& there = codelet.expected[static_cast<std::size_t>(some.kind)];
    there = time();
  }
  void submit(Runtime& runtime) {
    const Codelet& codelet = codelets_[random_.below(codelets_.size())];
    std::vector<Operand> operands;
    for (std::size_t i = random_.below(operands_ + 1); i > 0; --i) {
      const Handle handle = data_[random_.below(data_.size())];
      const bool named = std::ranges::any_of(
          operands, [&](const Operand& other) { return other.handle == handle; });
      if (!named) operands.push_back({handle, static_cast<AccessMode>(1 + random_.below(3))});
    }
    std::optional<WorkerId> bound;
    if (random_.below(8) == 0) {
      const auto& worker = machine_.workers[random_.below(machine_.workers.size())];
      if (codelet.expected[static_cast<std::size_t>(worker.kind)].ns > 0) bound = worker.id;
    }
    runtime.submit({.codelet = &codelet,
                    .operands = operands,
                    .priority = static_cast<int>(random_.below(4)),
                    .worker = bound});
  }

  base::Random random_;
  std::string policy_;
  std::size_t operands_ = 0;
  MachineDescription machine_;
  std::deque<Codelet> codelets_;
  std::vector<Handle> data_;
};

void expect_to_end(std::string_view policy, std::uint64_t runs) {
  for (const std::uint64_t seed : testing::seeds(runs)) {
    SCOPED_TRACE("TEST_SEED_VICINAL=" + std::to_string(seed) + ", policy " + std::string(policy));
    try {
      MixedSpeeds(seed, std::string(policy)).run();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(MixedSpeeds, DartsLeavesNoTaskToAWorkerThatDoesNotCome) {
  expect_to_end("darts", 4000);
}

TEST(MixedSpeeds, NoPolicyLeavesATaskToAWorkerThatDoesNotCome) {
  for (const sched::PolicyEntry& policy : testing::tested_policies())
    expect_to_end(policy.name, 500);
}

}  // namespace
}  // namespace vicinal
