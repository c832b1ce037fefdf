// Policies with two gears: they change gear while tasks run, both ways, and whatever happens meanwhile tasks run once, in
// the order of their data. Planned copies take the place of the victims that the plan names.
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/runtime_impl.hpp"
#include "support/planning_policy.hpp"
#include "support/random_runs.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/two_gears_policy.hpp"
#include "support/watchdog.hpp"
#include "vicinal/error.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using runtime::MachineSetup;
using runtime::RuntimeImpl;
using ::testing::ElementsAre;

// --- random programs

constexpr std::uint64_t kRamPages = 8;

// What a task does with its operands: the last is changed, by what the others hold.
struct Mixing {
  std::uint64_t key = 0;
  std::uint64_t spin = 0;
};
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  return (a ^ (b + 0x9e3779b97f4a7c15U)) * 0xbf58476d1ce4e5b9U;
}
void mix_kernel(KernelContext& k) {
  const auto mixing = k.parameter<Mixing>();
  std::atomic<std::uint64_t> spun{0};
  while (spun.fetch_add(1, std::memory_order_relaxed) < mixing.spin) continue;
  const std::size_t last = k.operands() - 1;
  std::uint64_t value = mixed(*k.data<std::uint64_t>(last), mixing.key);
  for (std::size_t i = 0; i < last; ++i) value = mixed(value, *k.data<std::uint64_t>(i));
  *k.data<std::uint64_t>(last) = value;
}
void begin_kernel(KernelContext& k) {
  *k.data<std::uint64_t>(0) = k.parameter<std::uint64_t>();
}
void show_kernel(KernelContext& k) {
  *k.parameter<std::uint64_t*>() = *k.data<std::uint64_t>(0);
}
Codelet on_cores_and_devices(const char* name, void (*kernel)(KernelContext&)) {
  Codelet codelet{.name = name, .cpu = kernel, .expected = {Time{20'000}, Time{10'000}}};
  codelet.kernels[ProcessorKind::emulated] = kernel;
  return codelet;
}
const Codelet kMixes = on_cores_and_devices("mix", mix_kernel);
const Codelet kBegins = on_cores_and_devices("begin", begin_kernel);
const Codelet kShows = on_cores_and_devices("show", show_kernel);

// RAM of so many pages with cores and a disk.
MachineDescription little_memory(std::uint64_t pages, std::uint32_t cores) {
  const NodeId disk{1};
  const BytesPerSecond bandwidth{1e9};
  MachineDescription machine{
      .nodes = {{kRam, "ram", NodeKind::ram, kPage * pages}, {disk, "disk", NodeKind::disk, {}}},
      .links = {{kRam, disk, bandwidth, Time{0}, 4}, {disk, kRam, bandwidth, Time{0}, 4}},
      .workers = {}};
  for (std::uint32_t i = 0; i < cores; ++i) {
    machine.workers.push_back({WorkerId{i}, ProcessorKind::cpu, kRam});
  }
  return machine;
}

// By turns data that do not fit in RAM, and few that do.
class GearsProgram {
 public:
  GearsProgram(base::Random& random, RuntimeImpl& runtime, bool runs_kernels)
      : random_(random), runtime_(runtime), runs_kernels_(runs_kernels) {}
  void play(std::size_t phases) {
    for (std::size_t phase = 0; phase < phases; ++phase) {
      const bool big = phase % 2 == 0;
      play_phase(big ? 2 * kRamPages + random_.below(2 * kRamPages) : 2, big ? 150 : 40);
    }
  }

 private:
  void play_phase(std::size_t count, std::uint64_t most_tasks) {
    std::vector<Handle> data;
    std::vector<std::uint64_t> expected;
    for (std::size_t i = 0; i < count; ++i) {
      data.push_back(runtime_.add({4096, 1, 4096, 1}, {}, false, "d" + std::to_string(i)));
      expected.push_back(random_.next());
      runtime_.submit({.codelet = &kBegins, .operands = {W(data[i])}, .parameters = expected[i]});
    }
    TaskId last{};
    for (std::uint64_t left = most_tasks / 2 + random_.below(most_tasks / 2); left > 0; --left) {
      const std::size_t changed = random_.below(count);
      const std::size_t read = random_.below(count);
      const Mixing mixing{.key = random_.next(), .spin = random_.below(2000)};
      std::vector<Operand> operands;
      expected[changed] = mixed(expected[changed], mixing.key);
      if (read != changed) {
        operands.push_back(R(data[read]));
        expected[changed] = mixed(expected[changed], expected[read]);
      }
      operands.push_back(RW(data[changed]));
      const bool follows = left < most_tasks / 4 && random_.below(8) == 0;
      const std::vector<TaskId> after(follows ? 1 : 0, last);
      last = runtime_.submit({.codelet = &kMixes,
                              .operands = operands,
                              .parameters = mixing,
                              .priority = static_cast<int>(random_.below(3)),
                              .after = after});
      if (random_.below(60) == 0) runtime_.wait();
      if (random_.below(40) == 0) runtime_.wait(data[changed]);
    }
    std::vector<std::uint64_t> shown(count);
    for (std::size_t i = 0; i < count; ++i) {
      runtime_.submit({.codelet = &kShows, .operands = {R(data[i])}, .parameters = &shown[i]});
    }
    runtime_.wait();
    if (runs_kernels_) {
      EXPECT_EQ(shown, expected);
    }
    for (const Handle handle : data) runtime_.unregister(handle, WriteBack::no);
  }

