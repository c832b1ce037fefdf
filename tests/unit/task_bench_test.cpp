#include "graphs/task_bench.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphs/make_graph.hpp"
#include "support/graph_text.hpp"

namespace vicinal::graphs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace ::vicinal::testing;

// "t1p0: 0 1", the points of the step before that each task of a step reads.
std::vector<std::string> reads_of_step(const graph::Graph& graph, std::uint64_t step) {
  const std::string prefix = fmt::format("t{}p", step);
  std::vector<std::string> list;
  for (const graph::Graph::Task& task : graph.tasks()) {
    const auto of_task = graph.accesses_of(task);
    const std::string name(graph.data_name(of_task.back().datum));
    EXPECT_EQ(of_task.back().mode, AccessMode::W);
    if (!name.starts_with(prefix)) continue;
    std::string line = name + ":";
    for (const graph::Graph::Access& access : of_task.first(of_task.size() - 1)) {
      EXPECT_EQ(access.mode, AccessMode::R);
      const std::string read(graph.data_name(access.datum));
      EXPECT_TRUE(read.starts_with(fmt::format("t{}p", step - 1))) << read;
      line += " " + read.substr(read.find('p') + 1);
    }
    list.push_back(line);
  }
  return list;
}

std::vector<std::string> second_step(const std::string& pattern, std::uint64_t width) {
  return reads_of_step(task_bench({.pattern = pattern, .width = width, .steps = 4}), 1);
}

TEST(TaskBench, EachPatternReadsWhatThePaperSays) {
  EXPECT_THAT(second_step("trivial", 3), ElementsAre("t1p0:", "t1p1:", "t1p2:"));
  EXPECT_THAT(second_step("no_comm", 3), ElementsAre("t1p0: 0", "t1p1: 1", "t1p2: 2"));
  EXPECT_THAT(second_step("stencil_1d", 3), ElementsAre("t1p0: 0 1", "t1p1: 0 1 2", "t1p2: 1 2"));
  EXPECT_THAT(second_step("stencil_1d_periodic", 4),
              ElementsAre("t1p0: 0 1 3", "t1p1: 0 1 2", "t1p2: 1 2 3", "t1p3: 0 2 3"));
  EXPECT_THAT(second_step("stencil_1d_periodic", 2), ElementsAre("t1p0: 0 1", "t1p1: 0 1"));
  EXPECT_THAT(second_step("tree", 4), ElementsAre("t1p0: 0", "t1p1: 0"));
  EXPECT_THAT(second_step("all_to_all", 2), ElementsAre("t1p0: 0 1", "t1p1: 0 1"));
  EXPECT_THAT(second_step("nearest", 4),
              ElementsAre("t1p0: 0 1", "t1p1: 0 1 2", "t1p2: 1 2 3", "t1p3: 2 3"));
}

TEST(TaskBench, AButterflyDoublesItsDistance) {
  const graph::Graph graph = task_bench({.pattern = "fft", .width = 4, .steps = 4});
  EXPECT_THAT(reads_of_step(graph, 1),
              ElementsAre("t1p0: 0 1", "t1p1: 0 1 2", "t1p2: 1 2 3", "t1p3: 2 3"));
  EXPECT_THAT(reads_of_step(graph, 2),
              ElementsAre("t2p0: 0 2", "t2p1: 1 3", "t2p2: 0 2", "t2p3: 1 3"));
  EXPECT_EQ(reads_of_step(graph, 3)[0], "t3p0: 0 1");
}

// Width 3 in 5 steps: 1, 2, 3, 2 and 1 tasks.
TEST(TaskBench, DomGrowsAndShrinks) {
  const graph::Graph graph = task_bench({.pattern = "dom", .width = 3, .steps = 5});
  EXPECT_EQ(graph.tasks().size(), 9U);
  EXPECT_THAT(reads_of_step(graph, 2), ElementsAre("t2p0: 0", "t2p1: 0 1", "t2p2: 1"));
  EXPECT_THAT(reads_of_step(graph, 3), ElementsAre("t3p1: 0 1", "t3p2: 1 2"));
  EXPECT_THAT(reads_of_step(graph, 4), ElementsAre("t4p2: 1 2"));
}

