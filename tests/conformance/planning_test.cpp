// Policies that plan: they are given every task once, as a graph, before it runs; their victims are those
// of the plan; long planning is cut into slices.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/bottom_level.hpp"
#include "runtime/runtime_impl.hpp"
#include "support/planning_policy.hpp"
#include "support/small_runs.hpp"
#include "vicinal/error.hpp"

namespace vicinal {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using runtime::MachineSetup;
using runtime::RuntimeImpl;
using sched::KnownTasks;
using ::testing::ElementsAre;

constexpr Bytes kPlanned = 1_MiB;

// RAM with a core, and an accelerator with so much memory.
MachineDescription planned_machine(Bytes device_memory = 1_GiB) {
  const NodeId device{1};
  const BytesPerSecond bandwidth{1e9};
  return {.nodes = {{kRam, "ram", NodeKind::ram, {}},
                    {device, "device0", NodeKind::device, device_memory}},
          .links = {{kRam, device, bandwidth, Time{0}, 1}, {device, kRam, bandwidth, Time{0}, 1}},
          .workers = {{WorkerId{0}, ProcessorKind::cpu, kRam},
                      {WorkerId{1}, ProcessorKind::emulated, device}}};
}

enum class On : std::uint8_t { simulated_machine, this_machine };

// A runtime under a planning policy that the test can look at.
struct PlannedRun {
  explicit PlannedRun(On on, Options options = small_options(),
                      std::unique_ptr<PlanningPolicy> given = std::make_unique<PlanningPolicy>(),
                      double pause = 0)
      : policy(*given),
        impl((options.plan_pause = pause, options),
             on == On::simulated_machine ? MachineSetup(planned_machine()) : MachineSetup(options),
             nullptr, std::move(given)) {}
  // Of 8 bytes, with content.
  Handle number(std::string name = {}) {
    return impl.add({8, 1, 8, 1}, {.kind = graph::HomeKind::buffer, .address = next_place()}, true,
                    std::move(name));
  }
  std::byte* next_place() { return reinterpret_cast<std::byte*>(&places[used++]); }

  PlanningPolicy& policy;
  std::vector<std::int64_t> places = std::vector<std::int64_t>(1000);
  std::size_t used = 0;
  RuntimeImpl impl;
};

const Codelet kCount{.name = "count", .cpu = nothing_kernel, .expected = {Time{1000}, Time{0}}};

class Planning : public ::testing::TestWithParam<On> {};
INSTANTIATE_TEST_SUITE_P(Everywhere, Planning,
                         ::testing::Values(On::simulated_machine, On::this_machine),
                         [](const auto& on) {
                           return on.param == On::simulated_machine ? "Simulated" : "Real";
                         });

// Lower tile Cholesky, right-looking.
void submit_cholesky(RuntimeImpl& runtime, const std::vector<std::vector<Handle>>& a) {
  const auto kernel = [](const char* name) {
    return Codelet{.name = name, .cpu = nothing_kernel, .expected = {Time{1000}, Time{0}}};
  };
  static const Codelet potrf = kernel("potrf");
  static const Codelet trsm = kernel("trsm");
  static const Codelet syrk = kernel("syrk");
  static const Codelet gemm = kernel("gemm");
  for (std::size_t k = 0; k < a.size(); ++k) {
    runtime.submit({.codelet = &potrf, .operands = {RW(a[k][k])}});
    for (std::size_t i = k + 1; i < a.size(); ++i) {
      runtime.submit({.codelet = &trsm, .operands = {R(a[k][k]), RW(a[i][k])}});
    }
    for (std::size_t i = k + 1; i < a.size(); ++i) {
      runtime.submit({.codelet = &syrk, .operands = {R(a[i][k]), RW(a[i][i])}});
      for (std::size_t j = k + 1; j < i; ++j) {
        runtime.submit({.codelet = &gemm, .operands = {R(a[i][k]), R(a[j][k]), RW(a[i][j])}});
      }
    }
  }
}

// 6 x 6 tiles: 6 potrf, 15 trsm, 15 syrk, 20 gemm on 21 tiles. The longest path has a potrf, a trsm and a syrk for
// each k but the last, which has a potrf: 3 * 5 + 1.
TEST_P(Planning, TheWholeGraphOfACholeskyIsKnownBeforeItRuns) {
  PlannedRun run(GetParam());
  std::vector<std::vector<Handle>> a(6);
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) a[i].push_back(run.number());
  }
  int calls = 0;
  run.policy.on_plan = [&](const KnownTasks& known) {
    ++calls;
    EXPECT_EQ(known.first, 0U);
    EXPECT_EQ(known.planned_before, 0U);
    EXPECT_EQ(known.data.size(), 21U);
    std::map<std::string, int> count;
    std::vector<Time> durations;
    for (const graph::Graph::Task& task : known.graph.tasks()) {
      const auto& kernel = known.graph.kernels()[task.kernel];
      ++count[kernel.name];
      EXPECT_DOUBLE_EQ(kernel.seconds[0], 1e-6);
      durations.push_back(Time{1});
    }
    using Counts = std::map<std::string, int>;
    EXPECT_EQ(count, (Counts{{"potrf", 6}, {"trsm", 15}, {"syrk", 15}, {"gemm", 20}}));
    const std::vector<Time> levels = graph::bottom_levels(known.graph, durations);
    EXPECT_EQ(std::ranges::max(levels), Time{16});
    // The last task is the potrf of the last tile, the one before it the syrk that it waits for.
    const auto last = known.graph.accesses_of(known.graph.tasks()[55]);
    ASSERT_EQ(last.size(), 1U);
    EXPECT_EQ(known.data[last[0].datum], a[5][5].impl());
    EXPECT_EQ(last[0].mode, AccessMode::RW);
    const auto before = known.graph.accesses_of(known.graph.tasks()[54]);
    ASSERT_EQ(before.size(), 2U);
    EXPECT_EQ(known.data[before[0].datum], a[5][4].impl());
    EXPECT_EQ(before[0].mode, AccessMode::R);
    EXPECT_EQ(known.data[before[1].datum], a[5][5].impl());
    EXPECT_EQ(known.tasks[54]->codelet->name, "syrk");
  };
  submit_cholesky(run.impl, a);
  EXPECT_EQ(calls, 0);
  run.impl.wait();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(run.policy.planned, 56U);
  EXPECT_EQ(run.policy.ended, 56U);
}

