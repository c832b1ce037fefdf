// The planner of `horizon`: what it makes of a graph, what an order costs, and how far its orders are from bounds.
#include "sched/orders/horizon/horizon.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sched/orders/horizon/blocks.hpp"
#include "sched/orders/horizon/deal.hpp"
#include "sched/orders/horizon/list_schedule.hpp"
#include "sched/orders/horizon/moves.hpp"
#include "sched/orders/horizon/units.hpp"

namespace vicinal::sched::orders::horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint64_t kTile = 1000;

struct Tasks {
  graph::Graph graph;

  explicit Tasks(std::size_t data, std::optional<NodeKind> home = NodeKind::ram) {
    graph.add_kernel({});
    for (std::size_t i = 0; i < data; ++i) graph.add_datum({.bytes = {kTile}, .home = home});
  }
  void add(const std::vector<graph::Graph::Access>& accesses) { graph.add_task(0, accesses); }
  PlanGraph plan() const {
    std::vector<Number> all(graph.tasks().size());
    std::iota(all.begin(), all.end(), Number{0});
    return plan_graph(graph, all, std::vector<Time>(all.size(), Time{1000}));
  }
};

// Right-looking, as it is submitted; tile (i, j) of the lower triangle is datum i * (i + 1) / 2 + j.
Tasks cholesky(Number n) {
  using enum AccessMode;
  Tasks tasks(n * (n + 1) / 2);
  const auto tile = [](Number i, Number j) { return i * (i + 1) / 2 + j; };
  for (Number k = 0; k < n; ++k) {
    tasks.add({{tile(k, k), RW}});
    for (Number i = k + 1; i < n; ++i) tasks.add({{tile(k, k), R}, {tile(i, k), RW}});
    for (Number i = k + 1; i < n; ++i) {
      for (Number j = k + 1; j < i; ++j) {
        tasks.add({{tile(i, k), R}, {tile(j, k), R}, {tile(i, j), RW}});
      }
      tasks.add({{tile(i, k), R}, {tile(i, i), RW}});
    }
  }
  return tasks;
}

Tasks random_tasks(base::Random& random, std::size_t tasks, std::size_t data) {
  Tasks made(data);
  for (std::size_t task = 0; task < tasks; ++task) {
    std::vector<graph::Graph::Access> accesses;
    std::set<Number> taken;
    for (std::uint64_t i = 1 + random.below(3); i > 0; --i) {
      const auto datum = static_cast<Number>(random.below(data));
      if (!taken.insert(datum).second) continue;
      accesses.push_back({datum, random.below(4) == 0 ? AccessMode::RW : AccessMode::R});
    }
    made.add(accesses);
  }
  return made;
}

bool keeps_dependencies(const PlanGraph& graph, const std::vector<Number>& order) {
  std::vector<Number> place(graph.tasks(), kNone);
  for (Number i = 0; i < order.size(); ++i) place[order[i]] = i;
  for (Number task = 0; task < graph.tasks(); ++task) {
    if (place[task] == kNone) return false;
    for (const Number after : graph.successors[task]) {
      if (place[after] <= place[task]) return false;
    }
  }
  return order.size() == graph.tasks();
}

TEST(HorizonGraph, PutsWhatCanComeEarlyFirstWhateverTheOrderOfSubmission) {
  using enum AccessMode;
  // Two chains, of two tasks on datum 0 and of three on datum 1.
  Tasks one(2);
  for (const Number datum : {0U, 0U, 1U, 1U, 1U}) one.add({{datum, RW}});
  Tasks other(2);
  for (const Number datum : {1U, 0U, 1U, 0U, 1U}) other.add({{datum, RW}});
  const auto data_of = [](const PlanGraph& plan) {
    std::vector<Number> data;
    for (Number task = 0; task < plan.tasks(); ++task) data.push_back(plan.uses_of(task)[0].datum);
    return data;
  };
  EXPECT_THAT(data_of(one.plan()), ElementsAre(1, 0, 1, 0, 1));
  EXPECT_EQ(data_of(one.plan()), data_of(other.plan()));
}

