// The graph of QR by tiles, and the bounds on its loads.
#include <algorithm>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bounds/graph_bounds.hpp"
#include "bounds/tiles.hpp"
#include "graphs/linalg_graphs.hpp"
#include "graphs/make_graph.hpp"
#include "support/graph_text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace ::vicinal::testing;

std::vector<std::string> stream_of(const graph::Graph& graph) {
  std::vector<std::string> lines;
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    lines.push_back(
        fmt::format("{} {}", graph.kernels()[graph.tasks()[t].kernel].name, accesses(graph, t)));
  }
  return lines;
}

std::map<std::string, std::uint64_t> tasks_by_kernel(const graph::Graph& graph) {
  std::map<std::string, std::uint64_t> counts;
  for (const auto& task : graph.tasks()) ++counts[graph.kernels()[task.kernel].name];
  return counts;
}

TEST(QrGraph, OfAFlatTreeIsThatOfTheAlgorithm) {
  EXPECT_THAT(
      stream_of(qr({.tiles = 2, .tile = 64})),
      ElementsAre("geqrt V0_0 W, T0_0 W, A0_0 RW", "ormqr V0_0 R, T0_0 R, A0_1 RW",
                  "tsqrt A0_0 RW, T1_0 W, A1_0 RW", "tsmqr A1_0 R, T1_0 R, A0_1 RW, A1_1 RW",
                  "geqrt V1_1 W, T1_1 W, A1_1 RW"));
}

TEST(QrGraph, OfABinaryTreeJoinsTrianglesInPairs) {
  std::vector<std::string> pairs;
  for (const std::string& line : stream_of(qr({.tiles = 6, .tile = 64}, PanelTree::binary))) {
    if (line.starts_with("ttqrt") && line.find("_0 W") != std::string::npos) pairs.push_back(line);
  }
  EXPECT_THAT(pairs, ElementsAre("ttqrt A0_0 RW, S1_0 W, A1_0 RW", "ttqrt A2_0 RW, S3_0 W, A3_0 RW",
                                 "ttqrt A4_0 RW, S5_0 W, A5_0 RW", "ttqrt A0_0 RW, S2_0 W, A2_0 RW",
                                 "ttqrt A0_0 RW, S4_0 W, A4_0 RW"));
}

TEST(QrGraph, HasAsManyTasksAndOperationsAsItsFormulasSay) {
  for (const std::uint64_t n : {2U, 3U, 6U, 9U}) {
    SCOPED_TRACE(n);
    const std::uint64_t pairs = n * (n - 1) / 2;
    const std::uint64_t squares = (n - 1) * n * (2 * n - 1) / 6;
    const graph::Graph flat = qr({.tiles = n, .tile = 64});
    const graph::Graph binary = qr({.tiles = n, .tile = 64}, PanelTree::binary);
    EXPECT_EQ(tasks_by_kernel(flat),
              (std::map<std::string, std::uint64_t>{
                  {"geqrt", n}, {"ormqr", pairs}, {"tsqrt", pairs}, {"tsmqr", squares}}));
    EXPECT_EQ(tasks_by_kernel(binary),
              (std::map<std::string, std::uint64_t>{{"geqrt", n + pairs},
                                                    {"ormqr", squares + pairs},
                                                    {"ttqrt", pairs},
                                                    {"ttmqr", squares}}));
    const double order = 64 * static_cast<double>(n);
    EXPECT_NEAR(flat.flops() / (order * order * order * 4 / 3), 1, 1e-12);
    EXPECT_NEAR(binary.flops() / (order * order * order * 4 / 3), 1, 1e-12);
  }
  EXPECT_EQ(qr({.tiles = 1, .tile = 64}).tasks().size(), 1U);
}

TEST(QrGraph, OfAWideOrAHighMatrixHasStepsForTheShorterSide) {
  // Steps k = 0, 1: (2 - k) (5 - k) tasks, or (5 - k) (2 - k).
  const graph::Graph wide = qr({.tiles = 2, .tile = 64}, PanelTree::flat, 0, 5);
  EXPECT_EQ(tasks_by_kernel(wide), (std::map<std::string, std::uint64_t>{
                                       {"geqrt", 2}, {"ormqr", 7}, {"tsqrt", 1}, {"tsmqr", 4}}));
  EXPECT_EQ(stream_of(wide).back(), "ormqr V1_1 R, T1_1 R, A1_4 RW");
  const graph::Graph high = qr({.tiles = 5, .tile = 64}, PanelTree::binary, 0, 2);
  // (2 (5 - k) - 1) (2 - k): 18 and 7.
  EXPECT_EQ(high.tasks().size(), 25U);
  EXPECT_EQ(stream_of(high).back(), "ttqrt A1_1 RW, S3_1 W, A3_1 RW");
}

