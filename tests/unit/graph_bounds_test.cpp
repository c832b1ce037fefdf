#include "bounds/graph_bounds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "reports/bounds_report.hpp"
#include "support/access_modes.hpp"

namespace vicinal::bounds {
namespace {

using ::testing::HasSubstr;

using SecondsPerKind = std::vector<std::array<double, kProcessorKinds>>;

using testing::kR;
using testing::kRW;
using testing::kW;
constexpr Bytes kFloatTile{960 * 960 * 4};  // 3.515625 MiB
constexpr Bytes kBlock{kFloatTile.value * 4};
constexpr double kMiB = 1 << 20;

double in_mebibytes(Bytes bytes) {
  return static_cast<double>(bytes.value) / kMiB;
}

SecondsPerKind on_gpu(std::initializer_list<double> seconds) {
  SecondsPerKind table;
  for (const double s : seconds) table.push_back({0, 0, s});
  return table;
}

// --- The machine of the reference results --------------------------------------------------------

struct Shape {
  std::uint32_t gpus = 1;
  Bytes memory = 500_MiB;
  bool peers = false;
};

// GPUs behind one host bridge of 12 GB/s, which copies of both directions share; 6 GB/s per GPU and
// direction.
MachineDescription paper_machine(const Shape& shape) {
  MachineDescription machine;
  machine.nodes.push_back({.id = kRam, .name = "ram", .kind = NodeKind::ram, .limit = {}});
  machine.segments = {{.name = "host", .bandwidth = {12e9}}};
  const auto link = [&](std::uint32_t from, std::uint32_t to) {
    machine.links.push_back(
        {.from = {from}, .to = {to}, .bandwidth = {6e9}, .latency = {10'000}, .segments = {0}});
  };
  for (std::uint32_t g = 1; g <= shape.gpus; ++g) {
    machine.nodes.push_back({.id = {g},
                             .name = "gpu" + std::to_string(g - 1),
                             .kind = NodeKind::device,
                             .limit = shape.memory});
    machine.workers.push_back({.id = {g - 1}, .kind = ProcessorKind::gpu, .node = {g}});
    link(0, g);
    link(g, 0);
    for (std::uint32_t other = 1; shape.peers && other <= shape.gpus; ++other) {
      if (other != g) link(other, g);
    }
  }
  return machine;
}

// C tile (x, y) from block row y of A and block column x of B, K = 3840.
graph::Graph product(std::uint32_t n) {
  graph::Graph graph;
  graph.application().name = "gemm2d";
  graph.application().dense = graph::DenseShape{.tiles = n, .tile = 960, .k = 3840, .element = {4}};
  const std::uint32_t kernel =
      graph.add_kernel({.name = "gemm", .seconds = {}, .flops = 2.0 * 960 * 960 * 3840});
  std::vector<std::uint32_t> rows;
  std::vector<std::uint32_t> columns;
  for (std::uint32_t i = 0; i < n; ++i) {
    rows.push_back(graph.add_datum({.bytes = kBlock, .home = NodeKind::ram}, "A"));
    columns.push_back(graph.add_datum({.bytes = kBlock, .home = NodeKind::ram}, "B"));
  }
  for (std::uint32_t x = 0; x < n; ++x) {
    for (std::uint32_t y = 0; y < n; ++y) {
      const std::uint32_t c = graph.add_datum({.bytes = kFloatTile, .home = NodeKind::ram}, "C");
      graph.add_task(
          kernel, std::array<graph::Graph::Access, 3>{{{rows[y], kR}, {columns[x], kR}, {c, kW}}});
    }
  }
  return graph;
}

const SecondsPerKind kProductSeconds = on_gpu({563.6607e-6});

// Right-looking, kernels in the order potrf, trsm, syrk, gemm.
graph::Graph cholesky(std::uint32_t n, NodeKind home = NodeKind::ram) {
  graph::Graph graph;
  graph.application().name = "cholesky";
  graph.application().dense = graph::DenseShape{.tiles = n, .tile = 960, .element = {4}};
  for (const char* name : {"potrf", "trsm", "syrk", "gemm"}) graph.add_kernel({.name = name});
  std::vector<std::vector<std::uint32_t>> tile(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (std::uint32_t j = 0; j <= i; ++j) {
      tile[i].push_back(graph.add_datum({.bytes = kFloatTile, .home = home}, "A"));
    }
  }
  const auto add = [&](std::uint32_t kernel, const std::vector<graph::Graph::Access>& accesses) {
    graph.add_task(kernel, accesses);
  };
  for (std::uint32_t k = 0; k < n; ++k) {
    add(0, {{tile[k][k], kRW}});
    for (std::uint32_t m = k + 1; m < n; ++m) add(1, {{tile[k][k], kR}, {tile[m][k], kRW}});
    for (std::uint32_t j = k + 1; j < n; ++j) {
      add(2, {{tile[j][k], kR}, {tile[j][j], kRW}});
      for (std::uint32_t m = j + 1; m < n; ++m) {
        add(3, {{tile[m][k], kR}, {tile[j][k], kR}, {tile[m][j], kRW}});
      }
    }
  }
  return graph;
}

const SecondsPerKind kCholeskySeconds = on_gpu({589.824e-6, 117.4293e-6, 70.45759e-6, 140.9152e-6});

const TimeBound* link_bound(const GraphBounds& bounds, std::string_view name) {
  for (const TimeBound& bound : bounds.links) {
    if (bound.name == name) return &bound;
  }
  return nullptr;
}

double link_seconds(const GraphBounds& bounds, std::string_view name) {
  const TimeBound* bound = link_bound(bounds, name);
  return bound == nullptr ? 0 : bound->value.seconds();
}

// --- Worked numbers ------------------------------------------------------------------------------

TEST(GraphBounds, OfAProductWhoseResultGoesHomeAreItsWriteBacks) {
  // 32 x 32 tiles of C, 3600 MiB, at 6 GB/s: 0.6291 s. Work: 1024 * 563.66 us = 0.5772 s. Loads: 64
  // blocks, 900 MiB, 0.1573 s. Both together over the bridge: 4500 MiB / 12 GB/s = 0.3932 s.
  const auto bounds =
      graph_bounds(product(32), paper_machine({}), kProductSeconds, FinalPlace::outside);
  EXPECT_NEAR(bounds.time().value.seconds(), 0.62915, 1e-5);
  EXPECT_EQ(bounds.time().name, "links out of accelerators");
  EXPECT_NEAR(bounds.work.value.seconds(), 0.57719, 1e-5);
  EXPECT_NEAR(bounds.area.value.seconds(), 0.57719, 1e-5);
  EXPECT_NEAR(bounds.path.value.seconds(), 563.66e-6, 1e-8);
  EXPECT_NEAR(link_seconds(bounds, "links into accelerators"), 0.15729, 1e-5);
  EXPECT_NEAR(link_seconds(bounds, "links in and out of accelerators"), 0.39322, 1e-5);
  EXPECT_EQ(bounds.out.value, kFloatTile * 1024);
  EXPECT_EQ(bounds.in().value, kBlock * 64);
}

TEST(GraphBounds, OfAProductWhoseResultMayStayCountWhatDoesNotFit) {
  // 500 MiB hold 142 tiles: 882 of 1024 go out, 3100.8 MiB, 0.5419 s. The work decides.
  const auto bounds = graph_bounds(product(32), paper_machine({}), kProductSeconds);
  EXPECT_EQ(bounds.out.value, kFloatTile * 882);
  EXPECT_NEAR(link_seconds(bounds, "links out of accelerators"), 0.54190, 1e-5);
  EXPECT_EQ(bounds.time().name, "work");
  // From about 40 x 40 tiles on the write-backs do, also then: 1458 tiles, 0.8958 s, against
  // 0.9019 s of work for 40; 2358 of 2500, 1.4488 s, against 1.4092 s for 50.
  EXPECT_EQ(graph_bounds(product(40), paper_machine({}), kProductSeconds).time().name, "work");
  const auto larger = graph_bounds(product(50), paper_machine({}), kProductSeconds);
  EXPECT_EQ(larger.time().name, "links out of accelerators");
  EXPECT_NEAR(larger.time().value.seconds(), 1.44875, 1e-4);
}

TEST(GraphBounds, OfCholeskyOnOneGpu) {
  // 30 x 30 tiles: work 30 * 589.8 + 435 * (117.4 + 70.5) + 4060 * 140.9 us = 0.67155 s; path along
  // the diagonal 30 * 589.8 + 29 * (117.4 + 70.5) us = 23.14 ms. All 465 tiles come in, 1634.8 MiB;
  // 142 may stay.
  const auto bounds = graph_bounds(cholesky(30), paper_machine({}), kCholeskySeconds);
  EXPECT_NEAR(bounds.work.value.seconds(), 0.671543, 1e-5);
  EXPECT_NEAR(bounds.path.value.seconds(), 0.0231434, 1e-6);
  EXPECT_EQ(bounds.compulsory_in.value, kFloatTile * 465);
  EXPECT_EQ(bounds.out.value, kFloatTile * 323);
  // The leading term, for 142 tiles; at this size it proves nothing.
  EXPECT_NEAR(in_mebibytes(bounds.proved_in.leading), 1877.5, 1);
  EXPECT_EQ(bounds.in().value, kFloatTile * 465);
}

TEST(GraphBounds, OfALargeCholeskyAreItsFormula) {
  // 120 x 120 tiles in 142: 120^3 / (3 sqrt(2) sqrt(142)) = 34179 tiles, less 2 * 142, less 7200:
  // 26695, above the 7260 of the matrix.
  const auto bounds = graph_bounds(cholesky(120), paper_machine({}), kCholeskySeconds);
  EXPECT_NEAR(in_mebibytes(bounds.in().value) / in_mebibytes(kFloatTile), 26695, 5);
  EXPECT_THAT(std::string(bounds.in().source), HasSubstr("2202.10217"));
  EXPECT_NEAR(link_seconds(bounds, "links into accelerators"), 26695 * 3686400.0 / 6e9, 0.01);
}

TEST(GraphBounds, OfSeveralMemoriesAddUpTheLoadsOfEach) {
  // The same in 4 memories of 142 tiles: three more times 2 * 142 less, not the loads of one memory
  // with 568 tiles, which would be below 10000.
  const auto one = graph_bounds(cholesky(120), paper_machine({}), kCholeskySeconds);
  const auto four = graph_bounds(cholesky(120), paper_machine({.gpus = 4}), kCholeskySeconds);
  EXPECT_EQ(one.in().value - four.in().value, kFloatTile * (3 * 2 * 142));
}

TEST(GraphBounds, TheBridgeLimitsSeveralGpus) {
  // No split of 32 x 32 tasks that is as fast as 157 ms, 279 tasks per GPU, has fewer blocks than four times
  // 16 x 16: 128, 1800 MiB over min(4 * 6, 12) GB/s. One GPU alone would load 900 MiB in 75 ms, and work too long.
  const auto bounds = graph_bounds(product(32), paper_machine({.gpus = 4}), kProductSeconds);
  EXPECT_NEAR(link_seconds(bounds, "links into accelerators"), 1800 * kMiB / 12e9, 2e-5);
  EXPECT_EQ(bounds.in().value, kBlock * 64);  // it might
  // Out go 1024 - 4 * 142 tiles. Together with the loads 12 GB/s: in 269 ms, 477 tasks at most, two GPUs with 477
  // tasks and one with 70 load 44 + 44 + 17 = 105 blocks.
  const double out = (1024 - 4 * 142) * 3686400.0;
  EXPECT_NEAR(link_seconds(bounds, "links out of accelerators"), out / 12e9, 1e-6);
  EXPECT_NEAR(link_seconds(bounds, "links in and out of accelerators"),
              (105 * 14.0625 * kMiB + out) / 12e9, 3e-5);
  const TimeBound* both = link_bound(bounds, "links in and out of accelerators");
  EXPECT_THAT(std::string(both->source), HasSubstr("tiles in segments"));
}

TEST(GraphBounds, ResultsWithoutAHomeAreKeptToTheEndOfTheRun) {
  // 500 MiB hold 142 tiles of the 1024; the others go out, whether or not results go home afterwards.
  graph::Graph graph = product(32);
  for (std::size_t d = 0; d < graph.data().size(); ++d) {
    if (graph.data()[d].bytes != kBlock) graph.set_home(d, {});
  }
  for (const FinalPlace results : {FinalPlace::anywhere, FinalPlace::outside}) {
    const auto bounds = graph_bounds(graph, paper_machine({}), kProductSeconds, results);
    EXPECT_EQ(bounds.out.value, kFloatTile * 882);
  }
}

TEST(GraphBounds, OfSeveralGpusThatShareAFactorisation) {
  // Cholesky of 24 x 24 tiles on GPUs of 71 tiles: two have enough to do with the work, 175.6 ms. Four could do it
  // in 87.8 ms, but what they load and write back takes the bridge 132 ms; counted once each, the tiles and the 16
  // that do not fit, 97 ms.
  const auto seconds = [&](std::uint32_t gpus) {
    return graph_bounds(cholesky(24), paper_machine({.gpus = gpus, .memory = 250_MiB}),
                        kCholeskySeconds);
  };
  EXPECT_EQ(seconds(2).time().name, "work");
  EXPECT_EQ(seconds(4).time().name, "links in and out of accelerators");
  EXPECT_NEAR(seconds(4).time().value.seconds(), 0.1324, 5e-4);
}

TEST(GraphBounds, WithPeersRamSendsEachDatumOnce) {
  // 120 x 120 tiles in 2 memories: 26695 - 284 = 26411 tiles are loaded, from wherever. RAM must send
  // 7260 of them over 12 GB/s. With the bridge between them too, all loads share it.
  MachineDescription machine = paper_machine({.gpus = 2, .peers = true});
  const auto graph = cholesky(120);
  const double all = 26411 * 3686400.0;
  const auto shared = graph_bounds(graph, machine, kCholeskySeconds);
  EXPECT_NEAR(link_seconds(shared, "links into accelerators"), 7260 * 3686400.0 / 12e9, 1e-6);
  EXPECT_NEAR(link_seconds(shared, "links into accelerators, also from peers"), all / 12e9, 0.01);
  // Peers with links of their own: 12 GB/s from RAM and 6 each.
  for (LinkDescription& link : machine.links) {
    if (link.from != kRam && link.to != kRam) link.segments.clear();
  }
  const auto apart = graph_bounds(graph, machine, kCholeskySeconds);
  EXPECT_NEAR(link_seconds(apart, "links into accelerators, also from peers"), all / 24e9, 0.01);
}

// --- Places --------------------------------------------------------------------------------------

MachineDescription with_cpu(MachineDescription machine) {
  machine.workers.push_back({.id = {static_cast<std::uint32_t>(machine.workers.size())},
                             .kind = ProcessorKind::cpu,
                             .node = kRam});
  return machine;
}

TEST(GraphBounds, NoByteNeedMoveWhereACpuMayRunEverything) {
  SecondsPerKind seconds = kCholeskySeconds;
  for (auto& kernel : seconds) kernel[0] = 0.1;
  const auto bounds =
      graph_bounds(cholesky(30), with_cpu(paper_machine({})), seconds, FinalPlace::outside);
  EXPECT_EQ(bounds.in().value, Bytes{0});
  EXPECT_EQ(bounds.out.value, Bytes{0});
  EXPECT_TRUE(bounds.links.empty());
}

TEST(GraphBounds, AKernelThatOnlyTheCpuRunsDrawsDataHome) {
  // potrf on the CPU, all else on the GPU: n diagonal tiles. Tile (k, k) is changed by syrk on the GPU
  // for k > 0 and must come back; factored, it goes out to the GPU for trsm, but the last.
  SecondsPerKind seconds = kCholeskySeconds;
  seconds[0] = {1e-3, 0, 0};
  const auto bounds = graph_bounds(cholesky(4), with_cpu(paper_machine({})), seconds);
  EXPECT_EQ(bounds.out.value, kFloatTile * 3);
  // In: tiles (1,1) to (3,3) for syrk, 6 tiles below the diagonal, and 3 factors.
  EXPECT_EQ(bounds.in().value, kFloatTile * 12);
  EXPECT_EQ(bounds.proved_in.leading, Bytes{0});  // the formula asks for one kind of memory
  // Work: only the CPU runs potrf, 4 ms; the GPU the rest, below.
  EXPECT_NEAR(bounds.work.value.seconds(), 4e-3, 1e-8);
}

// CPU workers on RAM with a limit, the disk behind it.
MachineDescription disk_machine(Bytes ram, double disk_rate) {
  MachineDescription machine;
  machine.nodes = {{.id = kRam, .name = "ram", .kind = NodeKind::ram, .limit = ram},
                   {.id = {1}, .name = "disk", .kind = NodeKind::disk, .limit = {}}};
  machine.workers = {{.id = {0}, .kind = ProcessorKind::cpu, .node = kRam},
                     {.id = {1}, .kind = ProcessorKind::cpu, .node = kRam}};
  machine.links = {
      {.from = {1}, .to = kRam, .bandwidth = {disk_rate}, .latency = {}, .serialised = {1}},
      {.from = kRam, .to = {1}, .bandwidth = {disk_rate}, .latency = {}}};
  return machine;
}

TEST(GraphBounds, FromTheDiskComesWhatIsAtHomeThere) {
  const SecondsPerKind seconds(4, {1e-3, 0, 0});
  const auto bounds =
      graph_bounds(cholesky(10, NodeKind::disk), disk_machine(kFloatTile * 20, 1e9), seconds);
  EXPECT_EQ(bounds.compulsory_in.value, kFloatTile * 55);
  EXPECT_EQ(bounds.out.value, kFloatTile * 35);
  EXPECT_NEAR(link_seconds(bounds, "reading the disk"), 55 * 3686400 / 1e9, 1e-6);
  // One direction at a time.
  EXPECT_NEAR(link_seconds(bounds, "reading and writing the disk"), 90 * 3686400 / 1e9, 1e-6);
  // 10^3 / (3 sqrt(2) sqrt(20)) = 52.7 tiles.
  EXPECT_NEAR(in_mebibytes(bounds.proved_in.leading) / in_mebibytes(kFloatTile), 52.7, 0.1);
}

TEST(GraphBounds, WhatIsAtHomeInRamIsNotLoadedFromTheDisk) {
  const SecondsPerKind seconds(4, {1e-3, 0, 0});
  const auto bounds = graph_bounds(cholesky(10), disk_machine(kFloatTile * 20, 1e9), seconds);
  EXPECT_EQ(bounds.in().value, Bytes{0});
}

TEST(GraphBounds, DataThatTasksCreateAreNoLoadsOfTheFormula) {
  graph::Graph graph = cholesky(120);
  const auto loaded = graph_bounds(graph, paper_machine({}), kCholeskySeconds);
  for (std::size_t d = 0; d < graph.data().size(); ++d) graph.set_home(d, {});
  const auto created = graph_bounds(graph, paper_machine({}), kCholeskySeconds);
  EXPECT_EQ(created.compulsory_in.value, Bytes{0});
  EXPECT_EQ(created.out.value, kFloatTile * (7260 - 142));  // kept to the end
  EXPECT_EQ(loaded.in().value - created.in().value, kFloatTile * 7260);
}

TEST(GraphBounds, MemoryWithoutALimitHasNoBoundOnBytesButOneOnTheLinks) {
  MachineDescription machine = paper_machine({});
  machine.nodes[1].limit.reset();
  const auto bounds = graph_bounds(product(32), machine, kProductSeconds);
  EXPECT_EQ(bounds.in().value, Bytes{0});
  EXPECT_EQ(bounds.out.value, Bytes{0});
  EXPECT_NEAR(link_seconds(bounds, "links into accelerators"), 900 * kMiB / 6e9, 1e-6);
}

TEST(GraphBounds, KernelsWithoutATimeCountNothing) {
  const auto bounds = graph_bounds(product(4), paper_machine({}), SecondsPerKind{{0, 0, 0}});
  EXPECT_EQ(bounds.tasks_without_time, 16U);
  EXPECT_EQ(bounds.work.value, Time{0});
  EXPECT_EQ(bounds.area.value, Time{0});
  EXPECT_EQ(bounds.path.value, Time{0});
  EXPECT_EQ(bounds.in().value, kBlock * 8);  // only GPUs are there
}

TEST(GraphBounds, OfAnEmptyGraphAreZero) {
  const auto bounds = graph_bounds(graph::Graph{}, paper_machine({}), {});
  EXPECT_EQ(bounds.time().value, Time{0});
  EXPECT_EQ(bounds.in().value, Bytes{0});
}

// --- No known result is below --------------------------------------------------------------------

// The best of 10 to 13 policies of another runtime on this machine, simulated: each column its own
// best. Bytes include the way home of the result, the time does not.
struct Known {
  std::uint32_t n;
  double seconds;
  double in;   // MiB
  double out;  // MiB
};

void expect_below(const Known& known, const graph::Graph& graph, const SecondsPerKind& seconds) {
  SCOPED_TRACE(graph.application().name + " " + std::to_string(known.n));
  const auto run = graph_bounds(graph, paper_machine({}), seconds);
  const auto home = graph_bounds(graph, paper_machine({}), seconds, FinalPlace::outside);
  EXPECT_LE(run.time().value.seconds(), known.seconds);
  // A bound that never bites would pass too: the best are within 2.2 of it.
  EXPECT_GE(run.time().value.seconds(), known.seconds / 2.2);
  // The results are cut off after 0.1 MiB.
  EXPECT_LE(in_mebibytes(run.in().value), known.in + 0.1);
  EXPECT_LE(in_mebibytes(run.out.value), known.out + 0.1);
  EXPECT_LE(in_mebibytes(home.out.value), known.out + 0.1);
}

TEST(GraphBounds, AreNotAboveTheBestKnownProducts) {
  constexpr std::array<Known, 9> kBest{{{10, 0.073964, 281.2, 351.6},
                                        {14, 0.142131, 393.8, 689.1},
                                        {16, 0.180494, 450.0, 900.0},
                                        {17, 0.200207, 478.1, 1016.0},
                                        {20, 0.269733, 562.5, 1406.2},
                                        {25, 0.418806, 703.1, 2197.2},
                                        {32, 0.685435, 1392.2, 3600.0},
                                        {40, 1.1326, 2826.6, 5625.0},
                                        {50, 1.76477, 5357.8, 8789.0}}};
  for (const Known& known : kBest) expect_below(known, product(known.n), kProductSeconds);
}

TEST(GraphBounds, AreNotAboveTheBestKnownFactorisations) {
  constexpr std::array<Known, 8> kBest{{{11, 0.049135, 232.0, 232.0},
                                        {14, 0.08728, 369.1, 369.1},
                                        {16, 0.12262, 478.1, 478.1},
                                        {18, 0.167122, 608.2, 601.2},
                                        {20, 0.224235, 893.0, 738.3},
                                        {24, 0.44841, 1733.2, 1054.7},
                                        {28, 0.698814, 3325.8, 1427.3},
                                        {30, 1.012316, 4907.8, 1634.8}}};
  for (const Known& known : kBest) expect_below(known, cholesky(known.n), kCholeskySeconds);
}

// --- Output --------------------------------------------------------------------------------------

TEST(GraphBounds, OfARunStandInItsReport) {
  const auto bounds = graph_bounds(product(50), paper_machine({}), kProductSeconds);
  const reports::RunBounds run = reports::run_bounds(bounds);
  EXPECT_DOUBLE_EQ(run.seconds(), bounds.time().value.seconds());
  EXPECT_DOUBLE_EQ(run.work_seconds, bounds.work.value.seconds());
  EXPECT_DOUBLE_EQ(run.area_seconds, bounds.area.value.seconds());
  EXPECT_DOUBLE_EQ(run.transfer_seconds, link_seconds(bounds, "links out of accelerators"));
  EXPECT_EQ(run.bytes_in(), bounds.in().value);
  EXPECT_EQ(run.bytes_out(), bounds.out.value);
  EXPECT_EQ(run.formula_in, bounds.proved_in.leading);
}

TEST(BoundsText, MarksTheLargest) {
  const auto bounds =
      graph_bounds(product(32), paper_machine({}), kProductSeconds, FinalPlace::outside);
  const std::string text = reports::bounds_text(bounds);
  EXPECT_THAT(text, HasSubstr("gemm2d: 1024 tasks, 1088 data of 4.395 GiB"));
  EXPECT_THAT(text, HasSubstr("\n* links out of accelerators "));
  EXPECT_THAT(text, HasSubstr("\n  work "));
  EXPECT_THAT(text, HasSubstr("\n* compulsory "));
  EXPECT_EQ(text.back(), '\n');
}

TEST(BoundsText, SaysHowManyTasksHaveNoTime) {
  const auto bounds = graph_bounds(product(4), paper_machine({}), SecondsPerKind{{0, 0, 0}});
  EXPECT_THAT(reports::bounds_text(bounds), HasSubstr("16 tasks have no time"));
}

// The numbers themselves: the text form is that of the documentation, see tests/cli/reports.py.
TEST(BoundsJson, HasTheBoundsOfTheGraph) {
  const auto bounds = graph_bounds(cholesky(30), paper_machine({}), kCholeskySeconds);
  const auto json = nlohmann::json::parse(reports::bounds_json(bounds));
  EXPECT_EQ(json["graph"], "cholesky");
  EXPECT_EQ(json["tasks"], 4960);
  EXPECT_EQ(json["bound_bytes"], bounds.in().value.value);
  EXPECT_EQ(json["time"].size(), bounds.times().size());
  EXPECT_NEAR(json["bound_seconds"].get<double>(), bounds.time().value.seconds(), 1e-9);
}

}  // namespace
}  // namespace vicinal::bounds
