#include "analysis/recorded_graph.hpp"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/graph_text.hpp"
#include "support/made_run.hpp"
#include "vicinal/error.hpp"

namespace vicinal::analysis {
namespace {

using graph::Graph;
using vicinal::testing::MadeRun;

TaskOfRun from_to(std::int64_t started, std::int64_t ended, std::uint32_t worker = 0) {
  TaskOfRun task;
  task.submitted = 0;
  task.worker = worker;
  task.started = started;
  task.ended = ended;
  return task;
}

double seconds(const Graph& graph, std::size_t kernel, ProcessorKind kind) {
  return graph.kernels()[kernel].seconds[static_cast<std::size_t>(kind)];
}

// Two tasks ran on a core, a third on the other kind of processor; the last failed.
MadeRun four_tasks() {
  MadeRun made(1, 1);
  const std::uint32_t x = made.datum("x", 8);
  made.task("axpy", from_to(0, 2000), {{x, AccessMode::RW}});
  made.task("axpy", from_to(2000, 6000), {{x, AccessMode::RW}});
  made.task("axpy", from_to(6000, 6500, 1), {{x, AccessMode::RW}});
  TaskOfRun failed = from_to(7000, 90000);
  failed.outcome = Outcome::failed;
  made.task("axpy", failed, {{x, AccessMode::RW}});
  return made;
}

TEST(RecordedGraph, TimesOfARealRunAreMeansOfEachKindOfProcessor) {
  const MadeRun made = four_tasks();
  const Graph graph = graph_of(made.run, "run");
  ASSERT_EQ(graph.kernels().size(), 1U);
  EXPECT_EQ(graph.tasks().size(), 4U);
  EXPECT_DOUBLE_EQ(seconds(graph, 0, ProcessorKind::cpu), 3e-6);
  EXPECT_DOUBLE_EQ(seconds(graph, 0, ProcessorKind::emulated), 0.5e-6);
  EXPECT_EQ(seconds(graph, 0, ProcessorKind::gpu), 0);
}

TEST(RecordedGraph, TimesOfTheirOwnAreThoseThatTasksTook) {
  const MadeRun made = four_tasks();
  const Graph graph = graph_of(made.run, "run", {}, TaskTimes::own);
  ASSERT_EQ(graph.kernels().size(), 4U);
  // On the other kind of processor longer or shorter by as much.
  const std::array<std::array<double, 2>, 4> expected{
      {{2e-6, 0.5e-6 * 2 / 3}, {4e-6, 0.5e-6 * 4 / 3}, {3e-6, 0.5e-6}, {3e-6, 0.5e-6}}};
  for (std::size_t task = 0; task < expected.size(); ++task) {
    EXPECT_EQ(graph.tasks()[task].kernel, task);
    EXPECT_EQ(graph.kernels()[task].name, "axpy");
    EXPECT_DOUBLE_EQ(seconds(graph, task, ProcessorKind::cpu), expected[task][0]);
    EXPECT_DOUBLE_EQ(seconds(graph, task, ProcessorKind::emulated), expected[task][1]);
  }
}

TEST(RecordedGraph, WhatACodeletWasGivenHoldsInSimulation) {
  MadeRun made(1);
  made.run.facts.simulated = true;
  const std::uint32_t x = made.datum("x", 8);
  const std::uint32_t first = made.task("gemm", from_to(0, 2000), {{x, AccessMode::RW}});
  const std::uint32_t second = made.task("gemm", from_to(2000, 5000), {{x, AccessMode::RW}});
  const std::uint32_t name = made.run.tasks[first].name;
  made.run.codelets = {{.name = name, .flops = 7, .ns = {1500}},
                       {.name = name, .flops = 7, .ns = {2500}}};
  made.run.tasks[first].codelet = 0;
  made.run.tasks[second].codelet = 1;
  const Graph graph = graph_of(made.run, "run");
  ASSERT_EQ(graph.kernels().size(), 2U);
  EXPECT_EQ(graph.kernels()[0].name, "gemm");
  const Graph own = graph_of(made.run, "run", {}, TaskTimes::own);
  ASSERT_EQ(own.kernels().size(), 2U);
  EXPECT_EQ(own.kernels()[1].name, "gemm");
  EXPECT_DOUBLE_EQ(seconds(own, 1, ProcessorKind::cpu), 2.5e-6);
  EXPECT_EQ(graph.kernels()[1].name, "gemm#2");
  EXPECT_DOUBLE_EQ(seconds(graph, 0, ProcessorKind::cpu), 1.5e-6);
  EXPECT_DOUBLE_EQ(seconds(graph, 1, ProcessorKind::cpu), 2.5e-6);
  EXPECT_EQ(graph.kernels()[0].flops, 7);
}

TEST(RecordedGraph, DependenciesWithoutDataAreDataOfNoBytes) {
  MadeRun made(1);
  const std::uint32_t x = made.datum("x", 8);
  const std::uint32_t first = made.task("a", from_to(0, 1), {{x, AccessMode::R}});
  TaskOfRun reading = from_to(1, 2);
  reading.kind = analysis::KindOfTask::acquisition;
  made.task("acquire", reading, {{x, AccessMode::R}});
  const std::uint32_t last = made.task("b", from_to(2, 3));
  made.run.dependencies = {{first, last}};
  const Graph graph = graph_of(made.run, "run");
  ASSERT_EQ(graph.tasks().size(), 2U);  // what the application reads is no task
  ASSERT_EQ(graph.data().size(), 2U);
  EXPECT_EQ(graph.data()[1].bytes, Bytes{0});
  const auto before = graph.accesses_of(graph.tasks()[0]);
  const auto after = graph.accesses_of(graph.tasks()[1]);
  ASSERT_EQ(before.size(), 2U);
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(before[1].datum, 1U);
  EXPECT_EQ(before[1].mode, AccessMode::W);
  EXPECT_EQ(after[0].datum, 1U);
  EXPECT_EQ(after[0].mode, AccessMode::R);
}

TEST(RecordedGraph, DataHaveNamesOfTheirOwnAndTheContentThatTheApplicationWrote) {
  MadeRun made(1);
  const std::uint32_t given = made.datum("x", 8);
  const std::uint32_t written = made.datum("x", 16);
  made.run.data[given].home = kNobody;
  made.run.data[written].home = kNobody;
  made.task("k", from_to(0, 1), {{given, AccessMode::R}, {written, AccessMode::W}});
  made.task("k", from_to(1, 2), {{written, AccessMode::RW}});
  const Graph graph = graph_of(made.run, "run");
  EXPECT_EQ(graph.data_name(0), "x");
  EXPECT_EQ(graph.data_name(1), "x#2");
  EXPECT_EQ(graph.data()[0].home, NodeKind::ram);
  EXPECT_EQ(graph.data()[1].home, std::nullopt);
}

void expect_refused(const MadeRun& made, const std::string& part) {
  try {
    graph_of(made.run, "run.vtrace");
    ADD_FAILURE() << "not refused: " << part;
  } catch (const UsageError& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("run.vtrace: ")) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

TEST(RecordedGraph, WhatAGraphCannotSayIsRefused) {
  MadeRun made(1);
  expect_refused(made, "no task was submitted");
  const std::uint32_t x = made.datum("x", 8);
  made.task("k", from_to(0, 1), {{x, AccessMode::RW}});
  MadeRun lost = made;
  lost.run.events_lost = 3;
  expect_refused(lost, "3 events were lost");
  MadeRun few = made;
  few.run.recorded = trace::bit(trace::Category::tasks);
  expect_refused(few, "submission");
  MadeRun reducing(1);
  const std::uint32_t sum = reducing.datum("sum", 8);
  reducing.task("add", from_to(0, 1), {{sum, AccessMode::reduction}});
  expect_refused(reducing, "reduces into sum, and by which kernels is not recorded");
  MadeRun divided(1);
  TaskOfRun task;
  task.submitted = 0;
  task.ended = 5;
  divided.task("solve", task);
  expect_refused(divided, "was divided into others while it ran");
}

// "kernel a R, b W" for each task.
std::vector<std::string> lines_of(const Graph& graph) {
  std::vector<std::string> lines;
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    lines.push_back(graph.kernels()[graph.tasks()[t].kernel].name + " " +
                    testing::accesses(graph, t));
  }
  return lines;
}

TEST(RecordedGraph, WhatTheRuntimeCombinesIsNoTask) {
  MadeRun made(1);
  const std::uint32_t sum = made.datum("sum", 8);
  const std::uint32_t copies[] = {made.datum("sum (private 0)", 8),
                                  made.datum("sum (private 1)", 8)};
  for (const std::uint32_t copy : copies) {
    made.run.data[copy].part_of = sum;
    made.run.data[copy].home = kNobody;
  }
  made.run.reductions = {{.datum = sum,
                          .neutral = {.name = made.name("zero"), .ns = {7}},
                          .combine = {.name = made.name("add")}}};
  made.task("term", from_to(0, 1000), {{sum, AccessMode::reduction}});
  made.task("term", from_to(0, 1000), {{sum, AccessMode::reduction}});
  made.task("add", from_to(1000, 3000), {{sum, AccessMode::RW}});  // the combination
  made.task("add", from_to(1000, 1500),
            {{copies[0], AccessMode::RW}, {copies[1], AccessMode::R}});  // the tree
  made.task("add", from_to(3000, 4000), {{sum, AccessMode::RW}});        // the application's own
  const Graph graph = graph_of(made.run, "run");
  EXPECT_THAT(lines_of(graph),
              ::testing::ElementsAre("term sum reduction", "term sum reduction", "add sum RW"));
  ASSERT_EQ(graph.data().size(), 1U);
  ASSERT_EQ(graph.reductions().size(), 1U);
  const Graph::Reduction& reduction = graph.reductions()[0];
  EXPECT_EQ(graph.kernels()[reduction.neutral].name, "zero");
  EXPECT_DOUBLE_EQ(seconds(graph, reduction.neutral, ProcessorKind::cpu), 7e-9);
  // The mean of 2000, 500 and 1000 ns.
  EXPECT_NEAR(seconds(graph, reduction.combine, ProcessorKind::cpu), 3500e-9 / 3, 1e-15);
}

TaskOfRun divided_task() {
  TaskOfRun task;
  task.submitted = 0;
  task.ended = 9;
  return task;
}

// solve(x, y) divides x, which it changes, into two parts; a task after it was submitted before those inside.
TEST(RecordedGraph, TasksInsideStandInThePlaceOfTheOneThatWasDivided) {
  MadeRun made(1);
  const std::uint32_t x = made.datum("x", 16);
  const std::uint32_t y = made.datum("y", 8);
  const std::uint32_t outer =
      made.task("solve", divided_task(), {{x, AccessMode::RW}, {y, AccessMode::R}});
  made.task("use", from_to(5, 6), {{x, AccessMode::R}});
  const std::uint32_t parts[] = {made.datum("x[0]", 8), made.datum("x[1]", 8)};
  for (const std::uint32_t part : parts) {
    made.run.data[part].part_of = x;
    const std::uint32_t task = made.task("step", from_to(1, 2), {{part, AccessMode::RW}});
    made.run.inside.push_back({task, outer});
  }
  const Graph graph = graph_of(made.run, "run");
  EXPECT_THAT(lines_of(graph),
              ::testing::ElementsAre("repartition x R, x[0] W, x[1] W, y R", "step x[0] RW",
                                     "step x[1] RW", "repartition x W, x[0] R, x[1] R", "use x R"));
  EXPECT_TRUE(graph.partitions().empty());
  EXPECT_FALSE(graph.data()[2].home);
  EXPECT_TRUE(graph.kernels().back().cores_only);
}

TEST(RecordedGraph, PartsOfSeveralDivisionsAreDataOfTheirOwn) {
  MadeRun made(1);
  const std::uint32_t x = made.datum("x", 8);
  made.task("fill", from_to(0, 1), {{x, AccessMode::W}});
  for (const char* const name : {"left", "right"}) {
    const std::uint32_t part = made.datum(name, 8);
    made.run.data[part].part_of = x;
    TaskOfRun passing = from_to(1, 1);
    passing.kind = analysis::KindOfTask::repartition;
    made.task("repartition", passing, {{x, AccessMode::RW}, {part, AccessMode::W}});
    made.task("step", from_to(1, 2), {{part, AccessMode::RW}});
    made.task("repartition", passing, {{x, AccessMode::W}, {part, AccessMode::RW}});
  }
  const Graph graph = graph_of(made.run, "run");
  EXPECT_THAT(lines_of(graph),
              ::testing::ElementsAre("fill x W", "repartition x RW, left W", "step left RW",
                                     "repartition x W, left RW", "repartition x RW, right W",
                                     "step right RW", "repartition x W, right RW"));
}

TEST(RecordedGraph, ACodeletWhoseTasksAllFailedCountsAsANanosecond) {
  MadeRun made(1, 1);
  const std::uint32_t x = made.datum("x", 8);
  TaskOfRun failed = from_to(0, 90000);
  failed.outcome = Outcome::failed;
  made.task("fails", failed, {{x, AccessMode::RW}});
  made.task("works", from_to(0, 500, 1), {{x, AccessMode::R}});
  const Graph graph = graph_of(made.run, "run");
  EXPECT_DOUBLE_EQ(seconds(graph, 0, ProcessorKind::emulated), 1e-9);
  EXPECT_EQ(seconds(graph, 0, ProcessorKind::cpu), 0);
}

TEST(RecordedGraph, TimesThatAreGivenGoBeforeThoseMeasured) {
  MadeRun made(1);
  const std::uint32_t x = made.datum("x", 8);
  made.task("gemm", from_to(0, 1000), {{x, AccessMode::RW}});
  const KernelTime times[] = {{"gemm", ProcessorKind::gpu, 1e-4},
                              {"gemm", ProcessorKind::cpu, 2e-4}};
  const Graph graph = graph_of(made.run, "run", times);
  EXPECT_EQ(seconds(graph, 0, ProcessorKind::gpu), 1e-4);
  EXPECT_EQ(seconds(graph, 0, ProcessorKind::cpu), 2e-4);
  const KernelTime wrong[] = {{"gem", ProcessorKind::gpu, 1e-4}};
  try {
    graph_of(made.run, "run", wrong);
    ADD_FAILURE();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(),
                ::testing::HasSubstr("no codelet \"gem\" in it: did you mean \"gemm\"?"));
  }
}

}  // namespace
}  // namespace vicinal::analysis
