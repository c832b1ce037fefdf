// Reductions of graphs as data: in files, in what is known of a graph, and in the bounds.
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bounds/crossing.hpp"
#include "bounds/graph_bounds.hpp"
#include "graph/bottom_level.hpp"
#include "graph/combinations.hpp"
#include "graph/kernel_times.hpp"
#include "graph/without_parts.hpp"
#include "sched/orders/dependency_order.hpp"
#include "support/access_modes.hpp"
#include "support/graph_text.hpp"

namespace vicinal {
namespace {

using graph::Combination;
using graph::Graph;
using testing::accesses;
using ::testing::ElementsAre;
using testing::expect_valid;
using ::testing::HasSubstr;
using testing::parse_graph_json;
using testing::refusal;
using testing::written;

using testing::kR;
using testing::kRW;
using testing::kW;
constexpr AccessMode kReduce = AccessMode::reduction;

// --- files

constexpr std::string_view kDot = R"json({
  "data": {
    "x": {"bytes": 64, "home": "ram"},
    "sum": {"bytes": 8, "reduction": {"neutral": "zero", "combine": "add"}, "home": "ram"},
    "other": {"reduction": {"combine": "add", "neutral": "zero"}, "bytes": 16}
  },
  "kernels": {"dot": {}, "add": {"flops": 1}, "zero": {}},
  "tasks": [
    {"kernel": "dot", "accesses": [["x", "R"], ["sum", "reduction"]]},
    {"kernel": "dot", "accesses": [["x", "R"], ["other", "reduction"]]},
    {"kernel": "dot", "accesses": [["sum", "R"], ["other", "RW"]]}
  ]
})json";

TEST(GraphReductions, AreReadAndWritten) {
  const Graph graph = parse_graph_json(kDot, "g.json");
  ASSERT_EQ(graph.reductions().size(), 2U);
  for (const Graph& one : {graph, parse_graph_json(written(graph), "again")}) {
    for (std::size_t r = 0; r < 2; ++r) {
      const Graph::Reduction& reduction = one.reductions()[r];
      EXPECT_EQ(one.data_name(reduction.datum), r == 0 ? "sum" : "other");
      EXPECT_EQ(one.kernels()[reduction.neutral].name, "zero");
      EXPECT_EQ(one.kernels()[reduction.combine].name, "add");
    }
    EXPECT_EQ(one.data()[1].home, NodeKind::ram);
    EXPECT_EQ(accesses(one, 0), "x R, sum reduction");
    EXPECT_EQ(accesses(one, 2), "sum R, other RW");  // the reduction gave it a content
    expect_valid(one);
  }
  EXPECT_EQ(written(parse_graph_json(written(graph), "again")), written(graph));
}

std::string with_sum(std::string_view sum, std::string_view tasks) {
  return fmt::format(
      R"({{"data": {{"x": {{"bytes": 8, "home": "ram"}}, "sum": {}}},
           "kernels": {{"dot": {{}}, "add": {{}}, "zero": {{}}}}, "tasks": [{}]}})",
      sum, tasks);
}
constexpr std::string_view kSum =
    R"({"bytes": 8, "reduction": {"neutral": "zero", "combine": "add"}})";
constexpr std::string_view kTask = R"({"kernel": "dot", "accesses": [["sum", "reduction"]]})";

