#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/bottom_level.hpp"
#include "graphs/linalg_graphs.hpp"
#include "graphs/make_graph.hpp"
#include "graphs/synthetic_graphs.hpp"
#include "support/graph_text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace ::vicinal::testing;

// "gemm A2_0 R, A1_0 R, A2_1 RW @5"
std::vector<std::string> stream(const Graph& graph) {
  std::vector<std::string> lines;
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    lines.push_back(fmt::format("{} {} @{}", graph.kernels()[graph.tasks()[t].kernel].name,
                                accesses(graph, t), graph.tasks()[t].priority));
  }
  return lines;
}

// Of each task, if a task of kernel k takes `lengths[k]`.
std::vector<std::int64_t> bottom_levels(const Graph& graph,
                                        const std::vector<std::int64_t>& lengths) {
  std::vector<Time> durations;
  for (const Graph::Task& task : graph.tasks()) durations.push_back({lengths.at(task.kernel)});
  std::vector<std::int64_t> levels;
  for (const Time level : graph::bottom_levels(graph, durations)) levels.push_back(level.ns);
  return levels;
}

// Tasks on the longest path.
std::int64_t depth(const Graph& graph) {
  const auto levels = bottom_levels(graph, std::vector<std::int64_t>(graph.kernels().size(), 1));
  return *std::max_element(levels.begin(), levels.end());
}

