#include "bounds/bounds.hpp"

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "bounds/crossing.hpp"
#include "bounds/dense.hpp"
#include "bounds/phases.hpp"
#include "bounds/transfer.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "support/access_modes.hpp"

namespace vicinal::bounds {
namespace {

using graph::Graph;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using testing::kR;
using testing::kRW;
using testing::kW;
constexpr Bytes kFloat{4};
constexpr Bytes kTile{960 * 960 * 4};  // 3.515625 MiB

std::uint64_t mebibytes(Bytes bytes) {
  return bytes.value >> 20;
}

struct SidedTask {
  Side side = Side::either;
  std::vector<Graph::Access> accesses;
};

// A kernel for each side, in the order of kSides.
constexpr std::array kSides{Side::inside, Side::outside, Side::either};
Graph graph_of(std::size_t data, const std::vector<SidedTask>& tasks) {
  Graph graph;
  for (std::size_t d = 0; d < data; ++d) graph.add_datum({});
  for (const SidedTask& task : tasks) {
    graph.add_task(static_cast<Graph::Number>(task.side), task.accesses);
  }
  return graph;
}

Crossings crossings_of(const std::vector<SidedTask>& tasks, const std::vector<DatumUse>& data,
                       std::optional<Bytes> room = {}) {
  return compulsory_crossings(graph_of(data.size(), tasks), kSides, data, room);
}

// --- Phases --------------------------------------------------------------------------------------

// Tasks 0 and 1 write what 2 reads; 3 and 4 read what that writes, and are read by 5.
TEST(Cuts, AreTasksThatAllOthersComeBeforeOrBehind) {
  std::vector<SidedTask> tasks{{Side::inside, {{0, kW}}},
                               {Side::inside, {{1, kW}}},
                               {Side::inside, {{0, kR}, {1, kR}, {2, kW}}},
                               {Side::inside, {{2, kR}, {3, kW}}},
                               {Side::inside, {{2, kR}, {4, kW}}},
                               {Side::inside, {{3, kR}, {4, kR}}}};
  EXPECT_THAT(cuts_of(graph_of(5, tasks)), ElementsAre(false, false, true, false, false, true));
  tasks.push_back({Side::inside, {{1, kR}}});  // beside task 2
  EXPECT_THAT(cuts_of(graph_of(5, tasks)), Each(false));
  tasks.pop_back();
  tasks.push_back({Side::inside, {{1, kW}}});  // behind that, but beside task 3
  EXPECT_THAT(cuts_of(graph_of(5, tasks)),
              ElementsAre(false, false, true, false, false, false, false));
}

TEST(Cuts, AreNoneAmongTasksWithoutOrder) {
  const std::vector<Graph::Access> commute{{0, AccessMode::commute}};
  const std::vector<Graph::Access> reduce{{0, AccessMode::reduction}};
  const std::vector<Graph::Access> write{{0, kRW}};
  EXPECT_THAT(cuts_of(graph_of(1, {{Side::inside, commute}, {Side::inside, commute}})),
              Each(false));
  EXPECT_THAT(cuts_of(graph_of(1, {{Side::inside, reduce}, {Side::inside, reduce}})), Each(false));
  EXPECT_THAT(cuts_of(graph_of(1, {{Side::inside, write}, {Side::inside, write}})), Each(true));
}

// Three times the sum over four data of 10 bytes, and a task that changes it. Room for 25 bytes: 40 bytes come in, then
// 40 - 25 at least.
TEST(Cuts, LetNoMoreStayInsideThanFits) {
  std::vector<DatumUse> data(5, {.size = {10}, .initially = Side::outside});
  data[4] = {.size = {1}};
  std::vector<SidedTask> tasks;
  for (int step = 0; step < 3; ++step) {
    for (Graph::Number d = 0; d < 4; ++d) {
      tasks.push_back({Side::inside, {{d, kR}, {4, AccessMode::reduction}}});
    }
    tasks.push_back({Side::inside, {{4, kRW}}});
  }
  Graph graph = graph_of(5, tasks);
  for (const char* const name : {"inside", "outside", "either"}) graph.add_kernel({.name = name});
  EXPECT_EQ(loads_between_cuts(graph, data, {25}), Bytes{70});
  EXPECT_EQ(loads_between_cuts(graph, data, {40}), Bytes{40});
  for (DatumUse& use : data) use.initially = Side::either;  // the first tasks make them
  EXPECT_EQ(loads_between_cuts(graph, data, {25}), Bytes{30});
  for (DatumUse& use : data) use.initially = Side::inside;
  EXPECT_EQ(loads_between_cuts(graph, data, {25}), Bytes{0});
}

// --- Time ----------------------------------------------------------------------------------------

TEST(TimeBounds, WorkIsTheOperationsOverTheRateOfAllWorkers) {
  // 1e12 operations on 4 workers of 100 GFlop/s: 2.5 s.
  EXPECT_EQ(work_bound(1e12, 4, FlopsPerSecond{100e9}).value, Time{2'500'000'000});
  EXPECT_EQ(work_bound(1e12, 4, FlopsPerSecond{0}).value, Time{0});
  EXPECT_GT(work_bound(1e300, 1, FlopsPerSecond{1}).value, Time{1LL << 62});
}

TEST(TimeBounds, TheCriticalPathIsTheLongestPath) {
  // The second and the third task change datum 1 one after the other, both behind the first.
  const std::vector<Graph::Access> both{{0, kR}, {1, kRW}};
  const Graph graph =
      graph_of(2, {{Side::either, {{0, kRW}}}, {Side::either, both}, {Side::either, both}});
  EXPECT_EQ(critical_path_bound(graph, {{10}, {3}, {4}}).value, Time{17});
  EXPECT_EQ(critical_path_bound(Graph{}, {}).value, Time{0});
}

TEST(TimeBounds, TasksThatCommuteAreNoPathButTheirTimesAddUp) {
  const std::vector<Graph::Access> both{{0, kR}, {1, AccessMode::commute}};
  const Graph graph =
      graph_of(2, {{Side::either, {{0, kRW}}}, {Side::either, both}, {Side::either, both}});
  EXPECT_EQ(critical_path_bound(graph, {{10}, {3}, {4}}).value, Time{14});
  const Graph run = graph_of(2, {{Side::either, both}, {Side::either, both}});
  EXPECT_EQ(critical_path_bound(run, {{3}, {4}}).value, Time{7});
}

TEST(TimeBounds, ATransferTakesItsBytesOverTheRate) {
  const BytesBound bytes{.value = Bytes{6'000'000}, .leading = {}, .name = "loads", .source = "x"};
  EXPECT_EQ(transfer_bound(bytes, BytesPerSecond{6e9}).value, Time{1'000'000});
  EXPECT_EQ(transfer_bound(bytes, BytesPerSecond{0}).value, Time{0});
  EXPECT_EQ(transfer_bound(bytes, BytesPerSecond{6e9}).name, "loads");
}

TEST(TimeBounds, ARoundedSumLosesAPartInABillion) {
  EXPECT_EQ(rounded_down(2), Time{1'999'999'998});
  EXPECT_EQ(rounded_down(0), Time{0});
  EXPECT_EQ(rounded_down(-1), Time{0});
}

// --- Bytes that must cross -----------------------------------------------------------------------

TEST(Crossings, InComeTheDataReadBeforeTheyAreOverwrittenOnceEach) {
  const std::vector<Graph::Access> a{{0, kR}, {1, kR}, {2, kW}};
  const std::vector<Graph::Access> b{{0, kR}, {2, kR}, {3, kRW}, {4, kR}, {5, kR}};
  const std::vector<SidedTask> tasks{{Side::inside, a}, {Side::inside, b}, {Side::inside, b}};
  const std::vector<DatumUse> data{
      {.size = Bytes{1}, .initially = Side::outside},        // read twice: once
      {.size = Bytes{10}, .initially = Side::outside},       // read
      {.size = Bytes{100}, .initially = Side::outside},      // overwritten, then read: not loaded
      {.size = Bytes{1000}, .initially = Side::outside},     // changed: loaded
      {.size = Bytes{10000}, .initially = Side::inside},     // is there already
      {.size = Bytes{100000}, .initially = Side::either},    // is there perhaps
      {.size = Bytes{1000000}, .initially = Side::outside},  // nobody asks
  };
  EXPECT_EQ(crossings_of(tasks, data).in.value, Bytes{1011});
}

TEST(Crossings, ATaskThatReadsAndOverwritesADatumReadsItFirst) {
  const std::vector<Graph::Access> write_named_first{{0, kW}, {0, kR}};
  const std::vector<SidedTask> tasks{{Side::inside, write_named_first}};
  const std::vector<DatumUse> data{{.size = Bytes{7}, .initially = Side::outside}};
  EXPECT_EQ(crossings_of(tasks, data).in.value, Bytes{7});
}

TEST(Crossings, OutGoesWhatMustEndOutsideAndWhatDoesNotFit) {
  const std::vector<Graph::Access> a{{0, kW}, {1, kRW}, {2, kW}, {3, kR}};
  const std::vector<SidedTask> tasks{{Side::inside, a}};
  const std::vector<DatumUse> data{
      {.size = Bytes{1000}, .finally = FinalPlace::outside},
      {.size = Bytes{30}, .finally = FinalPlace::anywhere},
      {.size = Bytes{40}, .finally = FinalPlace::anywhere},
      {.size = Bytes{700}, .finally = FinalPlace::outside},  // never written: it is outside already
  };
  EXPECT_EQ(crossings_of(tasks, data, Bytes{70}).out.value, Bytes{1000});
  EXPECT_EQ(crossings_of(tasks, data, Bytes{50}).out.value, Bytes{1020});
  EXPECT_EQ(crossings_of(tasks, data).out.value, Bytes{1000});
}

TEST(Crossings, EachVersionThatIsMadeOnOneSideAndReadOnTheOtherCrossesOnce) {
  const std::vector<Graph::Access> change{{0, kRW}};
  const std::vector<Graph::Access> look{{0, kR}};
  const std::vector<DatumUse> data{{.size = Bytes{1}, .initially = Side::outside}};
  // In for the first task, out for the second, which changes it; in for the third, and out, once, for
  // the two readers: so it need not go out at the end.
  const std::vector<SidedTask> tasks{{Side::inside, change},
                                     {Side::outside, change},
                                     {Side::inside, change},
                                     {Side::outside, look},
                                     {Side::outside, look}};
  const Crossings crossings = crossings_of(tasks, data, Bytes{0});
  EXPECT_EQ(crossings.in.value, Bytes{2});
  EXPECT_EQ(crossings.out.value, Bytes{2});
  // A task that may run on either side leaves nothing certain.
  const std::vector<SidedTask> free{{Side::either, change}, {Side::inside, look}};
  EXPECT_EQ(crossings_of(free, data, Bytes{0}).in.value, Bytes{0});
}

// --- Bandwidth of several links ------------------------------------------------------------------

// RAM and two accelerators: 0, 1 into them, 2, 3 out, 4 between them.
MachineDescription with_bridge(double link, double bridge) {
  MachineDescription machine;
  const auto add = [&](std::uint32_t from, std::uint32_t to) {
    machine.links.push_back(
        {.from = {from}, .to = {to}, .bandwidth = {link}, .latency = {}, .segments = {0}});
  };
  machine.segments = {{.name = "bridge", .bandwidth = {bridge}}};
  add(0, 1);
  add(0, 2);
  add(1, 0);
  add(2, 0);
  add(1, 2);
  return machine;
}

double joint(const MachineDescription& machine, const std::vector<std::size_t>& links) {
  return joint_bandwidth(machine, links).value;
}

TEST(JointBandwidth, IsTheSumOfTheLinksUpToTheSegmentThatTheyShare) {
  const MachineDescription machine = with_bridge(6e9, 10e9);
  EXPECT_EQ(joint(machine, {0}), 6e9);
  EXPECT_EQ(joint(machine, {0, 1}), 10e9);
  EXPECT_EQ(joint(machine, {0, 2}), 10e9);  // both directions share it
  EXPECT_EQ(joint(machine, {}), 0);
}

TEST(JointBandwidth, OfALinkOutsideTheSegmentIsAdded) {
  MachineDescription machine = with_bridge(6e9, 10e9);
  machine.links[4].segments.clear();
  EXPECT_EQ(joint(machine, {0, 1, 4}), 16e9);
}

TEST(JointBandwidth, OfTwoSerialisedLinksIsThatOfTheFasterOne) {
  MachineDescription machine = with_bridge(6e9, 100e9);
  machine.links[0].serialised = {0, 2};
  machine.links[2].bandwidth = {4e9};
  EXPECT_EQ(joint(machine, {0, 2}), 6e9);
  EXPECT_EQ(joint(machine, {0, 1, 2}), 12e9);
  EXPECT_EQ(joint(machine, {0, 1}), 12e9);
}

TEST(JointBandwidth, OfALinkWithoutAKnownOneIsThatOfItsSegmentOrNone) {
  MachineDescription machine = with_bridge(0, 10e9);
  EXPECT_EQ(joint(machine, {0}), 10e9);
  machine.segments[0].bandwidth = {0};
  EXPECT_EQ(joint(machine, {0}), 0);
}

// --- Dense kernels: worked numbers ---------------------------------------------------------------

TEST(CholeskyLoads, LeadingTermOfThirtyTilesWithRoomForAHundredAndFortyTwoIs1877MiB) {
  // 30^3 / (3 sqrt(2) sqrt(142)) = 534.05 tiles of 3.515625 MiB = 1877.5 MiB.
  const auto bound = cholesky_loads(30 * 960, kFloat, {.each = kTile * 142});
  EXPECT_EQ(mebibytes(bound.leading), 1877U);
  // At this size the proved part, 534 - 2 * 142 - 450 tiles, is below the compulsory loads:
  // 28800 * 28801 / 2 elements = 1582.1 MiB.
  EXPECT_EQ(mebibytes(bound.value), 1582U);
  EXPECT_THAT(std::string(bound.source), HasSubstr("compulsory"));
}

TEST(CholeskyLoads, OfALargeMatrixAreTheLeadingTermMinusTheLowerOrders) {
  // 300^3 / (3 sqrt(2) sqrt(142)) = 534047 tiles, minus 2 * 142, minus 300^2 / 2 = 45000: 488763
  // tiles = 1718307 MiB (the elements of the diagonal make a difference below 0.01 %).
  const auto bound = cholesky_loads(300 * 960, kFloat, {.each = kTile * 142});
  EXPECT_NEAR(static_cast<double>(mebibytes(bound.value)), 1718307, 172);
  EXPECT_THAT(std::string(bound.source), HasSubstr("2202.10217"));
}

TEST(GemmLoads, AreTwoMnkOverTheRootOfSMinusTwoS) {
  // m = n = k = 1000, S = 10000: 2e9 / 100 - 20000 = 19,980,000 elements; 3e6 are compulsory.
  const LimitedMemory memory{.each = kFloat * 10000};
  const auto bound = gemm_loads({.m = 1000, .n = 1000, .k = 1000, .c = kRW}, kFloat, memory);
  EXPECT_EQ(bound.leading, kFloat * 20'000'000);
  EXPECT_EQ(bound.value, kFloat * 19'980'000);
  EXPECT_THAT(std::string(bound.source), HasSubstr("1702.02017"));
  // A product that does not read C may create its 1e6 elements in memory.
  EXPECT_EQ(gemm_loads({.m = 1000, .n = 1000, .k = 1000, .c = kW}, kFloat, memory).value,
            kFloat * 18'980'000);
}

TEST(GemmLoads, OfAnOuterProductAreItsTwoVectors) {
  // The leading term alone, 2 * 1e6 / sqrt(100), would be wrong: 2000 loads suffice.
  const auto bound =
      gemm_loads({.m = 1000, .n = 1000, .k = 1, .c = kW}, kFloat, {.each = kFloat * 100});
  EXPECT_EQ(bound.value, kFloat * 2000);
}

TEST(SyrkLoads, AreASquareRootOfTwoBelowThoseOfGemm) {
  // n = k = 1000, S = 5000: 1e9 / (sqrt(2) sqrt(5000)) = 1e7 elements; counted are the pairs off
  // the diagonal, 1000 * 999 * 1000 / 100 = 9,990,000, minus 2 S.
  const auto bound = syrk_loads({.n = 1000, .k = 1000, .c = kRW}, kFloat, {.each = kFloat * 5000});
  EXPECT_EQ(bound.leading, kFloat * 10'000'000);
  EXPECT_EQ(bound.value, kFloat * 9'980'000);
  // Not reading C: its 500,500 elements come into being.
  EXPECT_EQ(syrk_loads({.n = 1000, .k = 1000, .c = kW}, kFloat, {.each = kFloat * 5000}).value,
            kFloat * 9'479'500);
}

TEST(LuLoads, AreTwoThirdsOfTheCubeOverTheRootOfSMinusTheLowerOrders) {
  // n = 3000, S = 10000: 2 * 2.7e10 / 300 = 1.8e8. Counted: 3000 * 2999 * 5999 / 300 = 179,910,010,
  // minus 2 S, minus 3000 * 2999 = 8,997,000 elements that turn from updated to final.
  const auto bound = lu_loads(3000, kFloat, {.each = kFloat * 10000});
  EXPECT_EQ(bound.leading, kFloat * 180'000'000);
  EXPECT_EQ(bound.value, kFloat * (179'910'010 - 20'000 - 8'997'000));
}

TEST(GridLoads, AreAtLeastTheRowsAndColumns) {
  // 50 x 50 tasks, 35 data fit: 35 (ceil(2500 / 1225) - 1) = 70, below the 100 rows and columns.
  const Bytes datum{kTile * 4};
  EXPECT_EQ(grid_loads(50, datum, {.each = datum * 35}).value, datum * 100);
  // 200 x 200: 35 (ceil(40000 / 1225) - 1) = 35 * 32 = 1120; in two memories, one segment less.
  EXPECT_EQ(grid_loads(200, datum, {.each = datum * 35}).value, datum * 1120);
  EXPECT_EQ(grid_loads(200, datum, {.each = datum * 35, .count = 2}).value, datum * 1085);
}

TEST(DenseLoads, AreTheCompulsoryOnesWhenEverythingFits) {
  const LimitedMemory memory{.each = 1_GiB};
  EXPECT_EQ(cholesky_loads(100, kFloat, memory).value, kFloat * 5050);
  EXPECT_EQ(lu_loads(100, kFloat, memory).value, kFloat * 10000);
  EXPECT_EQ(syrk_loads({.n = 100, .k = 10, .c = kRW}, kFloat, memory).value, kFloat * 6050);
  EXPECT_EQ(gemm_loads({.m = 10, .n = 20, .k = 30, .c = kRW}, kFloat, memory).value, kFloat * 1100);
  EXPECT_EQ(cholesky_loads(0, kFloat, memory).value, Bytes{0});
  EXPECT_EQ(lu_loads(0, kFloat, memory).value, Bytes{0});
}

TEST(DenseLoads, OfSeveralMemoriesAreLowerByTheirSegments) {
  const auto one = lu_loads(3000, kFloat, {.each = kFloat * 10000, .count = 1});
  const auto four = lu_loads(3000, kFloat, {.each = kFloat * 10000, .count = 4});
  EXPECT_EQ(one.value - four.value, kFloat * (3 * 2 * 10000));
}

// --- Dense kernels: no order that we can run is below the bound -----------------------------------

// A memory of S elements, least recently used first out, in which elements may also come into being.
class Memory {
 public:
  explicit Memory(std::size_t elements) : room_(elements) {}
  void touch(std::uint64_t element, bool created = false) {
    if (const auto found = where_.find(element); found != where_.end()) {
      order_.splice(order_.end(), order_, found->second);
      return;
    }
    if (!created) ++loads_;
    if (where_.size() == room_) {
      where_.erase(order_.front());
      order_.pop_front();
    }
    where_[element] = order_.insert(order_.end(), element);
  }
  std::uint64_t loads() const { return loads_; }

 private:
  std::size_t room_;
  std::uint64_t loads_ = 0;
  std::list<std::uint64_t> order_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> where_;
};

std::uint64_t at(std::uint64_t i, std::uint64_t j) {
  return i << 32 | j;
}

// Left-looking in blocks of b x b: block by block, all updates, then the columns of the block.
// `symmetric`: Cholesky, else LU.
std::uint64_t factor_loads(std::uint64_t n, std::uint64_t b, std::size_t room, bool symmetric) {
  Memory memory(room);
  const auto update = [&](std::uint64_t i, std::uint64_t j, std::uint64_t k) {
    memory.touch(at(i, k));
    memory.touch(symmetric ? at(j, k) : at(k, j));
    memory.touch(at(i, j));
  };
  const std::uint64_t blocks = (n + b - 1) / b;
  for (std::uint64_t d = 0; d < 2 * blocks - 1; ++d) {  // along antidiagonals: operands are final
    for (std::uint64_t bi = 0; bi < blocks && bi <= d; ++bi) {
      const std::uint64_t bj = d - bi;
      if (bj >= blocks || (symmetric && bj > bi)) continue;
      for (std::uint64_t k = 0; k < n; ++k) {
        for (std::uint64_t i = bi * b; i < std::min(n, bi * b + b); ++i) {
          for (std::uint64_t j = bj * b; j < std::min(n, bj * b + b); ++j) {
            if (symmetric && j > i) continue;
            if (k < std::min(i, j)) {
              update(i, j, k);
            } else if (k == std::min(i, j)) {
              memory.touch(at(k, k));
              memory.touch(at(i, j));
            }
          }
        }
      }
    }
  }
  return memory.loads();
}

// C (m x m) from A (m x k) and B, in blocks of b x b of C; syrk: the lower triangle, B = A^T.
std::uint64_t product_loads(std::uint64_t m, std::uint64_t depth, std::uint64_t b, std::size_t room,
                            bool symmetric, bool reads_c) {
  Memory memory(room);
  constexpr std::uint64_t kB = 1ULL << 62;
  constexpr std::uint64_t kC = 1ULL << 63;
  for (std::uint64_t bi = 0; bi < m; bi += b) {
    for (std::uint64_t bj = 0; bj < m; bj += b) {
      for (std::uint64_t k = 0; k < depth; ++k) {
        for (std::uint64_t i = bi; i < std::min(m, bi + b); ++i) {
          for (std::uint64_t j = bj; j < std::min(m, bj + b); ++j) {
            if (symmetric && j > i) continue;
            memory.touch(at(i, k));
            memory.touch(symmetric ? at(j, k) : kB | at(j, k));
            memory.touch(kC | at(i, j), k == 0 && !reads_c);
          }
        }
      }
    }
  }
  return memory.loads();
}

class DenseLoadsProperty : public ::testing::TestWithParam<std::array<std::uint64_t, 2>> {};

TEST_P(DenseLoadsProperty, AreNotBeatenByBlockedOrdersOfAnyBlockSize) {
  const auto [n, room] = GetParam();
  const LimitedMemory memory{.each = kFloat * room};
  const auto most = [&](std::uint64_t loads) { return kFloat * loads; };
  for (std::uint64_t b = 1; b * b <= 3 * room; ++b) {
    SCOPED_TRACE("n " + std::to_string(n) + ", S " + std::to_string(room) + ", b " +
                 std::to_string(b));
    EXPECT_LE(cholesky_loads(n, kFloat, memory).value, most(factor_loads(n, b, room, true)));
    EXPECT_LE(lu_loads(n, kFloat, memory).value, most(factor_loads(n, b, room, false)));
    for (const std::uint64_t k : {std::uint64_t{1}, n / 2, n}) {
      for (const AccessMode c : {kRW, kW}) {
        const bool reads_c = reads(c);
        EXPECT_LE(gemm_loads({.m = n, .n = n, .k = k, .c = c}, kFloat, memory).value,
                  most(product_loads(n, k, b, room, false, reads_c)));
        EXPECT_LE(syrk_loads({.n = n, .k = k, .c = c}, kFloat, memory).value,
                  most(product_loads(n, k, b, room, true, reads_c)));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, DenseLoadsProperty,
                         ::testing::Values(std::array<std::uint64_t, 2>{6, 4},
                                           std::array<std::uint64_t, 2>{20, 12},
                                           std::array<std::uint64_t, 2>{32, 20},
                                           std::array<std::uint64_t, 2>{24, 60}));

}  // namespace
}  // namespace vicinal::bounds