TEST(GraphReductions, SayWhatIsWrong) {
  struct Case {
    std::string text;
    std::string message;
  };
  const std::vector<Case> cases{
      {with_sum(R"({"bytes": 8})", kTask),
       "g.json: tasks[0] reduces into \"sum\", of which nobody has said how. Give the datum a "
       "\"reduction\""},
      {with_sum(R"({"bytes": 8, "reduction": "add"})", kTask),
       "data[\"sum\"].reduction: expected an object, found a string"},
      {with_sum(R"({"bytes": 8, "reduction": {"neutral": "zero"}})", kTask),
       "data[\"sum\"].reduction: \"combine\" is missing"},
      {with_sum(R"({"bytes": 8, "reduction": {"combine": "add"}})", kTask),
       "data[\"sum\"].reduction: \"neutral\" is missing"},
      {with_sum(R"({"bytes": 8, "reduction": {"neutral": 0}})", kTask),
       "data[\"sum\"].reduction.neutral: expected a string, found a number"},
      {with_sum(R"({"bytes": 8, "reduction": {"natural": "zero"}})", kTask),
       "data[\"sum\"].reduction: unknown key \"natural\": did you mean \"neutral\"?"},
      {with_sum(R"({"bytes": 8, "reduction": {"neutral": "zero", "neutral": "zero"}})", kTask),
       "data[\"sum\"].reduction: \"neutral\" stands twice"},
      {with_sum(R"({"bytes": 8, "reduction": {"neutral": "zero", "combine": "ad"}})", kTask),
       "data[\"sum\"].reduction.combine: there is no kernel \"ad\": did you mean \"add\"?"},
      {with_sum(R"({"bytes": 8, "reduction": {"neutral": "zer", "combine": "add"}})", kTask),
       "data[\"sum\"].reduction.neutral: there is no kernel \"zer\": did you mean \"zero\"?"},
      {with_sum(kSum, R"({"kernel": "dot", "accesses": [["sum", "reduction"], ["sum", "R"]]})"),
       "tasks[0].accesses[1]: a task names a datum twice, and reduces into it; name it once"},
      {with_sum(kSum,
                R"({"kernel": "dot", "accesses": [["sum", "reduction"], ["sum", "reduction"]]})"),
       "tasks[0].accesses[1]: a task names a datum twice"},
      {with_sum(kSum, R"({"kernel": "dot", "accesses": [["sum", "reduce"]]})"),
       "\"commute\", \"scratch\" or \"reduction\", found \"reduce\""},
      {with_sum(kSum, R"({"kernel": "dot", "accesses": [["sum", "R"]]})"),
       "tasks[0] (dot) reads \"sum\", which has no home"},
      {with_sum(kSum,
                std::string(kTask) + R"(, {"kernel": "dot", "accesses": [["sum", "scratch"]]})"),
       "tasks[1] uses \"sum\" as scratch, which has a content"},
      {with_sum(std::string(kSum) + R"(, "part": {"bytes": 4, "part_of": "sum"})", kTask),
       "data \"sum\" has a reduction, but is in parts: tasks cannot reduce into it"},
      {with_sum(
           R"({"bytes": 8, "part_of": "x", "reduction": {"neutral": "zero", "combine": "add"}})",
           kTask),
       "data \"sum\" has a reduction, but is a part of \"x\": tasks cannot reduce into it"},
  };
  for (const Case& wrong : cases) {
    EXPECT_THAT(refusal(parse_graph_json, wrong.text), HasSubstr(wrong.message)) << wrong.text;
  }
  EXPECT_EQ(refusal(parse_graph_json, with_sum(kSum, kTask)), "accepted");
}

// A task of 10^9 s, and what comes with it: its copy begins, the datum begins, they are combined.
TEST(GraphReductions, CountAmongTheTimesThatAClockHolds) {
  const auto text = [](double neutral) {
    return fmt::format(
        R"({{"data": {{"sum": {{"bytes": 8, "reduction": {{"neutral": "zero", "combine": "add"}}}}}},
             "kernels": {{"dot": {{"seconds": {{"cpu": 1e9}}}}, "add": {{"seconds": {{"cpu": 1e9}}}},
                          "zero": {{"seconds": {{"cpu": {}}}}}}},
             "tasks": [{{"kernel": "dot", "accesses": [["sum", "reduction"]]}}]}})",
        neutral);
  };
  EXPECT_EQ(refusal(parse_graph_json, text(0.99e9)), "accepted");
  EXPECT_EQ(refusal(parse_graph_json, text(1e9)), "accepted");  // 4 10^9 s
  const std::string two = R"({"kernel": "dot", "accesses": [["sum", "reduction"]]})";
  std::string longer = text(1e9);
  longer.insert(longer.rfind(two), two + ", ");
  EXPECT_THAT(refusal(parse_graph_json, longer), HasSubstr("the tasks take 8e+09 s"));
}