TEST(QrGraph, TakesPanelsWithinATileAndTreesByName) {
  const auto rows = [](std::uint64_t tile, std::uint64_t panel) {
    const DenseGraph dense = dense_qr({.tiles = 1, .tile = tile}, PanelTree::flat, panel);
    return std::ranges::find(dense.blocks, 'T', &MatrixBlock::matrix)->rows;
  };
  EXPECT_EQ(rows(64, 0), 32U);
  EXPECT_EQ(rows(20, 0), 20U);
  EXPECT_EQ(rows(64, 5), 5U);
  EXPECT_THROW(rows(64, 65), UsageError);
  GraphRequest request{.application = "qr", .tiles = 3, .tile = 8, .panel_tree = "binary"};
  EXPECT_EQ(panel_tree(make_graph(request)), PanelTree::binary);
  request.panel_tree = "bush";
  try {
    make_graph(request);
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("\"bush\" is neither flat nor binary"));
  }
}

// --- bounds --------------------------------------------------------------------------------------

constexpr std::uint64_t kTile = 8;
constexpr std::uint64_t kTileBytes = kTile * kTile * 4;

bounds::GraphBounds bounds_in(const graph::Graph& graph, std::uint64_t room) {
  MachineDescription machine;
  machine.nodes.push_back({.id = kRam, .name = "ram", .kind = NodeKind::ram, .limit = {}});
  machine.nodes.push_back(
      {.id = {1}, .name = "gpu0", .kind = NodeKind::device, .limit = Bytes{room * kTileBytes}});
  machine.links.push_back(
      {.from = kRam, .to = {1}, .bandwidth = {6e9}, .latency = {}, .segments = {}});
  machine.links.push_back(
      {.from = {1}, .to = kRam, .bandwidth = {6e9}, .latency = {}, .segments = {}});
  machine.workers.push_back({.id = {0}, .kind = ProcessorKind::gpu, .node = {1}});
  return bounds::graph_bounds(graph, machine, {{}, {}, {}, {}});
}

// Tiles that tasks in their order load, least recently used first out. Others than those of A take no room and come
// without a load.
std::uint64_t loads_in_order(const graph::Graph& graph, std::uint64_t room) {
  std::list<std::uint32_t> resident;  // the last is the one used last
  std::uint64_t loads = 0;
  for (const auto& task : graph.tasks()) {
    for (const auto& access : graph.accesses_of(task)) {
      if (!graph.data_name(access.datum).starts_with('A')) continue;
      const auto found = std::ranges::find(resident, access.datum);
      if (found != resident.end()) {
        resident.erase(found);
      } else {
        ++loads;
        if (resident.size() == room) resident.pop_front();
      }
      resident.push_back(access.datum);
    }
  }
  return loads;
}

TEST(QrBounds, OfAFlatTreeAreThoseOfLuInWholeTilesAndNotAboveWhatARunLoads) {
  for (const std::uint64_t n : {4U, 12U, 30U}) {
    for (const std::uint64_t room : {4U, 10U, 30U}) {
      SCOPED_TRACE(fmt::format("{} tiles in {}", n, room));
      const graph::Graph graph = qr({.tiles = n, .tile = kTile});
      const Bytes bound = bounds_in(graph, room).in().value;
      EXPECT_GE(bound, Bytes{n * n * kTileBytes});
      EXPECT_LE(bound, Bytes{loads_in_order(graph, room) * kTileBytes});
      const bounds::SplitTiles split(bounds::tile_work(bounds::TileKernel::lu, n, n), room, 1);
      EXPECT_GE(bound, bounds::tile_loads(split, {kTileBytes}).value);
    }
  }
  // 30 x 30 tiles in 10: beyond the 900 of the matrix.
  EXPECT_GT(bounds_in(qr({.tiles = 30, .tile = kTile}), 10).in().value, Bytes{900 * kTileBytes});
}

TEST(QrBounds, OfABinaryTreeAreTheMatrixAndHaveTheLeadingTermOfLu) {
  for (const PanelTree tree : {PanelTree::flat, PanelTree::binary}) {
    const auto bounds = bounds_in(qr({.tiles = 30, .tile = kTile}, tree), 10);
    // 2 * 240^3 / (3 sqrt(640)) = 364,294 elements
    EXPECT_NEAR(static_cast<double>(bounds.proved_in.leading.value), 364'294.4 * 4, 8);
    if (tree == PanelTree::binary) {
      EXPECT_EQ(bounds.in().value, Bytes{900 * kTileBytes});
    }
  }
}

}  // namespace
}  // namespace vicinal::graphs