template <typename Make>
std::string refusal_of(Make make) {
  try {
    make();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

std::uint64_t bytes_of(const Graph& graph) {
  std::uint64_t sum = 0;
  for (const Graph::Datum& datum : graph.data()) sum += datum.bytes.value;
  return sum;
}

TEST(CholeskyGraph, IsTheReferenceStreamTaskByTask) {
  const Graph graph = cholesky({.tiles = 3, .tile = 960});
  EXPECT_THAT(data_names(graph), ElementsAre("A0_0", "A1_0", "A1_1", "A2_0", "A2_1", "A2_2"));
  EXPECT_EQ(graph.data()[3].bytes.value, 3'686'400U);  // 960 * 960 * 4
  EXPECT_THAT(stream(graph),
              ElementsAre("potrf A0_0 RW @6", "trsm A0_0 R, A1_0 RW @5", "trsm A0_0 R, A2_0 RW @4",
                          "syrk A1_0 R, A1_1 RW @5", "gemm A2_0 R, A1_0 R, A2_1 RW @3",
                          "syrk A2_0 R, A2_2 RW @4", "potrf A1_1 RW @4", "trsm A1_1 R, A2_1 RW @2",
                          "syrk A2_1 R, A2_2 RW @2", "potrf A2_2 RW @2"));
}

// By the formulas of linalg::BottomLevels, in b^3/3 operations: potrf 17, 8, 1; trsm 16, 7; syrk(1,0) 11,
// syrk(2,0) 7, syrk(2,1) 4; gemm 13. Their ranks are the priorities.
TEST(CholeskyGraph, AsRunIsWhatTheApplicationSubmits) {
  const Graph graph = cholesky_as_run({.tiles = 3, .tile = 960});
  EXPECT_THAT(data_names(graph), ElementsAre("A0_0", "A1_0", "A2_0", "A1_1", "A2_1", "A2_2"));
  EXPECT_THAT(
      stream(graph),
      ElementsAre("potrf A0_0 RW @7", "trsm A0_0 R, A1_0 RW @6", "trsm A0_0 R, A2_0 RW @6",
                  "syrk A1_0 R, A1_1 RW @4", "syrk A2_0 R, A2_2 RW @2",
                  "gemm A2_0 R, A1_0 R, A2_1 RW @5", "potrf A1_1 RW @3", "trsm A1_1 R, A2_1 RW @2",
                  "syrk A2_1 R, A2_2 RW @1", "potrf A2_2 RW @0"));
}

TEST(CholeskyGraph, HasTheTasksTheOperationsAndTheDepthOfTheAlgorithm) {
  const Graph graph = cholesky({.tiles = 12, .tile = 100, .precision = linalg::Precision::f64});
  // n + n(n-1)/2 + n(n-1)/2 + n(n-1)(n-2)/6
  EXPECT_EQ(graph.tasks().size(), 12U + 66 + 66 + 220);
  EXPECT_EQ(graph.data().size(), 78U);
  EXPECT_EQ(bytes_of(graph), 78U * 100 * 100 * 8);
  EXPECT_EQ(graph.application().precision, "double");
  EXPECT_NEAR(graph.flops() / (1200.0 * 1200 * 1200 / 3), 1, 1e-12);
  EXPECT_EQ(depth(graph), 3 * 12 - 2);  // potrf, trsm, syrk or gemm for each column but the last
}

TEST(LuGraph, IsRightLooking) {
  const Graph graph = lu({.tiles = 2, .tile = 10});
  // m = 1: getrf(0) = 13, trsm(1,0) = 11, gemm(1,1,0) = 6 + getrf(1), getrf(1) = 2.
  EXPECT_THAT(stream(graph), ElementsAre("getrf A0_0 RW @13", "trsm A0_0 R, A0_1 RW @11",
                                         "trsm A0_0 R, A1_0 RW @11",
                                         "gemm A1_0 R, A0_1 R, A1_1 RW @8", "getrf A1_1 RW @2"));
}

TEST(LuGraph, PrioritiesAreTheBottomLevels) {
  for (std::uint64_t n = 1; n <= 9; ++n) {
    const Graph graph = lu({.tiles = n, .tile = 10});
    const auto levels = bottom_levels(graph, {2, 3, 6});  // getrf, trsm, gemm
    for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
      ASSERT_EQ(graph.tasks()[t].priority, levels[t]) << n << " tiles: " << stream(graph)[t];
    }
  }
}

TEST(LuGraph, HasTheTasksTheOperationsAndTheDepthOfTheAlgorithm) {
  const Graph graph = lu({.tiles = 10, .tile = 100});
  EXPECT_EQ(graph.tasks().size(), 385U);  // 1 + 4 + ... + 100
  EXPECT_NEAR(graph.flops() / (2.0 / 3 * 1e9), 1, 1e-12);
  EXPECT_EQ(depth(graph), 3 * 10 - 2);
}

TEST(Gemm2dGraph, IsTheReferenceStreamTaskByTask) {
  const Graph graph = gemm2d({.tiles = 2, .tile = 960});
  EXPECT_THAT(data_names(graph),
              ElementsAre("A0", "B0", "A1", "B1", "C0_0", "C0_1", "C1_0", "C1_1"));
  EXPECT_THAT(stream(graph),
              ElementsAre("gemm2d A0 R, B0 R, C0_0 W @0", "gemm2d A1 R, B0 R, C0_1 W @0",
                          "gemm2d A0 R, B1 R, C1_0 W @0", "gemm2d A1 R, B1 R, C1_1 W @0"));
  EXPECT_EQ(graph.data()[0].bytes.value, 960U * 3840 * 4);
  EXPECT_EQ(graph.data()[4].bytes.value, 960U * 960 * 4);
  EXPECT_TRUE(graph.data()[0].home);
  EXPECT_FALSE(graph.data()[4].home);
  EXPECT_EQ(graph.kernels()[0].flops, 2.0 * 960 * 960 * 3840);
  EXPECT_EQ(depth(graph), 1);
  EXPECT_EQ(gemm2d({.tiles = 1, .tile = 10}, 7).kernels()[0].flops, 1400);  // 2 * 10 * 10 * 7
}

TEST(Gemm3dGraph, IsAChainPerTileOfTheResult) {
  const Graph graph = gemm3d({.tiles = 2, .tile = 10}, 30);
  EXPECT_EQ(graph.tasks().size(), 2U * 2 * 3);
  EXPECT_EQ(graph.data().size(), 6U + 6 + 4);
  EXPECT_EQ(accesses(graph, 0), "A0_0 R, B0_0 R, C0_0 RW");
  EXPECT_EQ(accesses(graph, 2), "A0_2 R, B2_0 R, C0_0 RW");
  EXPECT_EQ(accesses(graph, 11), "A1_2 R, B2_1 R, C1_1 RW");
  EXPECT_EQ(graph.flops(), 2.0 * 20 * 20 * 30);
  EXPECT_EQ(depth(graph), 3);
  EXPECT_EQ(gemm3d({.tiles = 4, .tile = 10}).tasks().size(), 64U);
}

TEST(DenseGraphs, SayWhereEachDatumLiesAndWhichFormulaBoundsThem) {
  const DenseGraph product = dense_gemm2d({.tiles = 3, .tile = 10}, 70);
  const MatrixBlock& b = product.blocks[5];  // A0, B0, A1, B1, A2, B2, then C by columns
  EXPECT_THAT(std::vector({b.first_row, b.first_column, b.rows, b.columns}),
              ElementsAre(0, 20, 70, 10));
  const MatrixBlock& c = product.blocks[7];
  EXPECT_EQ(product.tasks.data_name(7), "C0_1");
  EXPECT_THAT(std::vector({c.first_row, c.first_column, c.rows, c.columns}),
              ElementsAre(10, 0, 10, 10));
  for (const DenseGraph& graph :
       {product, dense_lu({.tiles = 4, .tile = 10}), dense_gemm3d({.tiles = 4, .tile = 10}, 30)}) {
    ASSERT_EQ(graph.blocks.size(), graph.tasks.data().size());
    for (std::size_t d = 0; d < graph.blocks.size(); ++d) {
      EXPECT_EQ(graph.tasks.data()[d].bytes,
                Bytes{graph.blocks[d].rows * graph.blocks[d].columns * 4});
      EXPECT_EQ(graph.tasks.data_name(d)[0], graph.blocks[d].matrix);
    }
    ASSERT_TRUE(graph.tasks.application().dense);
    EXPECT_EQ(graph.tasks.application().dense->tile, 10U);
    EXPECT_EQ(graph.tasks.application().dense->element, Bytes{4});
  }
  EXPECT_EQ(product.tasks.application().dense->k, 70U);
  EXPECT_EQ(gemm3d({.tiles = 4, .tile = 10}).application().dense->k, 40U);
  EXPECT_EQ(cholesky({.tiles = 4, .tile = 10}).application().dense->k, 0U);
  EXPECT_THAT(refusal_of([] { dense_graph("cholesky", {.tiles = 1, .tile = 1}); }),
              HasSubstr("there are lu"));
}

TEST(BipartiteGraph, TasksReadDifferentDataAndDependOnNothing) {
  const Graph graph = random_bipartite({.tasks = 500, .data = 20, .degree = 7, .seed = 3});
  ASSERT_EQ(graph.tasks().size(), 500U);
  std::vector<int> uses(20);
  for (const Graph::Task& task : graph.tasks()) {
    std::set<std::uint32_t> data;
    for (const Graph::Access& access : graph.accesses_of(task)) {
      data.insert(access.datum);
      ++uses[access.datum];
    }
    ASSERT_EQ(data.size(), 7U);
  }
  EXPECT_EQ(depth(graph), 1);
  // 500 * 7 / 20 = 175 uses each; a fifth more or less is 3 deviations of 11.
  EXPECT_GT(*std::min_element(uses.begin(), uses.end()), 175 - 40);
  EXPECT_LT(*std::max_element(uses.begin(), uses.end()), 175 + 40);
  // As many as there are: all of them.
  EXPECT_EQ(random_bipartite({.tasks = 1, .data = 5, .degree = 5}).tasks()[0].access_count, 5U);
}

TEST(TimedGraphs, HaveTasksOfTheTimeThatIsAskedFor) {
  for (const Graph& graph :
       {stencil({.width = 3, .steps = 4, .seconds = 0.25}),
        random_bipartite({.tasks = 5, .data = 5, .degree = 2, .seconds = 0.25, .seed = 1})}) {
    for (const Graph::Kernel& kernel : graph.kernels()) {
      EXPECT_EQ(kernel.seconds[static_cast<std::size_t>(ProcessorKind::cpu)], 0.25) << kernel.name;
      EXPECT_EQ(kernel.seconds[static_cast<std::size_t>(ProcessorKind::gpu)], 0.25) << kernel.name;
      EXPECT_EQ(kernel.flops, 0) << kernel.name;
    }
  }
}

TEST(StencilGraph, SweepsFromOneBufferIntoTheOther) {
  const Graph graph = stencil({.width = 3, .steps = 4});
  EXPECT_EQ(graph.tasks().size(), 12U);
  EXPECT_EQ(accesses(graph, 0), "a0 R, a1 R, b0 W");
  EXPECT_EQ(accesses(graph, 1), "a0 R, a1 R, a2 R, b1 W");
  EXPECT_EQ(accesses(graph, 5), "b1 R, b2 R, a2 W");
  EXPECT_TRUE(graph.data()[0].home);
  EXPECT_FALSE(graph.data()[3].home);
  EXPECT_EQ(depth(graph), 4);
  EXPECT_EQ(accesses(stencil({.width = 1, .steps = 1}), 0), "a0 R, b0 W");
}

TEST(RandomGraph, VariesInDepthSizesAndTimes) {
  const Graph graph = random_dag({.tasks = 2000, .bytes = {8000}, .seed = 1});
  EXPECT_EQ(graph.tasks().size(), 2000U);
  EXPECT_GT(depth(graph), 10);  // some 45 layers of some 45 tasks
  EXPECT_LT(depth(graph), 400);
  std::set<std::uint64_t> sizes;
  for (const Graph::Datum& datum : graph.data()) {
    ASSERT_GE(datum.bytes.value, 1000U);
    ASSERT_LT(datum.bytes.value, 64'000U);
    sizes.insert(datum.bytes.value);
  }
  EXPECT_GT(sizes.size(), 500U);
  EXPECT_EQ(graph.kernels().size(), 16U);
  EXPECT_NE(stream(graph), stream(random_dag({.tasks = 2000, .bytes = {8000}, .seed = 2})));
}

TEST(RandomGraph, IsTheSameOnEveryMachine) {
  // Written down once: a change here changes every result that was published with a seed.
  const Graph graph = random_dag({.tasks = 7, .seed = 4});
  EXPECT_THAT(stream(graph), ElementsAre("k0 I0 R, D0 W @0", "k13 I0 RW @0", "k1 I0 R, D2 W @0",
                                         "k14 I0 R, D3 W @0", "k6 D0 R, D3 R, D4 W @0",
                                         "k5 D0 RW @0", "k8 D3 R, D6 W @0"));
  EXPECT_EQ(graph.data()[0].bytes.value, 1'745'007U);
  EXPECT_EQ(graph.kernels()[0].seconds[0], 0.0004778825864106593);
  EXPECT_THAT(stream(random_bipartite({.tasks = 3, .data = 10, .degree = 3, .seed = 1})),
              ElementsAre("work D5 R, D4 R, D9 R @0", "work D3 R, D6 R, D1 R @0",
                          "work D0 R, D3 R, D8 R @0"));
}

// --- all of them ---------------------------------------------------------------------------------
TEST(MakeGraph, EveryApplicationIsSoundDescribedAndTheSameTwice) {
  for (const GraphApplication& application : graph_applications()) {
    SCOPED_TRACE(application.name);
    GraphRequest request;
    request.application = application.name;
    request.tiles = 5;
    const Graph graph = make_graph(request);
    expect_valid(graph);
    EXPECT_EQ(graph.application().name, application.name);
    EXPECT_FALSE(application.sentence.empty());
    EXPECT_EQ(written(graph), written(make_graph(request)));
    EXPECT_EQ(written(graph), written(parse_graph_json(written(graph), "again")));
  }
}

TEST(MakeGraph, TheSmallestOfEachIsAGraph) {
  for (const GraphApplication& application : graph_applications()) {
    GraphRequest request;
    request.application = application.name;
    request.tiles = request.tile = request.tasks = request.data = request.degree = 1;
    request.width = request.steps = 1;
    request.bytes = {0};
    expect_valid(make_graph(request));
  }
}

TEST(MakeGraph, SaysWhichParameterIsOutOfRange) {
  const auto refused = [](auto change, const std::string& application) {
    GraphRequest request;
    request.application = application;
    change(request);
    return refusal_of([&] { make_graph(request); });
  };
  EXPECT_THAT(
      refused([](GraphRequest&) {}, "choleski"),
      HasSubstr("there is no graph \"choleski\": did you mean cholesky? There are cholesky, lu, "));
  EXPECT_THAT(refused([](GraphRequest&) {}, ""), HasSubstr("there is no graph \"\". There are"));
  EXPECT_THAT(refused([](GraphRequest& r) { r.tiles = 0; }, "cholesky"),
              HasSubstr("cholesky: tiles is 0: choose it from 1 to"));
  EXPECT_THAT(refused([](GraphRequest& r) { r.tile = 0; }, "gemm3d"),
              HasSubstr("gemm3d: tile is 0"));
  EXPECT_THAT(
      refused([](GraphRequest& r) { r.tiles = 1000; }, "cholesky"),
      HasSubstr(
          "cholesky: the graph would have 167167000 tasks, and at most 20000000 are generated: "
          "choose fewer tiles"));
  EXPECT_THAT(refused([](GraphRequest& r) { r.tiles = ~0ULL; }, "lu"),
              HasSubstr("lu: tiles is 18446744"));
  EXPECT_THAT(refused([](GraphRequest& r) { r.inner = ~0ULL; }, "gemm2d"),
              HasSubstr("gemm2d: inner is"));
  EXPECT_THAT(refused([](GraphRequest& r) { r.inner = 961; }, "gemm3d"),
              HasSubstr("gemm3d: inner is 961: choose a multiple of the tile, 960"));
  EXPECT_THAT(refused([](GraphRequest& r) { r.degree = 101; }, "bipartite"),
              HasSubstr("bipartite: degree is 101: choose it from 1 to 100"));
  EXPECT_THAT(refused([](GraphRequest& r) { r.seconds = 0; }, "random"),
              HasSubstr("random: seconds is 0"));
  EXPECT_THAT(refused([](GraphRequest& r) { r.steps = 1 << 20; }, "stencil"),
              HasSubstr("stencil: the graph would have 33554432 tasks"));
  EXPECT_THAT(refused(
                  [](GraphRequest& r) {
                    r.bytes = {1ULL << 50};
                    r.data = 2000;
                  },
                  "bipartite"),
              HasSubstr("the data up to"));
}

// Tasks of each kernel, and what they compute.
std::map<std::string, std::uint64_t> counts(const Graph& graph) {
  std::map<std::string, std::uint64_t> counts;
  for (const Graph::Task& task : graph.tasks()) {
    const Graph::Kernel& kernel = graph.kernels()[task.kernel];
    ++counts[kernel.name + (kernel.cores_only ? " on cores" : "")];
  }
  return counts;
}

TEST(TwoLevelCholesky, HasTheFactorisationOfATileInPlaceOfEachPotrf) {
  for (const std::uint64_t n : {1, 2, 5}) {
    for (const std::uint64_t m : {1, 2, 4, 8}) {
      const Graph graph = cholesky_two_level({.tiles = n, .tile = 8 * m}, 8);
      const std::uint64_t pairs = n * m * (m - 1) / 2;
      std::map<std::string, std::uint64_t> expected{{"potrf on cores", n * m}};
      if (m > 1) expected.insert({{"trsm on cores", pairs}, {"syrk on cores", pairs}});
      if (m > 2) expected["gemm on cores"] = n * m * (m - 1) * (m - 2) / 6;
      if (n > 1) expected.insert({{"trsm", n * (n - 1) / 2}, {"syrk", n * (n - 1) / 2}});
      if (n > 2) expected["gemm"] = n * (n - 1) * (n - 2) / 6;
      EXPECT_EQ(counts(graph), expected) << n << ", " << m;
      const auto parts = std::size_t{m * (m + 1) / 2};
      ASSERT_EQ(graph.partitions().size(), n);
      for (const Graph::Partition& partition : graph.partitions()) {
        EXPECT_EQ(partition.count, parts);
        EXPECT_EQ(graph.tile(partition.whole)->row, graph.tile(partition.whole)->column);
      }
      EXPECT_NEAR(graph.flops(), cholesky({.tiles = n, .tile = 8 * m}).flops(),
                  1e-9 * graph.flops());
    }
  }
}

TEST(TwoLevelCholesky, FactorsTheTileBeforeTheSolvesThatReadIt) {
  EXPECT_THAT(stream(cholesky_two_level({.tiles = 2, .tile = 16}, 8)),
              ElementsAre("potrf A0_0.0_0 RW @4", "trsm A0_0.0_0 R, A0_0.1_0 RW @4",
                          "syrk A0_0.1_0 R, A0_0.1_1 RW @4", "potrf A0_0.1_1 RW @4",
                          "trsm A0_0 R, A1_0 RW @3", "syrk A1_0 R, A1_1 RW @3",
                          "potrf A1_1.0_0 RW @2", "trsm A1_1.0_0 R, A1_1.1_0 RW @2",
                          "syrk A1_1.1_0 R, A1_1.1_1 RW @2", "potrf A1_1.1_1 RW @2"));
}

TEST(TwoLevelCholesky, RefusesPanelsThatDoNotDivideTheTile) {
  EXPECT_THAT(refusal_of([] { cholesky_two_level({.tiles = 2, .tile = 16}, 5); }),
              HasSubstr("panels of 5"));
  EXPECT_THAT(refusal_of([] { cholesky_two_level({.tiles = 2, .tile = 1024}, 8); }),
              HasSubstr("panel"));
}

TEST(IncrementalLu, HasAsManyTasksAsItsFormulasSay) {
  for (const std::uint64_t n : {1, 2, 3, 6}) {
    const Graph graph = lu_incremental({.tiles = n, .tile = 64});
    std::map<std::string, std::uint64_t> expected{{"getrf on cores", n}};
    if (n > 1) {
      expected.insert({{"gessm", n * (n - 1) / 2},
                       {"tstrf on cores", n * (n - 1) / 2},
                       {"ssssm", (n - 1) * n * (2 * n - 1) / 6}});
    }
    EXPECT_EQ(counts(graph), expected) << n;
    EXPECT_EQ(graph.data().size(), n * n + n * (n + 1));
    EXPECT_NEAR(graph.flops(), lu({.tiles = n, .tile = 64}).flops(), 1e-9 * graph.flops());
  }
}

TEST(IncrementalLu, KeepsTheFactorOfTheDiagonalTileApart) {
  // So that tstrf, which writes A0_0, does not wait for gessm.
  const DenseGraph dense = dense_lu_incremental({.tiles = 2, .tile = 64}, 16);
  std::vector<std::string> lines = stream(dense.tasks);
  for (std::string& line : lines) line.resize(line.find(" @"));
  EXPECT_THAT(lines, ElementsAre("getrf L0_0 W, P0_0 W, A0_0 RW", "gessm L0_0 R, P0_0 R, A0_1 RW",
                                 "tstrf A0_0 RW, L1_0 W, P1_0 W, A1_0 RW",
                                 "ssssm A1_0 R, L1_0 R, P1_0 R, A0_1 RW, A1_1 RW",
                                 "getrf L1_1 W, P1_1 W, A1_1 RW"));
  const auto of = [&](const std::string& name) {
    for (std::size_t d = 0; d < dense.blocks.size(); ++d) {
      if (dense.tasks.data_name(d) == name) return dense.tasks.data()[d].bytes.value / 4;
    }
    return std::uint64_t{0};
  };
  EXPECT_EQ(of("L1_0"), 16 * 64);
  EXPECT_EQ(of("L0_0"), 64 * 64);
  EXPECT_EQ(of("P1_0"), 64);
}

}  // namespace
}  // namespace vicinal::graphs