TEST(GraphReductions, OneDatumHasOne) {
  Graph graph = parse_graph_json(kDot, "g.json");
  graph.add_reduction(graph.reductions()[0]);
  EXPECT_THROW(require_sound(graph, "g"), UsageError);
}

// --- what is known of a graph

// Datum 0 has a home, 1 has none; kernel 0 is that of the tasks, 1 sets the neutral element, 2 combines.
Graph reducing(const std::vector<std::vector<Graph::Access>>& tasks, Bytes bytes = {8}) {
  Graph graph;
  graph.add_datum({.bytes = bytes, .home = NodeKind::ram}, "home");
  graph.add_datum({.bytes = bytes}, "none");
  for (const char* name : {"task", "zero", "add"}) graph.add_kernel({.name = name});
  graph.add_reduction({.datum = 0, .neutral = 1, .combine = 2});
  graph.add_reduction({.datum = 1, .neutral = 1, .combine = 2});
  for (const auto& task : tasks) graph.add_task(0, task);
  require_sound(graph, "graph");
  return graph;
}

struct Found {
  std::size_t reduction;
  std::size_t before;
  bool accumulates;
  friend bool operator==(const Found&, const Found&) = default;
};
std::vector<Found> combinations(const Graph& graph) {
  std::vector<Found> found;
  for (const Combination& each : graph::combinations_of(graph)) {
    found.push_back({each.reduction, each.before, each.accumulates});
  }
  return found;
}

TEST(GraphReductions, EndBeforeTheNextAccessThatIsNone) {
  const Graph graph = reducing({{{0, kReduce}, {1, kReduce}},  // 0
                                {{0, kReduce}},
                                {{1, kR}},       // 2: the second datum had no content
                                {{1, kReduce}},  // 3
                                {{0, kRW}, {1, kR}},
                                {{1, kReduce}}});  // to the end
  EXPECT_THAT(combinations(graph), ElementsAre(Found{1, 2, false}, Found{0, 4, true},
                                               Found{1, 4, true}, Found{1, 6, true}));
  EXPECT_THAT(combinations(graph::without_parts(graph)), combinations(graph));
  EXPECT_THAT(combinations(reducing({{{1, kW}}, {{1, kReduce}}})), ElementsAre(Found{1, 2, true}));
  EXPECT_TRUE(combinations(reducing({{{0, kRW}}})).empty());
}

std::vector<std::int64_t> levels(const Graph& graph, std::vector<Time> durations,
                                 const std::vector<Time>& of_combinations) {
  std::vector<std::int64_t> levels;
  for (const Time level : graph::bottom_levels(graph, std::move(durations), of_combinations)) {
    levels.push_back(level.ns);
  }
  return levels;
}

TEST(GraphReductions, BottomLevelsHaveOneCombinationBehindTasksThatDoNotFollowEachOther) {
  const Graph graph = reducing({{{0, kW}},         // 1 + max(10, 20) + 5 + 6 + 4 + 5
                                {{0, kReduce}},    // 10 + 5 + 6 + 4 + 5
                                {{0, kReduce}},    // 20 + 5 + 6 + 4 + 5
                                {{0, kRW}},        // 6 + 4 + 5
                                {{0, kReduce}}});  // 4 + 5
  const std::vector<Time> durations{{1}, {10}, {20}, {6}, {4}};
  EXPECT_THAT(levels(graph, durations, {{5}, {100}}), ElementsAre(41, 30, 40, 15, 9));
  EXPECT_THAT(levels(graph, durations, {}), ElementsAre(31, 20, 30, 10, 4));
}

TEST(GraphReductions, DoNotFollowThoseWhoReadBeforeThemButTheirCombinationDoes) {
  const Graph graph = reducing({{{0, kReduce}},    // 7 + 5 + max(20 + 5, 3 + 5)
                                {{0, kR}},         // 20 + 5
                                {{0, kReduce}},    // 3 + 5
                                {{0, kReduce}}});  // 4 + 5
  EXPECT_THAT(levels(graph, {{7}, {20}, {3}, {4}}, {{5}, {0}}), ElementsAre(37, 25, 8, 9));
}