TEST(HorizonGraph, NamesADatumOncePerTaskAndTellsReadsFromWrites) {
  using enum AccessMode;
  Tasks tasks(3);
  tasks.add({{0, R}, {1, W}, {0, RW}, {2, scratch}});
  const PlanGraph plan = tasks.plan();
  ASSERT_EQ(plan.uses_of(0).size(), 3U);
  EXPECT_TRUE(plan.uses_of(0)[0].reads && plan.uses_of(0)[0].writes);
  EXPECT_TRUE(!plan.uses_of(0)[1].reads && plan.uses_of(0)[1].writes);
  EXPECT_TRUE(!plan.uses_of(0)[2].reads && !plan.uses_of(0)[2].writes);
}

TEST(HorizonGraph, LeavesOutWhatIsPast) {
  using enum AccessMode;
  Tasks tasks(1);
  for (int i = 0; i < 3; ++i) tasks.add({{0, RW}});
  const PlanGraph plan =
      plan_graph(tasks.graph, std::vector<Number>{1, 2}, std::vector<Time>(2, Time{1}));
  EXPECT_THAT(plan.number, ElementsAre(1, 2));
  EXPECT_THAT(plan.predecessors, ElementsAre(0, 1));
}

TEST(HorizonUnits, AreTheWritersOfADatumTheReadersOfAVersionOrTasks) {
  using enum AccessMode;
  Tasks tasks(4);
  tasks.add({{0, R}, {1, RW}});
  tasks.add({{0, R}, {2, RW}});
  tasks.add({{3, R}, {1, RW}});
  tasks.add({{3, R}, {2, RW}});
  const PlanGraph plan = tasks.plan();
  const auto owners = [&](Family family) { return units_of(plan, family).owner; };
  EXPECT_THAT(owners(Family::writers), ElementsAre(1, 2));
  EXPECT_THAT(owners(Family::readers), ElementsAre(0, 3));
  EXPECT_THAT(owners(Family::tasks), ElementsAre(kNone, kNone, kNone, kNone));
  const Units units = units_of(plan, Family::readers);
  EXPECT_THAT(units.predecessors, ElementsAre(0, 2));
  EXPECT_EQ(units.users[1].size(), 2U);
}

TEST(HorizonUnits, ThatWouldWaitForEachOtherFallApart) {
  using enum AccessMode;
  Tasks tasks(2);
  tasks.add({{0, RW}});
  tasks.add({{0, R}, {1, RW}});
  tasks.add({{1, R}, {0, RW}});
  EXPECT_EQ(units_of(tasks.plan(), Family::writers).count(), 3U);
}

// The least that any choice of what leaves can load.
std::uint64_t least_loads(const PlanGraph& graph, const std::vector<Number>& order,
                          std::size_t room) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  const std::function<void(std::size_t, std::set<Number>, std::uint64_t)> go =
      [&](std::size_t place, std::set<Number> there, std::uint64_t loads) {
        if (loads >= least) return;
        if (place == order.size()) {
          least = loads;
          return;
        }
        std::set<Number> needed;
        for (const Use& use : graph.uses_of(order[place])) needed.insert(use.datum);
        for (const Number datum : needed) {
          if (there.insert(datum).second) ++loads;
        }
        const std::function<void(std::set<Number>)> evict = [&](const std::set<Number>& left) {
          if (left.size() <= room) return go(place + 1, left, loads);
          for (const Number datum : left) {
            if (needed.contains(datum)) continue;
            std::set<Number> without = left;
            without.erase(datum);
            evict(without);
          }
        };
        evict(there);
      };
  go(0, {}, 0);
  return least;
}

std::vector<Placed> in_order(const PlanGraph& graph) {
  std::vector<Placed> order;
  order.reserve(graph.tasks());
  for (Number task = 0; task < graph.tasks(); ++task) order.push_back({task, 0});
  return order;
}

std::vector<Number> tasks_of(const std::vector<Placed>& order) {
  std::vector<Number> tasks;
  tasks.reserve(order.size());
  for (const Placed& placed : order) tasks.push_back(placed.task);
  return tasks;
}

TEST(HorizonCost, LoadsAsLittleAsTheOrderAllows) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    const PlanGraph plan = random_tasks(random, 9, 6).plan();
    const std::vector<Placed> order = in_order(plan);
    const Cost cost = cost_of(plan, order, {.bytes = 3 * kTile});
    EXPECT_EQ(cost.loaded, kTile * least_loads(plan, tasks_of(order), 3));
  }
}

