#include "analysis/recorded_graph.hpp"

#include <string>

#include <gtest/gtest.h>

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

TEST(RecordedGraph, TimesOfARealRunAreMeansOfEachKindOfProcessor) {
  MadeRun made(1, 1);
  const std::uint32_t x = made.datum("x", 8);
  made.task("axpy", from_to(0, 2000), {{x, AccessMode::RW}});
  made.task("axpy", from_to(2000, 6000), {{x, AccessMode::RW}});
  made.task("axpy", from_to(6000, 6500, 1), {{x, AccessMode::RW}});
  TaskOfRun failed = from_to(7000, 90000);
  failed.outcome = Outcome::failed;
  made.task("axpy", failed, {{x, AccessMode::RW}});
  const Graph graph = graph_of(made.run, "run");
  ASSERT_EQ(graph.kernels().size(), 1U);
  EXPECT_EQ(graph.tasks().size(), 4U);
  EXPECT_DOUBLE_EQ(seconds(graph, 0, ProcessorKind::cpu), 3e-6);
  EXPECT_DOUBLE_EQ(seconds(graph, 0, ProcessorKind::emulated), 0.5e-6);
  EXPECT_EQ(seconds(graph, 0, ProcessorKind::gpu), 0);
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
  MadeRun twice = made;
  for (int i = 0; i < 2; ++i) {
    const std::uint32_t part = twice.datum("part", 8);
    twice.run.data[part].home = kNobody;
    twice.run.data[part].part_of = x;
  }
  expect_refused(twice, "x was in parts in several ways");
}

}  // namespace
}  // namespace vicinal::analysis