// When the window of 4096 is full all of it is known; half of it has ended when submission goes on. So the pieces are
// one of 4096, then about (1,000,000 - 4096) / 2048 = 487. More end while the submitter wakes: then pieces are larger.
TEST_P(Planning, AStreamThroughAWindowIsPlannedInPiecesThatFollowEachOther) {
  constexpr std::uint64_t kTasks = 1'000'000;
  Options options = small_options();
  options.window_tasks = 4096;
  PlannedRun run(GetParam(), options);
  std::vector<Handle> data;
  for (int i = 0; i < 64; ++i) data.push_back(run.number());
  std::uint64_t next = 0;
  std::size_t calls = 0;
  run.policy.on_plan = [&](const KnownTasks& known) {
    ++calls;
    ASSERT_EQ(known.first + known.planned_before, next);
    for (std::size_t i = known.planned_before; i < known.tasks.size(); ++i) {
      std::uint64_t number = 0;
      std::memcpy(&number, known.tasks[i]->parameters, sizeof(number));
      ASSERT_EQ(number, next++);
      const auto accesses = known.graph.accesses_of(known.graph.tasks()[i]);
      ASSERT_EQ(known.data[accesses[0].datum], data[number % 64].impl());
    }
  };
  for (std::uint64_t i = 0; i < kTasks; ++i) {
    run.impl.submit({.codelet = &kCount, .operands = {RW(data[i % 64])}, .parameters = i});
  }
  run.impl.wait();
  EXPECT_EQ(next, kTasks);
  EXPECT_LE(calls, 488U);
  EXPECT_GE(calls, 245U);  // 4096 at a time
  EXPECT_EQ(run.policy.ended, kTasks);
  EXPECT_EQ(run.impl.statistics().tasks_done, kTasks);
}

// --- victims