TEST(HorizonCost, CopiesRunBesideTasksAndWaitForRoom) {
  using enum AccessMode;
  Tasks tasks(3);
  for (const Number datum : {0U, 1U, 2U}) tasks.add({{datum, R}});
  const PlanGraph plan = tasks.plan();
  const std::vector<Placed> order = in_order(plan);
  // A load takes 500 ns, a task 1000: the first load is waited for, the others run beside tasks.
  const Memories memory{.bytes = 3 * kTile, .in = {2e9}};
  EXPECT_EQ(cost_of(plan, order, memory).time, Time{3500});
  // With room for one datum each waits for the end of the task before.
  EXPECT_EQ(cost_of(plan, order, {.bytes = kTile, .in = {2e9}}).time, Time{4500});
  EXPECT_EQ(cost_of(plan, order, {.bytes = 3 * kTile, .in = {2e9}, .workers = 3}).time, Time{2500});
}

TEST(HorizonCost, OneByOneCopiesWaitForTheTaskBefore) {
  using enum AccessMode;
  Tasks tasks(2);
  for (const Number datum : {0U, 1U, 1U}) tasks.add({{datum, R}});
  const PlanGraph plan = tasks.plan();
  // A load takes 500 ns, a task 1000: the second load comes beside the first task, or behind it. The third task lacks
  // nothing.
  Memories memory{.bytes = 2 * kTile, .in = {2e9}};
  EXPECT_EQ(cost_of(plan, in_order(plan), memory).time, Time{3500});
  memory.one_by_one = true;
  EXPECT_EQ(cost_of(plan, in_order(plan), memory).time, Time{4000});
}

TEST(HorizonCost, CopiesRunAheadIntoTheReserve) {
  using enum AccessMode;
  Tasks tasks(4);
  for (const Number datum : {0U, 1U, 2U, 3U, 0U}) tasks.add({{0, R}, {datum, R}});
  const PlanGraph plan = tasks.plan();
  Memories memory{.bytes = 3 * kTile, .in = {1e9}};
  // Datum 0 stays. Data 1, 2 and 3 share two places.
  memory.reserve = kTile;
  const Cost ahead = cost_of(plan, in_order(plan), memory);
  // Data 1, 2 and 3 share one place.
  const Cost at_once = cost_of(plan, in_order(plan), {.bytes = 2 * kTile, .in = {1e9}});
  EXPECT_EQ(ahead.loaded, at_once.loaded);
  EXPECT_LT(ahead.time, at_once.time);
}

TEST(HorizonCost, ChangedDataAreWrittenBeforeTheirRoomIsTaken) {
  using enum AccessMode;
  Tasks tasks(2, std::nullopt);
  tasks.add({{0, W}});
  tasks.add({{1, W}});
  const PlanGraph plan = tasks.plan();
  const Cost cost = cost_of(plan, in_order(plan), {.bytes = kTile, .out = {1e9}});
  EXPECT_EQ(cost.loaded, 0U);
  EXPECT_EQ(cost.written, kTile);
  EXPECT_EQ(cost.time, Time{3000});
}

TEST(HorizonCost, WhatAnotherMemoryHasChangedIsWrittenFirst) {
  using enum AccessMode;
  Tasks tasks(1);
  tasks.add({{0, RW}});
  tasks.add({{0, RW}});
  const PlanGraph plan = tasks.plan();
  const Memories two{.count = 2, .bytes = kTile, .in = {1e9}, .out = {2e9}};
  // In 1000 ns, the task, out 500 ns, in 1000 ns, the task.
  const Cost apart = cost_of(plan, std::vector<Placed>{{0, 0}, {1, 1}}, two);
  EXPECT_EQ(apart.time, Time{4500});
  EXPECT_EQ(apart.loaded, 2 * kTile);
  EXPECT_EQ(apart.written, kTile);
  EXPECT_EQ(cost_of(plan, std::vector<Placed>{{0, 1}, {1, 1}}, two).time, Time{3000});
}

TEST(HorizonCost, CopiesOfAllMemoriesShareWhatTheyPass) {
  using enum AccessMode;
  Tasks tasks(2);
  for (const Number datum : {0U, 1U}) tasks.add({{datum, R}});
  const PlanGraph plan = tasks.plan();
  const std::vector<Placed> order{{0, 0}, {1, 1}};
  Memories two{.count = 2, .bytes = kTile, .in = {1e9}};
  EXPECT_EQ(cost_of(plan, order, two).time, Time{2000});
  two.bridges = {BytesPerSecond{1e9}};
  two.in_passes = {1, 0};
  EXPECT_EQ(cost_of(plan, order, two).time, Time{2000});
  two.in_passes = {1, 1};
  EXPECT_EQ(cost_of(plan, order, two).time, Time{3000});
}

