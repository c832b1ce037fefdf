// owner, load, directed and touch: where a task goes, by where its data belong; a schedule of each by hand.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/decision_rules.hpp"
#include "support/policy_fixture.hpp"
#include "support/told_run.hpp"
#include "vicinal/block_cyclic.hpp"
#include "vicinal/error.hpp"

namespace vicinal {
namespace {

using testing::changing;
using ::testing::ElementsAre;
using testing::FakeGraph;
using testing::reading;
using testing::winner_by_rule;
using testing::writing;
using trace::Decision;
using trace::Reason;

// Accelerators on the nodes 1, 2, ..., whose workers are 0, 1, ...: what a worker is given was placed there.
class PlacingTest : public testing::AcceleratorPolicyTest {
 protected:
  explicit PlacingTest(const char* name) : AcceleratorPolicyTest(name) {
    context.set_listener(listener);
  }
  // It runs and ends where it was placed; the worker has nothing else.
  void run_on(std::uint32_t worker, const std::string& name,
              const std::vector<testing::FakeOperand>& operands) {
    graph::Task& task = push(name, operands);
    ASSERT_EQ(pop(worker), name);
    policy->task_done(task, WorkerId{worker});
  }
  // A datum that the worker's task has written.
  graph::Handle& written_on(std::uint32_t worker) {
    graph::Handle& data = graph.data("d");
    graph::Task& task = graph.task("writes", {writing(data)}, {.worker = WorkerId{worker}});
    policy->push(task, kNoWorker);
    EXPECT_EQ(pop(worker), "writes");
    policy->task_done(task, WorkerId{worker});
    return data;
  }
  // A task that the worker is given, and that does not end.
  void burden(std::uint32_t worker, std::int64_t ns) {
    push("long", {}, {.time = Time{ns}, .worker = WorkerId{worker}});
    ASSERT_EQ(pop(worker), "long");
  }
  const Decision& placed() const {
    const std::vector<Decision>& heard = listener.heard();
    for (auto decision = heard.rbegin(); decision != heard.rend(); ++decision) {
      if (entry(decision->reason).kind == trace::DecisionKind::placement) return *decision;
    }
    throw std::logic_error("nothing was placed");
  }