// What a device with room for some blocks and a counter loads and evicts while tasks read the blocks in this order, one
// after the other: each of them counts.
struct Reads {
  std::uint64_t loads = 0;
  std::vector<std::string> evicted;
};
Reads read_in_order(const std::vector<std::size_t>& order, std::uint64_t room,
                    std::unique_ptr<sched::Policy> policy, PlanningPolicy* watched) {
  static const Codelet read{.name = "read", .expected = {Time{0}, Time{1'000'000}}};
  RuntimeImpl runtime(Options{}, MachineSetup(planned_machine(kPlanned * room + 4_KiB)), nullptr,
                      std::move(policy));
  Reads reads;
  if (watched != nullptr) {
    watched->on_evicted = [&](const graph::Handle& handle, NodeId node) {
      if (node == NodeId{1}) reads.evicted.push_back(handle.name);
    };
  }
  const Handle counter = runtime.add_simulated(Bytes{8}, kRam, "counter");
  std::vector<Handle> blocks;
  for (std::size_t i = 0; i <= std::ranges::max(order); ++i) {
    blocks.push_back(
        runtime.add_simulated(kPlanned, kRam, std::string(1, static_cast<char>('a' + i))));
  }
  for (const std::size_t i : order) {
    runtime.submit({.codelet = &read, .operands = {R(blocks[i]), RW(counter)}});
  }
  runtime.wait();
  reads.loads = runtime.statistics().links[0].copies - 1;  // the counter's
  if (watched != nullptr) watched->on_evicted = nullptr;
  return reads;
}
Reads read_as_planned(const std::vector<std::size_t>& order, std::uint64_t room) {
  auto policy = std::make_unique<PlanningPolicy>();
  PlanningPolicy* const watched = policy.get();
  return read_in_order(order, room, std::move(policy), watched);
}
// 0 .. blocks - 1, again and again.
std::vector<std::size_t> in_a_circle(std::size_t blocks, std::size_t reads) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < reads; ++i) order.push_back(i % blocks);
  return order;
}

// Room for two. a, b are loaded; c (2) takes the place of b, read at 4, and not of a, read at 3; b (4) that of a,
// read at 6, not of c, read at 5; a (6) that of c, read at 8, not of b, read at 7. When c comes (8) nobody reads a or
// b any more: the one used less recently goes, a.
TEST(PlannedVictims, GoInTheOrderOfThePlan) {
  const Reads reads = read_as_planned(in_a_circle(3, 9), 2);
  EXPECT_THAT(reads.evicted, ElementsAre("b", "a", "c", "a"));
  EXPECT_EQ(reads.loads, 6U);  // a b c b a c
}

// The optimum, by looking at the order of all reads at once.
std::uint64_t fewest_loads(const std::vector<std::size_t>& order, std::size_t room) {
  std::vector<std::size_t> there;
  std::uint64_t loads = 0;
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (std::ranges::count(there, order[at]) > 0) continue;
    ++loads;
    if (there.size() == room) {
      const auto next_read = [&](std::size_t block) {
        return std::find(order.begin() + static_cast<std::ptrdiff_t>(at), order.end(), block);
      };
      there.erase(std::ranges::max_element(there, {}, next_read));
    }
    there.push_back(order[at]);
  }
  return loads;
}

// 16 blocks in a circle, 8 fit. Of the reads after the first round 7 in 15 find their block: each of 8 places
// has it but the one that the last read has taken. 128 - 112 * 7 / 15 = 76, and in the last round 4 fewer,
// for what has no reader left makes room for others.
//
// Least recently used finds none before the last round. Then 8 to 15 are there, 0 takes the place of 8, and each
// block after it that of the one before, which nobody reads any more: 9 to 15 are found. belady, which knows of
// one ready task at a time, is no better.
TEST(PlannedVictims, LoadTheFewestBytesWhereLeastRecentlyUsedReloadsAll) {
  const std::vector<std::size_t> order = in_a_circle(16, 128);
  EXPECT_EQ(read_as_planned(order, 8).loads, fewest_loads(order, 8));
  EXPECT_EQ(fewest_loads(order, 8), 72U);
  for (const std::string_view policy : {"eager", "belady"}) {
    EXPECT_EQ(read_in_order(order, 8, sched::make_policy(policy), nullptr).loads, 121U) << policy;
  }
}

// --- what is known of tasks

TEST_P(Planning, PrioritiesAreComputedOnTheSameGraphIfTheyAreAskedFor) {
  Options options = small_options();
  options.compute_priorities = true;
  PlannedRun run(GetParam(), options);
  const Handle x = run.number();
  std::vector<int> priorities;
  run.policy.on_plan = [&](const KnownTasks& known) {
    for (std::size_t i = 0; i < known.tasks.size(); ++i) {
      priorities.push_back(known.graph.tasks()[i].priority);
      EXPECT_EQ(known.tasks[i]->priority, priorities.back());
    }
  };
  for (int i = 0; i < 3; ++i) run.impl.submit({.codelet = &kCount, .operands = {RW(x)}});
  run.impl.wait();
  EXPECT_THAT(priorities, ElementsAre(3, 2, 1));  // microseconds to the end
}