TEST(HorizonCost, ATaskElsewhereReadsAtHomeAndChangesWhatMemoriesHold) {
  using enum AccessMode;
  Tasks tasks(1);
  for (int i = 0; i < 3; ++i) tasks.add({{0, RW}});
  const PlanGraph plan = plan_graph(tasks.graph, std::vector<Number>{0, 1, 2},
                                    std::vector<Time>(3, Time{1000}), {false, true, false});
  const Cost cost = cost_of(plan, in_order(plan), {.bytes = kTile, .in = {1e9}, .out = {1e9}});
  EXPECT_EQ(cost.loaded, 2 * kTile);
  EXPECT_EQ(cost.written, kTile);
  EXPECT_EQ(cost.time, Time{6000});
}

TEST(HorizonCost, WhatIsThereBeforeTheFirstTaskIsNotLoaded) {
  using enum AccessMode;
  Tasks tasks(3);
  for (const Number datum : {0U, 1U, 2U, 0U}) tasks.add({{datum, R}});
  PlanGraph plan = tasks.plan();
  const Memories memory{.bytes = 2 * kTile, .in = {1e9}};
  EXPECT_EQ(cost_of(plan, in_order(plan), memory).loaded, 3 * kTile);
  plan.initially.resize(3);
  plan.initially[0].held = 1;
  plan.initially[2].held = 1;
  // Datum 1 takes the room of datum 2, whose use comes later than that of 0: by Belady's rule 0 goes when 2 comes back.
  const Cost cost = cost_of(plan, in_order(plan), memory);
  EXPECT_EQ(cost.loaded, 2 * kTile);
  EXPECT_EQ(cost.written, 0U);
  EXPECT_GE(cost.time, Time{4000});
}

TEST(HorizonCost, WhatAMemoryHasChangedBeforeTheFirstTaskIsWrittenForOthers) {
  using enum AccessMode;
  Tasks tasks(1);
  tasks.add({{0, R}});
  PlanGraph plan = tasks.plan();
  plan.initially = {{.held = 2, .changed_in = 1}};
  const Memories two{.count = 2, .bytes = kTile, .in = {1e9}, .out = {1e9}};
  EXPECT_EQ(cost_of(plan, std::vector<Placed>{{0, 1}}, two).written, 0U);
  const Cost cost = cost_of(plan, std::vector<Placed>{{0, 0}}, two);
  EXPECT_EQ(cost.written, kTile);
  EXPECT_EQ(cost.loaded, kTile);
}

TEST(HorizonDeal, TasksGoWhereTheirDataAreBeforeTheFirst) {
  using enum AccessMode;
  Tasks tasks(8);
  for (Number datum = 0; datum < 8; ++datum) tasks.add({{datum, RW}});
  PlanGraph plan = tasks.plan();
  plan.initially.resize(8);
  for (Number datum = 0; datum < 8; ++datum) {
    plan.initially[datum] = {.held = datum % 2 + 1, .changed_in = datum % 2};
  }
  const Memories two{.count = 2, .bytes = 8 * kTile, .in = {1e9}, .out = {1e9}};
  const Planned planned = best_plan(plan, two);
  EXPECT_EQ(planned.cost.loaded, 0U);
  for (const auto& [task, memory] : planned.order) {
    EXPECT_EQ(memory, plan.uses_of(task).front().datum % 2);
  }
}

// Of a product in two dimensions rows and columns come by turns: after 2 n loads n^2 tasks can run.
TEST(HorizonBlocks, WhatMostTasksLackComesFirst) {
  using enum AccessMode;
  constexpr Number kSide = 6;
  Tasks tasks(2 * kSide);
  for (Number i = 0; i < kSide; ++i) {
    for (Number j = 0; j < kSide; ++j) tasks.add({{i, R}, {kSide + j, R}});
  }
  const PlanGraph plan = tasks.plan();
  const Blocks blocks = one_block(plan, units_of(plan, Family::tasks));
  ASSERT_EQ(blocks.order.size(), plan.tasks());
  std::set<Number> there;
  for (std::size_t ran = 0; ran < blocks.order.size(); ++ran) {
    for (const Use& use : plan.uses_of(blocks.order[ran])) there.insert(use.datum);
    // With n data there, so many tasks at least ran before this one loaded another.
    const std::size_t before = there.size() - 1;
    EXPECT_GE(ran + 1, (before / 2) * (before - before / 2)) << there.size() << " data";
  }
}