  testing::Listener listener;
};

class Owner : public PlacingTest {
 protected:
  Owner() : PlacingTest("owner") {}
};

TEST_F(Owner, ATaskGoesWhereWhatItWritesWasWrittenLastWhateverWaitsThere) {
  start(3);
  graph::Handle& x = written_on(0);
  burden(0, 1000);
  push("t", {changing(x)});
  EXPECT_EQ(pop_all(2) + pop_all(1), "");
  EXPECT_EQ(pop_all(0), "t");
  EXPECT_EQ(placed().reason, Reason::belongs_there);
  EXPECT_EQ(placed().candidates[*placed().winner].id, nodes[0].value);
}

TEST_F(Owner, AdviceOutranksTheLastWriteAndCountsUntilItIsTakenBack) {
  start(2);
  graph::Handle& x = written_on(0);
  x.prefer(nodes[1]);
  run_on(1, "advised", {changing(x)});
  x.prefer(nodes[0]);
  run_on(0, "advised anew", {changing(x)});
  x.prefer({});
  run_on(0, "not advised", {changing(x)});
}

TEST_F(Owner, TheFirstOfTheWrittenOperandsCounts) {
  start(2);
  graph::Handle& x = written_on(0);
  graph::Handle& y = written_on(1);
  run_on(1, "t", {reading(x), writing(y), changing(x)});
}

TEST_F(Owner, DataThatNoTaskWroteGoToTheLeastLoadTheLastOnTies) {
  start(3);
  graph::Handle& x = written_on(0);
  burden(1, 20);
  // Of 10 ns each: ends are 10, 30, 10; then 10, 30, 20; then 20, 30, 20.
  for (const char* name : {"a", "b", "c"}) push(name, {reading(x), writing(graph.data(name))});
  EXPECT_EQ(pop_all(2), "a c");
  EXPECT_EQ(pop_all(0), "b");
}

TEST_F(Owner, TasksOfANodeGoByPriority) {
  start(1);
  for (const int priority : {1, 3, 2, 3}) {
    push(std::to_string(priority), {}, {.priority = priority});
  }
  EXPECT_EQ(pop_all(0), "3 3 2 1");
}

TEST_F(Owner, CoresHaveOnlyWhatNoAcceleratorCanRun) {
  const WorkerId core = context.add_worker();
  nodes.push_back(context.add_device());
  context.add_worker(nodes.back());
  policy->start(context);
  graph::Handle& x = written_on(core.value);
  push("t", {changing(x)});  // on the accelerator, though a core wrote x
  push("bound", {}, {.worker = core});
  EXPECT_EQ(pop_all(core.value), "bound");
  EXPECT_EQ(pop_all(1), "t");
}

// "far" reads 100 bytes that are on the accelerator: 100 and 10 are more than 50.
TEST_F(Owner, CoresHaveWhatTheyEndFirst) {
  const WorkerId core = context.add_worker();
  nodes.push_back(context.add_device());
  context.add_worker(nodes.back());
  policy->start(context);
  graph::Handle& x = graph.data("x");
  context.put(x, nodes[0]);
  const testing::FakeGraph::Attributes faster{.time = Time{10}, .accelerator_time = Time{50}};
  push("near", {}, faster);
  push("far", {reading(x)}, faster);
  push("equal", {}, {.time = Time{50}});
  EXPECT_EQ(pop_all(core.value), "near");
  EXPECT_EQ(pop_all(1), "far equal");
}

TEST_F(Owner, WhatWaitsForAWorkerThatIsAwayGoesToWhoCanRunIt) {
  start(2);
  graph::Handle& x = written_on(0);
  push("t", {changing(x)});
  push("bound", {}, {.worker = WorkerId{0}});
  EXPECT_EQ(pop(1), "-");
  context.set_away(WorkerId{0});
  EXPECT_EQ(pop_all(1), "t");
  const Decision& theft = listener.heard().back();
  EXPECT_EQ(theft.reason, Reason::longest_queue_left);
  EXPECT_EQ(theft.candidates[*theft.winner].id, nodes[0].value);
  run_on(1, "u", {changing(x)});  // where x was written last
}

TEST_F(Owner, AForgottenDatumBelongsNowhere) {
  start(2);
  graph::Handle& x = written_on(0);
  policy->data_forgotten(x);
  run_on(1, "t", {writing(x)});
}

// --- load

class Load : public PlacingTest {
 protected:
  explicit Load(const char* name = "load") : PlacingTest(name) {}
  // Of 100 ns, reading what worker 0 has written, which has `load`; the other has nothing.
  std::uint32_t worker_of_reader(std::int64_t load) {
    start(2);
    graph::Handle& x = written_on(0);
    burden(0, load);
    push("t", {reading(x), writing(graph.data("y"))}, {.time = Time{100}});
    EXPECT_EQ(placed().reason, Reason::least_weighed_end);
    EXPECT_EQ(winner_by_rule(placed()), placed().winner);
    return pop(0) == "t" ? 0 : 1;
  }
};

// 120 / 1.2 is 100, which is not above 100.
TEST_F(Load, ANodeThatEndsAFifthLaterKeepsWhatReadsItsData) {
  EXPECT_EQ(worker_of_reader(20), 0U);
}
// 122 / 1.2 is 101.7.
TEST_F(Load, ANodeThatEndsMoreThanAFifthLaterDoesNot) {
  EXPECT_EQ(worker_of_reader(22), 1U);
}

class LoadAlone : public Load {
 protected:
  LoadAlone() : Load("load:skew=0") {}
};
TEST_F(LoadAlone, LooksAtLoadAlone) {
  EXPECT_EQ(worker_of_reader(1), 1U);
}

class LoadThatClings : public Load {
 protected:
  LoadThatClings() : Load("load:skew=1e12") {}
};
TEST_F(LoadThatClings, KeepsWhatReadsItsDataAtAnyPrice) {
  EXPECT_EQ(worker_of_reader(1'000'000'000), 0U);
}

TEST_F(Load, AnOperandThatIsReadCountsWithoutWeighingIfItIsAdvised) {
  start(2);
  graph::Handle& x = written_on(1);
  x.prefer(nodes[0]);
  burden(0, 1000);
  run_on(0, "t", {reading(x), writing(graph.data("y"))});
}

// --- directed

class Directed : public PlacingTest {
 protected:
  Directed() : PlacingTest("directed") {}
  graph::Task& named(const std::string& name, NodeId node,
                     const std::vector<testing::FakeOperand>& operands = {}) {
    graph::Task& task = graph.task(name, operands);
    task.extension = std::make_unique<graph::TaskExtension>();
    task.extension->node = node;
    policy->push(task, kNoWorker);
    return task;
  }
};

TEST_F(Directed, ATaskGoesWhereItSaysWhateverItsDataSay) {
  start(2);
  graph::Handle& x = written_on(1);
  x.prefer(nodes[1]);
  named("t", nodes[0], {changing(x)});
  EXPECT_EQ(placed().reason, Reason::named_by_task);
  EXPECT_EQ(placed().node, nodes[0]);
  EXPECT_EQ(winner_by_rule(placed()), placed().winner);
  EXPECT_EQ(pop_all(0), "t");
}

TEST_F(Directed, ATaskThatCannotRunWhereItSaysGoesToTheLeastLoadAndTheDecisionSaysSo) {
  start(3);
  burden(2, 1000);
  burden(0, 500);
  named("t", kRam);
  EXPECT_EQ(placed().reason, Reason::named_cannot_run);
  EXPECT_EQ(placed().node, kRam);
  EXPECT_EQ(winner_by_rule(placed()), placed().winner);
  EXPECT_EQ(pop_all(1), "t");
}

TEST_F(Directed, ATaskThatSaysNothingFollowsWhatItWritesThenWhatItReads) {
  start(3);
  graph::Handle& x = written_on(0);
  graph::Handle& advised = graph.data("advised");
  advised.prefer(nodes[1]);
  run_on(1, "writes", {reading(x), writing(advised)});
  run_on(0, "reads", {reading(x), writing(graph.data("new"))});
}

// --- touch

class Touch : public PlacingTest {
 protected:
  Touch() : PlacingTest("touch") {}
};

TEST_F(Touch, DealsEachDatumOnceAndFollowsTheWrittenOne) {
  start(4);
  std::vector<graph::Handle*> data;
  for (int i = 0; i < 40; ++i) data.push_back(&graph.data("d" + std::to_string(i)));
  for (graph::Handle* const datum : data) push(datum->name, {changing(*datum)});
  std::vector<std::string> first;
  for (std::uint32_t worker = 0; worker < 4; ++worker) {
    first.push_back(pop_all(worker));
    EXPECT_NE(first.back(), "") << worker;  // or one of 4 would have none of 40
  }
  for (graph::Handle* const datum : data) push(datum->name, {reading(*data[0]), changing(*datum)});
  for (std::uint32_t worker = 0; worker < 4; ++worker) EXPECT_EQ(pop_all(worker), first[worker]);
  std::size_t draws = 0;
  for (const Decision& decision : listener.heard()) {
    EXPECT_EQ(winner_by_rule(decision), decision.winner);
    if (decision.reason == Reason::drawn) ++draws;
  }
  EXPECT_EQ(draws, data.size());
}

TEST_F(Touch, FollowsNoAdvice) {
  start(2);
  graph::Handle& x = graph.data("x");
  push("t", {writing(x)});
  const std::uint32_t there = pop(0) == "t" ? 0 : 1;
  if (there == 1) {
    ASSERT_EQ(pop(1), "t");
  }
  x.prefer(nodes[1 - there]);
  push("u", {writing(x)});
  EXPECT_EQ(pop_all(there), "u");
}

// --- schedules by hand: two accelerators, a byte takes 1 ns on a link, data pass through RAM

std::vector<std::uint64_t> nodes_of_placements(const testing::Listener& listener) {
  std::vector<std::uint64_t> all;
  for (const Decision& decision : listener.of(trace::DecisionKind::placement)) {
    if (decision.reason == Reason::drawn) continue;
    all.push_back(decision.candidates[*decision.winner].id);
  }
  return all;
}

class PlacingSchedule : public ::testing::Test {
 protected:
  static Codelet taking(std::int64_t ns) {
    return testing::codelet_of("t" + std::to_string(ns), Time{0}, Time{ns});
  }
  testing::Listener listener;
  const MachineDescription machine = testing::machine_of({.accelerators = 2});
  const Codelet k1 = taking(1000);
  const Codelet k3 = taking(3000);
  const Codelet k5 = taking(5000);
};

// a and b go to the least load, a to the last node on ties; e finds 5000 on both, and goes to the last. Those
// that change x follow a, each when the one before has ended.
//   node 2: a 0-5000, e 5000-8000, c 8000-13000, d 13000-18000
//   node 1: b 0-5000
TEST_F(PlacingSchedule, OfOwner) {
  testing::ToldRun run(machine, "owner", &listener);
  const Handle x = run.data(Bytes{100});
  run.submit({.codelet = &k5, .operands = {W(x)}});                     // a
  run.submit({.codelet = &k5, .operands = {W(run.data(Bytes{100}))}});  // b
  run.submit({.codelet = &k5, .operands = {RW(x)}});                    // c
  run.submit({.codelet = &k5, .operands = {RW(x)}});                    // d
  run.submit({.codelet = &k3, .operands = {W(run.data(Bytes{100}))}});  // e
  run.wait();
  EXPECT_THAT(nodes_of_placements(listener), ElementsAre(2, 1, 2, 2, 2));
  EXPECT_EQ(run.now(), Time{18000});
}

// w writes a on node 2, until 1000. Then r takes 1000 on either, which on node 2 counts as 833. s would end there
// after 2000, which counts as 1666, and after 1000 on node 1, where a comes through RAM.
//   node 2: w 0-1000, r 1000-2000
//   node 1: a arrives at 1200, s 1200-2200
TEST_F(PlacingSchedule, OfLoad) {
  testing::ToldRun run(machine, "load", &listener);
  const Handle a = run.data(Bytes{100});
  run.submit({.codelet = &k1, .operands = {W(a)}});
  for (int reader = 0; reader < 2; ++reader) {
    run.submit({.codelet = &k1, .operands = {R(a), W(run.data(Bytes{100}))}});
  }
  run.wait();
  EXPECT_THAT(nodes_of_placements(listener), ElementsAre(2, 2, 1));
  EXPECT_EQ(run.now(), Time{2200});
}

// The first two say node 1; the third reads what the first writes; the fourth's data are advised; the fifth says
// RAM, where nobody works, and finds 10000 and 3000.
//   node 1: 0-5000, 5000-10000, the third 10000-15000
//   node 2: the fourth 0-3000, the fifth 3000-4000
TEST_F(PlacingSchedule, OfDirected) {
  testing::ToldRun run(machine, "directed", &listener);
  const Handle x = run.data(Bytes{100});
  const Handle y = run.data(Bytes{100});
  y.impl()->prefer(NodeId{2});
  run.submit({.codelet = &k5, .operands = {W(x)}, .node = NodeId{1}});
  run.submit({.codelet = &k5, .node = NodeId{1}});
  run.submit({.codelet = &k5, .operands = {R(x), W(run.data(Bytes{100}))}});
  run.submit({.codelet = &k3, .operands = {W(y)}});
  run.submit({.codelet = &k1, .node = kRam});
  run.wait();
  EXPECT_THAT(nodes_of_placements(listener), ElementsAre(1, 1, 2, 2, 1));
  EXPECT_EQ(run.now(), Time{15000});
}

// The draws of seed 1 are 0.70, 0.52, 0.57, 0.39, 0.70; the nodes stand as 2, 1, so that one half and more is node 1.
// The fifth task reads what the fourth writes, and goes where its own datum belongs.
//   node 1: 0-1000, 1000-2000, 2000-3000, the fifth 3000-4000
//   node 2: the fourth 0-1000
TEST_F(PlacingSchedule, OfTouch) {
  testing::ToldRun run(machine, "touch", &listener);
  std::vector<Handle> x;
  for (int i = 0; i < 5; ++i) x.push_back(run.data(Bytes{100}));
  for (std::size_t i = 0; i < 4; ++i) run.submit({.codelet = &k1, .operands = {W(x[i])}});
  run.submit({.codelet = &k1, .operands = {R(x[3]), W(x[4])}});
  run.wait();
  EXPECT_THAT(nodes_of_placements(listener), ElementsAre(1, 1, 1, 2, 1));
  EXPECT_EQ(run.now(), Time{4000});
}

TEST(Directing, ANodeThatIsNotThereIsRefused) {
  Runtime runtime(testing::machine_of({.accelerators = 1}), Options{.policy = "directed"});
  const Codelet codelet = testing::codelet_of("t", Time{0}, Time{10});
  const Handle x = runtime.register_simulated(Bytes{100});
  EXPECT_THROW(runtime.advise(x, NodeId{2}), UsageError);
  EXPECT_THROW(runtime.submit({.codelet = &codelet, .operands = {W(x)}, .node = NodeId{2}}),
               UsageError);
  EXPECT_NO_THROW(runtime.advise(x, NodeId{1}));
  EXPECT_NO_THROW(runtime.advise(x, std::nullopt));
}

// --- the mapping

TEST(BlockCyclic, TheGridIsTheSquarestThatDividesTheDevices) {
  const auto shape = [](std::uint32_t devices) {
    const BlockCyclic mapping{.devices = devices};
    return std::pair(mapping.device_rows(), mapping.device_columns());
  };
  EXPECT_EQ(shape(1), std::pair(1U, 1U));
  EXPECT_EQ(shape(6), std::pair(3U, 2U));
  EXPECT_EQ(shape(7), std::pair(7U, 1U));
  EXPECT_EQ(shape(8), std::pair(4U, 2U));
  EXPECT_EQ(shape(9), std::pair(3U, 3U));
}

// Of 2 x 3 processes each with 6 = 3 x 2 devices: tile (7, 9) is number (3, 3) of its process.
TEST(BlockCyclic, TilesOfAProcessAreDealtByRowAndByColumn) {
  const BlockCyclic mapping{.devices = 6, .rows = 2, .columns = 3};
  EXPECT_EQ(mapping.device(7, 9), 3 % 3 * 2 + 3 % 2);
  EXPECT_EQ(mapping.device(4, 0), 4U);
  EXPECT_EQ(mapping.device(5, 2), 4U);
  EXPECT_EQ(mapping.device(5, 3), 5U);
  EXPECT_EQ(mapping.device(6, 6), 0U);
}

}  // namespace
}  // namespace vicinal