TEST_P(Planning, DependenciesWithoutDataAreKnown) {
  PlannedRun run(GetParam());
  const TaskId first = run.impl.submit({.codelet = &kCount});
  const TaskId second = run.impl.submit({.codelet = &kCount});
  const std::vector<TaskId> both{second, first};
  run.impl.submit({.codelet = &kCount, .after = both});
  int calls = 0;
  run.policy.on_plan = [&](const KnownTasks& known) {
    ++calls;
    const auto before = known.graph.predecessors_of(2);
    EXPECT_THAT(std::vector(before.begin(), before.end()), ElementsAre(1, 0));
  };
  run.impl.wait();
  EXPECT_EQ(calls, 1);
}

TEST_P(Planning, WhatTheApplicationAcquiresStandsInTheGraphButIsNoTaskOfThePolicy) {
  PlannedRun run(GetParam());
  const Handle x = run.number();
  std::vector<bool> is_task;
  run.policy.on_plan = [&](const KnownTasks& known) {
    for (const graph::Task* const task : known.tasks) is_task.push_back(task != nullptr);
  };
  run.impl.submit({.codelet = &kCount, .operands = {RW(x)}});
  run.impl.release(*run.impl.acquire(x, AccessMode::R));
  EXPECT_THAT(is_task, ElementsAre(true, false));
  EXPECT_EQ(run.policy.planned, 1U);
}

// The application may have means of its own to wait.
TEST(RealPlanning, WhatNobodyWaitsForRunsAllTheSame) {
  const Watchdog watchdog("planned tasks that nobody waits for", 30);
  PlannedRun run(On::this_machine, small_options(2), std::make_unique<PlanningPolicy>(), 1e-3);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (int i = 0; i < 100; ++i) run.impl.submit({.codelet = &kNothing});
    while (run.impl.statistics().tasks_done < 100 * round) std::this_thread::yield();
  }
  run.impl.wait();
  EXPECT_EQ(run.policy.planned, 300U);
}

// Nobody waits for it.
TEST_P(Planning, AnInvalidationStandsInTheGraphAndPassesNothingOn) {
  PlannedRun run(GetParam());
  const Handle x = run.number();
  std::vector<bool> is_task;
  run.policy.on_plan = [&](const KnownTasks& known) {
    for (const graph::Task* const task : known.tasks) is_task.push_back(task != nullptr);
  };
  run.impl.application().invalidations.submit(x);  // at once: nothing is deferred
  for (int round = 0; round < 2; ++round) {
    run.impl.submit({.codelet = &kCount, .operands = {W(x)}});
    run.impl.application().invalidations.submit(x);
  }
  EXPECT_EQ(run.policy.planned, 0U);
  run.impl.wait();
  EXPECT_THAT(is_task, ElementsAre(true, false, true, false));
}

TEST(RealPlanning, TasksSubmittedInsideTasksAreKnownBeforeTheyRun) {
  PlannedRun run(On::this_machine);
  const Handle x = run.number();
  const Handle y = run.number();
  run.impl.submit({.codelet = &kCount, .operands = {RW(x)}, .on_end = [&](Outcome /*outcome*/) {
                     run.impl.submit({.codelet = &kCount, .operands = {RW(y)}});
                   }});
  run.impl.wait();
  EXPECT_EQ(run.policy.planned, 2U);
  EXPECT_EQ(run.policy.ended, 2U);
}