TEST(HorizonDeal, KeepsDependenciesAndUsesAllMemories) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    const PlanGraph plan = random_tasks(random, 1 + random.below(80), 1 + random.below(20)).plan();
    const Blocks blocks =
        grow_blocks(plan, units_of(plan, Family::writers), {.capacity = 3 * kTile});
    const std::vector<Placed> order =
        deal(plan, blocks, {.count = 3, .bytes = 6 * kTile, .in = {1e9}});
    EXPECT_TRUE(keeps_dependencies(plan, tasks_of(order)));
  }
  using enum AccessMode;
  Tasks tasks(3);
  for (int i = 0; i < 4; ++i) {
    for (const Number datum : {0U, 1U, 2U}) tasks.add({{datum, RW}});
  }
  const PlanGraph plan = tasks.plan();
  const Blocks blocks = grow_blocks(plan, units_of(plan, Family::writers), {.capacity = kTile});
  std::set<std::uint32_t> used;
  for (const Placed& placed : deal(plan, blocks, {.count = 3, .bytes = 6 * kTile})) {
    used.insert(placed.memory);
  }
  EXPECT_EQ(used.size(), 3U);
}

TEST(HorizonListSchedule, KeepsDependenciesAndUsesAllMemories) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    const PlanGraph plan = random_tasks(random, 1 + random.below(80), 1 + random.below(20)).plan();
    std::vector<std::int64_t> urgency(plan.tasks());
    for (std::int64_t& each : urgency) each = static_cast<std::int64_t>(random.below(9));
    const std::vector<Placed> order =
        list_schedule(plan, urgency, {.count = 3, .bytes = 6 * kTile, .in = {1e9}, .workers = 2});
    EXPECT_EQ(order.size(), plan.tasks());
    EXPECT_TRUE(keeps_dependencies(plan, tasks_of(order)));
  }
}

TEST(HorizonListSchedule, OfReadyTasksTheMostUrgentStartsFirst) {
  using enum AccessMode;
  Tasks tasks(1);
  for (int i = 0; i < 4; ++i) tasks.add({{0, R}});
  const PlanGraph plan = tasks.plan();
  const std::vector<std::int64_t> urgency{1, 3, 2, 3};
  EXPECT_EQ(tasks_of(list_schedule(plan, urgency, {.count = 1, .bytes = kTile})),
            (std::vector<Number>{1, 3, 2, 0}));
}

// Two data, two tasks on each: a copy takes as long as a task.
TEST(HorizonListSchedule, ATaskGoesWhereItStartsFirst) {
  using enum AccessMode;
  Tasks tasks(2);
  for (const Number datum : {0U, 1U, 0U, 1U}) tasks.add({{datum, R}});
  const PlanGraph plan = tasks.plan();
  const std::vector<Placed> order = list_schedule(plan, std::vector<std::int64_t>(4),
                                                  {.count = 2, .bytes = 2 * kTile, .in = {1e9}});
  std::map<Number, std::uint32_t> memory_of;
  for (const auto& [task, memory] : order) memory_of[plan.number[task]] = memory;
  EXPECT_NE(memory_of[0], memory_of[1]);
  EXPECT_EQ(memory_of[0], memory_of[2]);
  EXPECT_EQ(memory_of[1], memory_of[3]);
}

TEST(HorizonMoves, KeepDependenciesAndMakeNoOrderWorse) {
  std::size_t better = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    const PlanGraph plan = random_tasks(random, 1 + random.below(60), 1 + random.below(20)).plan();
    const auto loaded = [&](const std::vector<Number>& order) {
      std::vector<Placed> placed;
      for (const Number task : order) placed.push_back({task, 0});
      return static_cast<double>(cost_of(plan, placed, {.bytes = 4 * kTile}).loaded);
    };
    const std::vector<Number> before = tasks_of(in_order(plan));
    const std::vector<Number> after = moved_about(plan, before, 200, loaded);
    EXPECT_TRUE(keeps_dependencies(plan, after));
    EXPECT_LE(loaded(after), loaded(before));
    if (loaded(after) < loaded(before)) ++better;
  }
  EXPECT_GT(better, 20U);
}

