// Recordings of whole runs, real and simulated, by what a reader gets of them.
#include <algorithm>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/recorded_graph.hpp"
#include "analysis/recorded_run.hpp"
#include "graphs/linalg_graphs.hpp"
#include "machine/machine_model.hpp"
#include "play/play.hpp"
#include "support/every_way.hpp"
#include "support/policy_names.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "trace/reader.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {
namespace {

using analysis::kUnknown;
using analysis::RecordedRun;
using analysis::RoomChange;
using analysis::TaskOfRun;

RecordedRun read(const std::string& file) {
  return RecordedRun(trace::Reader(file));
}

// Each task once, its steps in their order.
void expect_whole(const RecordedRun& run, std::size_t tasks) {
  std::size_t ran = 0;
  for (const TaskOfRun& task : run.tasks) {
    if (task.kind != analysis::KindOfTask::compute) continue;
    ++ran;
    const std::string name = run.name_of(static_cast<std::uint32_t>(&task - run.tasks.data()));
    ASSERT_TRUE(task.ran()) << name;
    EXPECT_NE(task.submitted, kUnknown) << name;
    EXPECT_LE(task.submitted, task.ready) << name;
    EXPECT_LE(task.ready, task.scheduled) << name;
    EXPECT_LE(task.scheduled, task.started) << name;
    EXPECT_LE(task.started, task.ended) << name;
    if (task.wanted == kUnknown) continue;
    EXPECT_LE(task.wanted, task.granted) << name;
    EXPECT_LE(task.granted, task.operands) << name;
  }
  EXPECT_EQ(ran, tasks);
}

// What statistics count is what the recording has.
void expect_as_counted(const RecordedRun& run, const Statistics& counted) {
  std::vector<std::uint64_t> in(counted.nodes.size());
  for (const analysis::CopyOfRun& copy : run.copies) {
    if (copy.started == kUnknown) continue;  // taken back while it waited for its link
    ASSERT_NE(copy.ended, kUnknown);
    in[copy.to] += copy.bytes;
  }
  std::vector<std::uint64_t> evictions(counted.nodes.size());
  for (const RoomChange& change : run.room) {
    if (change.kind == RoomChange::Kind::evicted) ++evictions[change.node];
  }
  for (std::size_t n = 0; n < counted.nodes.size(); ++n) {
    EXPECT_EQ(in[n], counted.nodes[n].bytes_in.value) << "node " << n;
    EXPECT_EQ(evictions[n], counted.nodes[n].evictions) << "node " << n;
  }
  std::map<std::uint32_t, std::uint64_t> tasks;
  for (const TaskOfRun& task : run.tasks) {
    if (task.ran()) ++tasks[task.worker];
  }
  for (std::size_t w = 0; w < counted.workers.size(); ++w) {
    EXPECT_EQ(tasks[static_cast<std::uint32_t>(w)], counted.workers[w].tasks) << "worker " << w;
  }
}

// A chain through rows of data and sums of neighbours, by more data than fit.
TEST_P(Every, ARecordingHasAllThatHappens) {
  constexpr int kData = 12;
  constexpr int kRounds = 3;
  Options with_trace = options();
  with_trace.trace = folder_.path() + "/run.vtrace";
  Statistics counted;
  {
    Runtime runtime(with_trace);
    std::vector<Handle> data;
    for (int i = 0; i < kData; ++i) {
      data.push_back(runtime.register_empty(kPage, "x" + std::to_string(i)));
      runtime.submit(set(data.back(), i));
    }
    const TraceRegion region = runtime.region("rounds");
    for (int round = 0; round < kRounds; ++round) {
      for (const Handle& x : data) runtime.submit(add(x, 1));
    }
    runtime.wait();
    runtime.mark("end of rounds");
    runtime.note("answer", "42");
    for (const Handle& x : data) runtime.unregister(x);  // waits for copies in flight
    counted = runtime.statistics();
  }
  const RecordedRun run = read(with_trace.trace);
  EXPECT_TRUE(run.complete);
  EXPECT_EQ(run.events_lost, 0U);
  EXPECT_EQ(run.facts.policy, std::string(GetParam().policy));
  expect_whole(run, kData * (kRounds + 1));
  expect_as_counted(run, counted);
  EXPECT_EQ(run.data.size(), std::size_t{kData});
  ASSERT_EQ(run.marks.size(), 2U);
  EXPECT_THAT(run.facts.told,
              ::testing::Contains(std::pair<std::string, std::string>("answer", "42")));
}

TEST(Recording, EachRuntimeOfAProcessHasOneOfItsOwn) {
  const TemporaryFolder folder("recordings");
  Options options = small_options();
  options.trace = folder.file("run.vtrace");
  const auto run_tasks = [&](int tasks) {
    Runtime runtime(options);
    const Handle x = runtime.register_empty(kPage, "x");
    for (int i = 0; i < tasks; ++i) runtime.submit(set(x, i));
    runtime.wait();
    return runtime.stop_trace().file;
  };
  EXPECT_EQ(run_tasks(1), folder.file("run.vtrace"));
  EXPECT_EQ(run_tasks(2), folder.file("run.2.vtrace"));
  options.trace = folder.path() + "/./run.vtrace";  // another way to the same file
  EXPECT_EQ(run_tasks(3), folder.path() + "/./run.3.vtrace");
  EXPECT_EQ(read(folder.file("run.vtrace")).tasks.size(), 1U);
  EXPECT_EQ(read(folder.file("run.2.vtrace")).tasks.size(), 2U);
  EXPECT_EQ(read(folder.file("run.3.vtrace")).tasks.size(), 3U);
  options.trace = "/dev/null";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(run_tasks(1), "/dev/null");
}

TEST(Recording, NoneIsMadeOfWhatCameBeforeIt) {
  TemporaryFolder folder("recording");
  Runtime runtime(small_options());
  const Handle x = runtime.register_empty(kPage, "x");
  runtime.submit(set(x, 1));
  runtime.wait();
  runtime.start_trace(folder.path() + "/part.vtrace", "tasks,submission");
  for (int i = 0; i < 3; ++i) runtime.submit(add(x, 1));
  runtime.wait();
  const TraceSummary summary = runtime.stop_trace();
  EXPECT_EQ(summary.events_lost, 0U);
  runtime.submit(add(x, 1));
  runtime.wait();
  const RecordedRun run = read(folder.path() + "/part.vtrace");
  EXPECT_EQ(run.tasks.size(), 3U);
  ASSERT_EQ(run.data.size(), 1U);
  EXPECT_EQ(run.data[0].name, "x");
  EXPECT_THAT(message_of<UsageError>([&] { runtime.start_trace("/no/such/folder/x"); }),
              HasSubstr("cannot be written"));
  EXPECT_THAT(message_of<UsageError>([&] { runtime.start_trace("x", "tasks,transfer"); }),
              HasSubstr("transfers"));
  EXPECT_EQ(value_of(runtime, x), 5);
}

// Also one that begins when a reduction has been declared knows it, and which data are its private copies.
TEST(Recording, KnowsReductionsDeclaredBeforeItOrInIt) {
  TemporaryFolder folder("recording");
  const Codelet zero{.name = "zero", .cpu = [](KernelContext& k) { *k.data<std::int64_t>(0) = 0; }};
  const Codelet sum{.name = "sum", .cpu = [](KernelContext& k) {
                      *k.data<std::int64_t>(0) += *k.data<std::int64_t>(1);
                    }};
  const Codelet term{.name = "term",
                     .cpu = [](KernelContext& k) { *k.data<std::int64_t>(0) += 1; }};
  std::int64_t values[] = {0, 0};
  {
    Runtime runtime(small_options());
    const Handle before = runtime.register_buffer(&values[0], Bytes{8}, "before");
    runtime.set_reduction(before, {.neutral = &zero, .combine = &sum});
    runtime.start_trace(folder.path() + "/run.vtrace", "all");
    const Handle later = runtime.register_buffer(&values[1], Bytes{8}, "later");
    runtime.set_reduction(later, {.neutral = &zero, .combine = &sum});
    for (int i = 0; i < 10; ++i) {
      runtime.submit({.codelet = &term, .operands = {Reduce(before)}});
      runtime.submit({.codelet = &term, .operands = {Reduce(later)}});
    }
    runtime.unregister(before);
    runtime.unregister(later);
    runtime.stop_trace();
  }
  EXPECT_EQ(values[0], 10);
  EXPECT_EQ(values[1], 10);
  const RecordedRun run = read(folder.path() + "/run.vtrace");
  ASSERT_EQ(run.reductions.size(), 2U);
  for (const analysis::ReductionOfRun& reduction : run.reductions) {
    EXPECT_EQ(run.names[reduction.neutral.name], "zero");
    EXPECT_EQ(run.names[reduction.combine.name], "sum");
    const auto copies =
        std::ranges::count(run.data, reduction.datum, &analysis::DatumOfRun::part_of);
    EXPECT_GT(copies, 0) << run.name_of_datum(reduction.datum);
  }
  const graph::Graph graph = analysis::graph_of(run, "run");
  EXPECT_EQ(graph.tasks().size(), 20U);
  EXPECT_EQ(graph.data().size(), 2U);
  EXPECT_EQ(graph.reductions().size(), 2U);
}

TEST(Recording, SaysHowTasksFailAndWhatIsCancelledWithThem) {
  TemporaryFolder folder("recording");
  Options options = small_options();
  options.trace = folder.path() + "/failed.vtrace";
  {
    const Codelet fails{.name = "fails",
                        .cpu = [](KernelContext&) { throw std::runtime_error("no"); }};
    Runtime runtime(options);
    const Handle x = runtime.register_empty(kPage, "x");
    runtime.submit({.codelet = &fails, .operands = {W(x)}});
    runtime.submit(add(x, 1));
    EXPECT_THROW(runtime.wait(), Error);
  }
  const RecordedRun run = read(options.trace);
  ASSERT_GE(run.tasks.size(), 2U);  // behind them the runtime forgets x
  EXPECT_EQ(run.tasks[0].outcome, Outcome::failed);
  EXPECT_EQ(run.tasks[1].outcome, Outcome::cancelled);
  EXPECT_FALSE(run.tasks[1].ran());
}

class RecordingOf : public ::testing::TestWithParam<std::string> {};

// The recording, with all decisions, changes no schedule, and what it says is what statistics count.
TEST_P(RecordingOf, ASimulationIsTheSameWithIt) {
  TemporaryFolder folder("recording");
  const graph::Graph graph = graphs::cholesky({.tiles = 8, .tile = 256});
  const machine::MachineModel machine =
      machine::load_machine("v100", {.gpus = 2, .gpu_memory = Bytes{6 << 20}});
  Options options;
  options.policy = GetParam();
  const play::Played without = play::play(graph, machine, options);
  options.trace = folder.path() + "/run.vtrace";
  const play::Played with = play::play(graph, machine, options);
  EXPECT_EQ(with.after.now, without.after.now);
  EXPECT_EQ(with.last.nodes[1].bytes_in, without.last.nodes[1].bytes_in);
  const RecordedRun run = read(options.trace);
  EXPECT_TRUE(run.facts.simulated);
  EXPECT_FALSE(run.decisions.empty());
  expect_whole(run, graph.tasks().size());
  expect_as_counted(run, with.last);
}

INSTANTIATE_TEST_SUITE_P(Policies, RecordingOf, ::testing::ValuesIn(policy_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace vicinal::testing