  base::Random& random_;
  RuntimeImpl& runtime_;
  const bool runs_kernels_;
};

void expect_both_ways(const TwoGearsPolicy::Seen& seen, std::uint64_t times) {
  EXPECT_EQ(seen.faults, 0U);
  EXPECT_GE(seen.changes[static_cast<std::size_t>(sched::Gear::planned)], times);
  EXPECT_GE(seen.changes[static_cast<std::size_t>(sched::Gear::immediate)], times);
  EXPECT_GT(seen.planned, 0U);
}

TEST(Gears, ChangeBothWaysInSimulatedRandomProgramsThatEndTheSameTwice) {
  for_each_seed(40, [](base::Random&, std::uint64_t seed) {
    const auto run = [seed] {
      base::Random random(seed);
      TwoGearsPolicy::Seen seen;
      RuntimeImpl runtime(
          Options{},
          MachineSetup(little_memory(kRamPages, 1 + static_cast<std::uint32_t>(random.below(4)))),
          nullptr, std::make_unique<TwoGearsPolicy>(seen));
      GearsProgram(random, runtime, false).play(4);
      expect_both_ways(seen, 1);
      return std::pair(runtime.statistics().now.ns, seen.planned.load());
    };
    EXPECT_EQ(run(), run());
  });
}

TEST(Gears, ChangeBothWaysInRealRandomProgramsWithTheResultOfTheSequence) {
  for_each_seed(12, [](base::Random& random, std::uint64_t seed) {
    const Watchdog watchdog("gears, seed " + std::to_string(seed), 30);
    const TemporaryFolder folder("gears");
    Options options = small_options(1 + static_cast<std::uint32_t>(random.below(4)));
    options.memory = kPage * kRamPages;
    options.disk = folder.path();
    options.submitter_works = random.below(2) == 0;
    if (random.below(4) == 0) options.window_tasks = 20;
    if (random.below(4) == 0) options.compute_priorities = true;
    TwoGearsPolicy::Seen seen;
    RuntimeImpl runtime(options, MachineSetup(options), nullptr,
                        std::make_unique<TwoGearsPolicy>(seen));
    GearsProgram(random, runtime, true).play(4);
    expect_both_ways(seen, 1);
  });
}

TEST(Gears, ThatPlansForAcceleratorsBeginsSo) {
  const Watchdog watchdog("gears", 30);
  Options options = small_options(2);
  options.accelerators = 1;
  TwoGearsPolicy::Seen seen;
  RuntimeImpl runtime(options, MachineSetup(options), nullptr,
                      std::make_unique<TwoGearsPolicy>(seen));
  base::Random random(7);
  GearsProgram(random, runtime, true).play(3);
  EXPECT_EQ(seen.faults, 0U);
  EXPECT_EQ(seen.changes[static_cast<std::size_t>(sched::Gear::planned)], 1U);
  EXPECT_EQ(seen.changes[static_cast<std::size_t>(sched::Gear::immediate)], 0U);
}

TEST(Gears, StayInTheFirstWhereMemoryCannotBecomeShort) {
  const Options options = small_options(2);
  TwoGearsPolicy::Seen seen;
  RuntimeImpl runtime(options, MachineSetup(options), nullptr,
                      std::make_unique<TwoGearsPolicy>(seen));
  EXPECT_FALSE(runtime.engine().notes_submissions());
  base::Random random(3);
  GearsProgram(random, runtime, true).play(2);
  EXPECT_EQ(seen.faults, 0U);
  EXPECT_EQ(seen.changes[static_cast<std::size_t>(sched::Gear::planned)], 0U);
}

TEST(Gears, APolicyThatPlansInBothIsRefused) {
  struct Both final : TwoGearsPolicy {
    using TwoGearsPolicy::TwoGearsPolicy;
    sched::PolicyTraits traits() const override { return {.plans = true, .two_gears = true}; }
  };
  TwoGearsPolicy::Seen seen;
  const Options options = small_options();
  EXPECT_THAT(message_of<UsageError>([&] {
                const RuntimeImpl runtime(options, MachineSetup(options), nullptr,
                                          std::make_unique<Both>(seen));
              }),
              HasSubstr("leave plans out"));
}