// 65,536 are deferred: then all of these are known and half of them pass on. The wait brings the others.
TEST(RealPlanning, WhenTooManyAreDeferredTheYoungerHalfIsKnownAgain) {
  PlannedRun run(On::this_machine);
  const Handle x = run.number();
  std::vector<std::size_t> known_each;
  std::vector<std::uint64_t> first;
  std::vector<std::size_t> before;
  run.policy.on_plan = [&](const KnownTasks& known) {
    known_each.push_back(known.tasks.size());
    first.push_back(known.first);
    before.push_back(known.planned_before);
  };
  for (int i = 0; i < 70'000; ++i) run.impl.submit({.codelet = &kCount, .operands = {RW(x)}});
  run.impl.wait();
  EXPECT_THAT(known_each, ElementsAre(65'536, 70'000 - 32'768));
  EXPECT_THAT(first, ElementsAre(0, 32'768));
  EXPECT_THAT(before, ElementsAre(0, 32'768));
  EXPECT_EQ(run.policy.ended, 70'000U);
}

// --- errors

void fail_kernel(KernelContext& /*context*/) {
  throw std::runtime_error("no");
}

TEST(RealPlanning, ThePolicyHearsTheEndOfTasksThatAreCancelledBeforeTheyAreReady) {
  PlannedRun run(On::this_machine);
  const Handle x = run.number();
  const Codelet fails{.name = "fails", .cpu = fail_kernel};
  run.impl.submit({.codelet = &fails, .operands = {RW(x)}});
  for (int i = 0; i < 10; ++i) run.impl.submit({.codelet = &kCount, .operands = {RW(x)}});
  EXPECT_THROW(run.impl.wait(), TaskError);
  EXPECT_EQ(run.policy.planned, 11U);
  EXPECT_EQ(run.policy.ended, 11U);
}

TEST_P(Planning, APlanThatFailsCancelsTheRunAndTheNextOneGoesOn) {
  PlannedRun run(GetParam());
  const Handle x = run.number();
  bool fails = true;
  run.policy.on_plan = [&](const KnownTasks& /*known*/) {
    if (std::exchange(fails, false)) throw std::runtime_error("no plan");
  };
  run.impl.submit({.codelet = &kCount, .operands = {RW(x)}});
  EXPECT_EQ(message_of<std::runtime_error>([&] { run.impl.wait(); }), "no plan");
  EXPECT_EQ(run.impl.statistics().tasks_cancelled, 1U);
  run.impl.submit({.codelet = &kCount, .operands = {W(x)}});
  run.impl.wait();
  EXPECT_EQ(run.impl.statistics().tasks_done, 1U);
}

// --- slices

// Plans 100 tasks per slice, and gives none before all are planned.
class SlowPolicy final : public PlanningPolicy {
 public:
  void plan(const KnownTasks& known) override {
    PlanningPolicy::plan(known);
    to_plan_ = known.tasks.size() - known.planned_before;
    context_->defer([this] {
      ++slices;
      to_plan_ -= std::min<std::size_t>(to_plan_, 100);
      if (slices == fails_in) throw std::runtime_error("no plan");
      return to_plan_ > 0;
    });
  }
  graph::Task* pop(WorkerId worker) override {
    return to_plan_ > 0 ? nullptr : PlanningPolicy::pop(worker);
  }
  std::size_t slices = 0;
  std::size_t fails_in = 0;

 private:
  std::size_t to_plan_ = 0;
};

// 1010 tasks: 11 slices. By workers without a task, or by the thread that waits, which may or may not work.
TEST_P(Planning, LongPlansAreMadeInSlicesByWhoeverHasNothingElseToDo) {
  for (const bool submitter_works : {true, false}) {
    for (const std::uint32_t workers : {1U, 4U}) {
      Options options = small_options(workers);
      options.submitter_works = submitter_works;
      auto policy = std::make_unique<SlowPolicy>();
      const SlowPolicy& slow = *policy;
      PlannedRun run(GetParam(), options, std::move(policy));
      const Handle x = run.number();
      for (std::size_t round = 1; round <= 20; ++round) {
        for (int i = 0; i < 1010; ++i) run.impl.submit({.codelet = &kCount, .operands = {RW(x)}});
        run.impl.wait();
        EXPECT_EQ(slow.slices, 11 * round);
      }
      EXPECT_EQ(run.policy.ended, 20'200U);
    }
  }
}

// 1010 tasks in a row, 1 us each.
TEST(SimulatedPlanning, SlicesTakeNoSimulatedTime) {
  PlannedRun run(On::simulated_machine, small_options(), std::make_unique<SlowPolicy>());
  const Handle x = run.number();
  for (int i = 0; i < 1010; ++i) run.impl.submit({.codelet = &kCount, .operands = {RW(x)}});
  run.impl.wait();
  EXPECT_EQ(run.impl.statistics().now, Time{1'010'000});
}

TEST_P(Planning, ASliceThatFailsCancelsTheRun) {
  auto policy = std::make_unique<SlowPolicy>();
  policy->fails_in = 11;
  PlannedRun run(GetParam(), small_options(), std::move(policy));
  const Handle x = run.number();
  for (int i = 0; i < 1010; ++i) run.impl.submit({.codelet = &kCount, .operands = {RW(x)}});
  EXPECT_EQ(message_of<std::runtime_error>([&] { run.impl.wait(); }), "no plan");
  EXPECT_EQ(run.policy.ended, 1010U);
}

}  // namespace
}  // namespace vicinal