// W = 6, radix 3, period 2: p, p + 2 + s and p + 4 + s, s = t modulo 2.
TEST(TaskBench, SpreadShiftsInItsPeriod) {
  const graph::Graph graph =
      task_bench({.pattern = "spread", .width = 6, .steps = 3, .radix = 3, .period = 2});
  EXPECT_EQ(reads_of_step(graph, 1)[0], "t1p0: 0 3 5");
  EXPECT_EQ(reads_of_step(graph, 2)[0], "t2p0: 0 2 4");
}

TEST(TaskBench, RandomPatternsRepeatAfterTheirPeriodAndHoldThePointItself) {
  for (const char* const pattern : {"random_nearest", "random_spread"}) {
    const graph::Graph graph = task_bench(
        {.pattern = pattern, .width = 8, .steps = 7, .radix = 5, .period = 2, .seed = 4});
    const auto without_step = [&](std::uint64_t step) {
      std::vector<std::string> lines = reads_of_step(graph, step);
      for (std::string& line : lines) line.erase(0, line.find('p'));
      return lines;
    };
    EXPECT_EQ(without_step(2), without_step(4)) << pattern;
    EXPECT_NE(without_step(1), without_step(2)) << pattern;
    for (int p = 0; p < 8; ++p) {
      EXPECT_THAT(without_step(3)[static_cast<std::size_t>(p)] + " ",
                  HasSubstr(fmt::format(" {} ", p)));
    }
  }
}

TEST(TaskBench, ImbalanceSpreadsTheTimesAroundTheirMean) {
  const graph::Graph graph = task_bench({.width = 100, .steps = 20, .seconds = 1, .imbalance = 1});
  double sum = 0;
  for (const graph::Graph::Task& task : graph.tasks()) {
    const double seconds = graph.kernels()[task.kernel].seconds[0];
    EXPECT_GE(seconds, 0.5);
    EXPECT_LE(seconds, 1.5);
    sum += seconds;
  }
  EXPECT_NEAR(sum / 2000, 1, 0.05);  // the deviation of the mean is 0.29 / 45
}

TEST(TaskBench, EveryPatternIsAGraph) {
  EXPECT_EQ(task_bench_patterns().size(), 12U);
  for (const std::string_view pattern : task_bench_patterns()) {
    for (const std::uint64_t width : {1, 2, 7}) {
      GraphRequest request{.application = "task_bench", .width = width, .steps = 9};
      request.pattern = pattern;
      expect_valid(make_graph(request));
    }
  }
}

std::string refused_shape(const TaskBenchShape& shape) {
  try {
    task_bench(shape);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TaskBench, SaysWhatIsOutOfRange) {
  EXPECT_THAT(refused_shape({.pattern = "stencil1d"}),
              HasSubstr("no pattern \"stencil1d\": did you mean stencil_1d? There are trivial, "));
  EXPECT_THAT(
      refused_shape({.radix = 3}),
      HasSubstr("stencil_1d has no radix, only nearest, spread, random_nearest, random_spread"));
  EXPECT_THAT(refused_shape({.pattern = "spread", .fraction = 0.5}),
              HasSubstr("spread has no fraction, only random_nearest has one"));
  EXPECT_THAT(refused_shape({.pattern = "nearest", .period = 1}),
              HasSubstr("nearest has no period"));
  EXPECT_THAT(refused_shape({.pattern = "nearest", .width = 4, .radix = 5}),
              HasSubstr("radix is 5: choose it from 0 to 4"));
  EXPECT_THAT(refused_shape({.pattern = "spread", .period = 0}), HasSubstr("period is 0"));
  EXPECT_THAT(refused_shape({.pattern = "random_nearest", .fraction = 1.5}),
              HasSubstr("fraction is 1.5"));
  EXPECT_THAT(refused_shape({.imbalance = 3}), HasSubstr("imbalance is 3: choose it from 0 to 2"));
  EXPECT_THAT(refused_shape({.pattern = "all_to_all", .width = 9000}),
              HasSubstr("width of all_to_all"));
  EXPECT_THAT(refused_shape({.width = 0}), HasSubstr("width is 0"));
  EXPECT_THAT(refused_shape({.width = 10'000'000, .steps = 10}),
              HasSubstr("a smaller width or fewer steps"));
}

}  // namespace
}  // namespace vicinal::graphs