// Nothing is deferred: the first task of the second gear is with the policy before anybody waits, and what was
// passed on in the first is planned.
TEST(Gears, TasksThatWerePassedOnAreKnownWhenMemoryBecomesShort) {
  TwoGearsPolicy::Seen seen;
  RuntimeImpl runtime(Options{}, MachineSetup(little_memory(kRamPages, 1)), nullptr,
                      std::make_unique<TwoGearsPolicy>(seen));
  std::vector<Handle> data;
  for (std::size_t i = 0; i < 3 * kRamPages; ++i) {
    data.push_back(runtime.add_simulated(kPage, NodeId{1}, "d" + std::to_string(i)));
  }
  for (int round = 0; round < 3; ++round) {
    for (const Handle handle : data) {
      runtime.submit({.codelet = &kMixes, .operands = {RW(handle)}, .parameters = Mixing{}});
    }
  }
  EXPECT_EQ(seen.planned, 0U);
  EXPECT_EQ(seen.pushed_planned, 0U);  // in simulation nothing runs before somebody waits
  runtime.wait();
  EXPECT_EQ(seen.faults, 0U);
  EXPECT_GT(seen.planned_passed_on, 0U);
  EXPECT_GT(seen.planned_before, 0U);
}

// --- planned copies

// Plans in the order of submission, and asks for a copy in place of a victim when the task named `at` has ended.
class LoadingPolicy final : public PlanningPolicy {
 public:
  struct Wanted {
    std::string at;
    std::string task;
    std::string datum;
    std::string victim;
  };
  explicit LoadingPolicy(Wanted wanted) : wanted_(std::move(wanted)) {}
  memory::VictimChoice* victims() override { return nullptr; }
  void plan(const sched::KnownTasks& known) override {
    PlanningPolicy::plan(known);
    for (graph::Task* const task : known.tasks) {
      if (task != nullptr) tasks_.push_back(task);
    }
    for (graph::Handle* const handle : known.data) data_.push_back(handle);
  }
  void task_done(graph::Task& task, WorkerId worker) override {
    if (task.name() == wanted_.at) {
      context_->load(*named(tasks_, wanted_.task), *named(data_, wanted_.datum), NodeId{1},
                     named(data_, wanted_.victim));
    }
    std::erase(tasks_, &task);
    PlanningPolicy::task_done(task, worker);
  }

 private:
  template <typename T>
  static T* named(const std::vector<T*>& list, const std::string& name) {
    for (T* const one : list) {
      if constexpr (requires { one->name(); }) {
        if (one->name() == name) return one;
      } else if (one->name == name) {
        return one;
      }
    }
    return nullptr;
  }

  const Wanted wanted_;
  std::vector<graph::Task*> tasks_;
  std::vector<graph::Handle*> data_;
};

constexpr Bytes kBlock = 1_MiB;

// What leaves a device with room for two blocks while tasks read a, b, c, a, b, one after the other. When the second
// has ended the plan says that c takes the place of `victim`.
std::vector<std::string> evicted_for(const std::string& victim) {
  static const Codelet read{.name = "read", .expected = {Time{0}, Time{1'000'000}}};
  const NodeId device{1};
  const BytesPerSecond bandwidth{1e9};
  MachineDescription machine{
      .nodes = {{kRam, "ram", NodeKind::ram, {}},
                {device, "device0", NodeKind::device, kBlock * 2 + 4_KiB}},
      .links = {{kRam, device, bandwidth, Time{0}, 1}, {device, kRam, bandwidth, Time{0}, 1}},
      .workers = {{WorkerId{0}, ProcessorKind::emulated, device}}};
  auto policy = std::make_unique<LoadingPolicy>(
      LoadingPolicy::Wanted{.at = "1", .task = "2", .datum = "c", .victim = victim});
  std::vector<std::string> evicted;
  policy->on_evicted = [&](const graph::Handle& handle, NodeId node) {
    if (node == device) evicted.push_back(handle.name);
  };
  LoadingPolicy& watched = *policy;
  RuntimeImpl runtime(Options{}, MachineSetup(machine), nullptr, std::move(policy));
  const Handle counter = runtime.add_simulated(Bytes{8}, kRam, "counter");
  std::deque<Handle> blocks;
  for (const char* name : {"a", "b", "c"}) {
    blocks.push_back(runtime.add_simulated(kBlock, kRam, name));
  }
  int number = 0;
  for (const std::size_t block : {0U, 1U, 2U, 0U, 1U}) {
    runtime.submit({.codelet = &read,
                    .operands = {R(blocks[block]), RW(counter)},
                    .name = std::to_string(number++)});
  }
  runtime.wait();
  watched.on_evicted = nullptr;
  return evicted;
}

// Without a plan the one used less recently leaves, a, which is read next, and b for that. c is not used again, and leaves
// before anything that is.
TEST(PlannedCopies, EvictThePlannedVictimOfAFullNode) {
  EXPECT_THAT(evicted_for("b"), ElementsAre("b", "c"));
  EXPECT_THAT(evicted_for("a"), ElementsAre("a", "c"));
}

}  // namespace
}  // namespace vicinal