TEST(GraphReductions, PrioritiesCountTheCombination) {
  // Two tasks of 1 s each; behind the first comes a combination, which takes 1 s.
  Graph graph = reducing({{{0, kReduce}}, {{1, kW}}});
  std::vector<Graph::Kernel> kernels(2, {.name = "task", .seconds = {1, 0, 0}});
  kernels.resize(6, {.name = "zero", .seconds = {1, 0, 0}});
  graph.set_kernels(kernels);
  EXPECT_EQ(graph.reductions()[0].neutral, 2U);
  EXPECT_EQ(graph.reductions()[1].combine, 5U);
  graph::set_bottom_level_priorities(graph);
  EXPECT_EQ(graph.tasks()[0].priority, 1);
  EXPECT_EQ(graph.tasks()[1].priority, 0);
}

TEST(GraphReductions, VariedTimesAreThoseOfTheirKernels) {
  Graph graph = reducing({{{0, kReduce}}, {{1, kReduce}}});
  constexpr auto kGpu = static_cast<std::size_t>(ProcessorKind::gpu);
  Graph::Kernel kernel;
  kernel.seconds[kGpu] = 1;
  graph.set_kernels(std::vector<Graph::Kernel>(6, kernel));
  const machine::MachineModel machine = machine::load_machine("v100p", {.gpus = 1});
  const Graph varied = graph::with_varied_times(graph, machine, 0.5, 3);
  ASSERT_EQ(varied.kernels().size(), 6U);
  std::set<double> seconds;
  for (const Graph::Kernel& each : varied.kernels()) seconds.insert(each.seconds[kGpu]);
  EXPECT_EQ(seconds.size(), 6U);
  EXPECT_EQ(varied.reductions()[1].neutral, 4U);
}

TEST(GraphReductions, OrdersLetThemStandInAnyOrderBetweenOthers) {
  using sched::orders::Order;
  const Graph graph =
      reducing({{{0, kRW}}, {{0, kReduce}}, {{0, kReduce}}, {{0, kR}}, {{0, kReduce}}});
  // A reader behind a run waits for its combination, one before a run and the run for nothing of each other.
  EXPECT_EQ(sched::orders::respecting_dependencies(Order{4, 3, 2, 1, 0}, graph),
            (Order{0, 2, 1, 4, 3}));
  const sched::orders::TaskInputs inputs = sched::orders::inputs_of(graph);
  EXPECT_TRUE(inputs[1].empty());  // what they reduce into is not brought to them
}

// --- bounds

constexpr auto kInside = bounds::Side::inside;
constexpr auto kOutside = bounds::Side::outside;
constexpr auto kEither = bounds::Side::either;
constexpr auto kAnywhere = bounds::FinalPlace::anywhere;
constexpr auto kHome = bounds::FinalPlace::outside;

// Kernels by their side, in the order in which reducing() adds them.
using Sides = std::array<bounds::Side, 3>;
bounds::Crossings crossings(const Graph& graph, const Sides& sides, bounds::FinalPlace finally) {
  const auto size = graph.data()[0].bytes;
  const std::vector<bounds::DatumUse> uses{
      {.size = size, .initially = kOutside, .finally = finally},
      {.size = size, .initially = kEither, .finally = kAnywhere}};
  return bounds::compulsory_crossings(graph, sides, uses, std::nullopt);
}

TEST(GraphReductions, CrossOnceFromTheSideThatReducesToTheOneThatCombines) {
  // Datum 1 begins anywhere.
  const Graph graph = reducing({{{1, kReduce}}, {{1, kReduce}}}, {8});
  EXPECT_EQ(crossings(graph, {kInside, kEither, kOutside}, kAnywhere).out.value, Bytes{8});
  EXPECT_EQ(crossings(graph, {kInside, kEither, kOutside}, kAnywhere).in.value, Bytes{0});
  EXPECT_EQ(crossings(graph, {kOutside, kEither, kInside}, kAnywhere).in.value, Bytes{8});
  EXPECT_EQ(crossings(graph, {kOutside, kEither, kInside}, kAnywhere).out.value, Bytes{0});
  for (const Sides& none : {Sides{kInside, kEither, kInside}, Sides{kEither, kEither, kInside},
                            Sides{kInside, kEither, kEither}}) {
    EXPECT_EQ(crossings(graph, none, kAnywhere).in.value, Bytes{0});
    EXPECT_EQ(crossings(graph, none, kAnywhere).out.value, Bytes{0});
  }
}