// Copies take ten times as long as tasks: beside tasks they would push out what comes next. Where they take as long as
// tasks, they run beside them.
TEST(HorizonPlan, LetsCopiesWaitWhereMemoryIsShortAndCopiesAreLong) {
  const PlanGraph plan = cholesky(6).plan();
  EXPECT_TRUE(best_plan(plan, {.bytes = 5 * kTile, .in = {1e8}, .out = {1e8}}).one_by_one);
  EXPECT_FALSE(best_plan(plan, {.bytes = 5 * kTile, .in = {1e9}, .out = {1e9}}).one_by_one);
  EXPECT_FALSE(best_plan(plan, {.bytes = 16 * kTile, .in = {1e8}, .out = {1e8}}).one_by_one);
  EXPECT_FALSE(
      best_plan(plan, {.bytes = 5 * kTile, .in = {1e8}, .out = {1e8}, .workers = 2}).one_by_one);
}

TEST(HorizonBlocks, HoldEachTaskOnceBehindItsPredecessors) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    const PlanGraph plan = random_tasks(random, 1 + random.below(80), 1 + random.below(20)).plan();
    for (const Family family : {Family::writers, Family::readers, Family::tasks}) {
      const Units units = units_of(plan, family);
      for (const bool squares : {false, true}) {
        const Blocks blocks = grow_blocks(plan, units,
                                          {.capacity = kTile * random.below(12),
                                           .counts_bytes = squares,
                                           .falls = squares ? 2.0 : 0.5,
                                           .owners_count = squares ? 0.01 : 0});
        EXPECT_TRUE(keeps_dependencies(plan, blocks.order));
        EXPECT_EQ(blocks.ends.back(), plan.tasks());
        EXPECT_TRUE(std::ranges::is_sorted(blocks.ends));
      }
    }
  }
}

TEST(HorizonBlocks, OfNothingAreNone) {
  const PlanGraph plan = Tasks(3).plan();
  EXPECT_THAT(grow_blocks(plan, units_of(plan, Family::writers), {.capacity = 1}).order, IsEmpty());
  EXPECT_THAT(best_plan(plan, {.bytes = 1}).order, IsEmpty());
}

TEST(Horizon, TwoMemoriesEndSooner) {
  const PlanGraph plan = cholesky(20).plan();
  const Memories one{.bytes = 142 * kTile, .in = {1e9}, .out = {1e9}};
  Memories two = one;
  two.count = 2;
  EXPECT_LE(best_plan(plan, two).cost.time.ns,
            0.75 * static_cast<double>(best_plan(plan, one).cost.time.ns));
}

// Of N x N tiles in a memory of S, against max(N(N+1)/2, N^3 / (3 sqrt S)) tiles.
double cholesky_over_bound(Number n, Number s) {
  const Planned planned = best_plan(cholesky(n).plan(), {.bytes = s * kTile, .in = {1e9}});
  const double all = n * (n + 1) / 2.0;
  const double formula = std::pow(n, 3) / (3 * std::sqrt(s));
  return static_cast<double>(planned.cost.loaded) / kTile / std::max(all, formula);
}

TEST(Horizon, LoadsOfACholeskyFactorisationAreNearTheFormula) {
  EXPECT_LE(cholesky_over_bound(20, 142), 1.15);
  EXPECT_LE(cholesky_over_bound(24, 142), 1.15);
  EXPECT_LE(cholesky_over_bound(30, 71), 1.45);
  EXPECT_LE(cholesky_over_bound(40, 142), 1.4);
}

TEST(Horizon, ChoosesNoOrderThatIsWorseThanThatOfTheGraph) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    base::Random random(seed);
    const PlanGraph plan = random_tasks(random, 60, 20).plan();
    for (const std::uint32_t count : {1U, 3U}) {
      const Planned planned = best_plan(plan, {.count = count, .bytes = 10 * kTile, .in = {1e9}});
      EXPECT_TRUE(keeps_dependencies(plan, tasks_of(planned.order)));
      const Cost as_submitted = cost_of(
          plan, in_order(plan), {.bytes = 10 * kTile, .reserve = planned.reserve, .in = {1e9}});
      EXPECT_TRUE(planned.cost.time <= as_submitted.time ||
                  planned.cost.loaded + planned.cost.written <
                      as_submitted.loaded + as_submitted.written);
    }
  }
}

}  // namespace
}  // namespace vicinal::sched::orders::horizon