TEST(GraphReductions, LoadTheContentOnlyToCombine) {
  // The content of datum 0 is outside. Combined inside it comes in; combined outside it stays, and the copy goes out;
  // and so once more behind the task between, which changes it inside.
  const Graph graph = reducing({{{0, kReduce}}, {{0, kReduce}}});
  EXPECT_EQ(crossings(graph, {kInside, kEither, kInside}, kAnywhere).in.value, Bytes{8});
  EXPECT_EQ(crossings(graph, {kInside, kEither, kInside}, kAnywhere).out.value, Bytes{0});
  EXPECT_EQ(crossings(graph, {kInside, kEither, kInside}, kHome).out.value, Bytes{8});
  EXPECT_EQ(crossings(graph, {kInside, kEither, kOutside}, kAnywhere).in.value, Bytes{0});
  EXPECT_EQ(crossings(graph, {kInside, kEither, kOutside}, kAnywhere).out.value, Bytes{8});
  const Graph again = reducing({{{0, kReduce}}, {{0, kRW}}, {{0, kReduce}}});
  const bounds::Crossings both = crossings(again, {kInside, kEither, kOutside}, kAnywhere);
  EXPECT_EQ(both.in.value, Bytes{8});       // the first sum, for the task between
  EXPECT_EQ(both.out.value, Bytes{8 * 3});  // a copy, what the task made, a copy
}

// On one core of RAM.
TEST(GraphReductions, CountOneCopyAndOneCombinationInTheBoundsOnTime) {
  MachineDescription machine;
  machine.nodes.push_back({.id = kRam, .name = "ram", .kind = NodeKind::ram, .limit = {}});
  for (std::uint32_t w = 0; w < 2; ++w) {
    machine.workers.push_back({.id = {w}, .kind = ProcessorKind::cpu, .node = kRam});
  }
  // 5 s the task, 2 s the neutral element, 3 s a combination.
  const std::vector<std::array<double, kProcessorKinds>> seconds{{5, 0, 0}, {2, 0, 0}, {3, 0, 0}};
  const auto bounds_of = [&](const std::vector<std::vector<Graph::Access>>& tasks) {
    const bounds::GraphBounds bounds =
        bounds::graph_bounds(reducing(tasks), machine, seconds, kAnywhere);
    EXPECT_EQ(bounds.tasks, tasks.size());
    EXPECT_EQ(bounds.area.value, bounds.work.value);
    return std::array{bounds.work.value, bounds.path.value};
  };
  const auto down = [](double value) { return bounds::rounded_down(value); };
  // Two tasks of 5 s, one copy, one combination; a path of task and combination.
  EXPECT_THAT(bounds_of({{{0, kReduce}}, {{0, kReduce}}}),
              ElementsAre(down((2 * 5 + 2 + 3) / 2.0), Time{down(5).ns + down(3).ns}));
  // The datum without content begins with the neutral element, too.
  EXPECT_THAT(bounds_of({{{1, kReduce}}, {{1, kReduce}}}),
              ElementsAre(down((2 * 5 + 2 * 2 + 3) / 2.0), Time{down(5).ns + down(3).ns}));
  // Twice, with a task between that reads; the second run does not wait for it.
  EXPECT_THAT(
      bounds_of({{{1, kReduce}}, {{1, kR}}, {{1, kReduce}}}),
      ElementsAre(down((3 * 5 + 3 * 2 + 2 * 3) / 2.0), Time{2 * down(5).ns + 2 * down(3).ns}));
}

}  // namespace
}  // namespace vicinal
