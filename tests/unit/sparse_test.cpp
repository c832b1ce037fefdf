// Sparse matrices: files, generated ones, blocks of rows, and the graph of conjugate gradients.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bounds/graph_bounds.hpp"
#include "graph/combinations.hpp"
#include "graph/sound.hpp"
#include "graphs/cg_graph.hpp"
#include "graphs/poisson.hpp"
#include "graphs/row_blocks.hpp"
#include "linalg/generator.hpp"
#include "sparse/matrix_market.hpp"
#include "sparse/row_block.hpp"
#include "support/temporary_folder.hpp"
#include "vicinal/error.hpp"

namespace vicinal::sparse {
namespace {

using graphs::parse_grid;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What the call is refused for; empty: it is not.
template <typename Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

using Row = std::vector<std::pair<std::uint64_t, double>>;

template <typename Matrix>
Row row_of(const Matrix& matrix, std::uint64_t row) {
  Row entries;
  matrix.visit_row(
      row, [&](std::uint64_t column, double value) { entries.emplace_back(column, value); });
  return entries;
}

// --- Poisson's equation

TEST(PoissonGrid, HasTheFivePointsOfTwoDimensions) {
  const graphs::PoissonGrid grid = parse_grid("3x2");
  EXPECT_EQ(grid.points(), 6U);
  EXPECT_EQ(row_of(grid, 0), (Row{{0, 4}, {1, -1}, {3, -1}}));           // point (0, 0)
  EXPECT_EQ(row_of(grid, 4), (Row{{1, -1}, {3, -1}, {4, 4}, {5, -1}}));  // point (1, 1)
}

TEST(PoissonGrid, HasTheSevenPointsOfThree) {
  const graphs::PoissonGrid grid = parse_grid("3x3x3");
  EXPECT_EQ(row_of(grid, 13),
            (Row{{4, -1}, {10, -1}, {12, -1}, {13, 6}, {14, -1}, {16, -1}, {22, -1}}));
  EXPECT_EQ(row_of(parse_grid("2x1x1"), 1), (Row{{0, -1}, {1, 6}}));
}

// 2 x 2 points: eigenvalues 4 - 2, 4, 4 and 4 + 2.
TEST(PoissonGrid, KnowsItsCondition) {
  EXPECT_DOUBLE_EQ(parse_grid("2x2").condition(), 3);
}

TEST(PoissonGrid, IsReadAndShown) {
  for (const char* const text : {"3x2", "512x512", "3x4x5", "7x1x1", "32768x32768"}) {
    EXPECT_EQ(graphs::to_string(parse_grid(text)), text);
  }
  for (const auto& [text, part] : std::vector<std::pair<const char*, const char*>>{
           {"", "is none"},
           {"512", "has one edge"},
           {"3x", "is none"},
           {"x3", "is none"},
           {"3x-2", "is none"},
           {"3x2x", "is none"},
           {"3x2x2x2", "more than three edges"},
           {"0x4", "has no points"},
           {"3 x 2", "is none"},
           {"99999999999999999999x2", "is too large"},
           {"4294967296x4294967296", "more than 1073741824 points"},
           {"65536x65536", "more than 1073741824 points"}}) {
    EXPECT_THAT(refusal([text = text] { parse_grid(text); }), HasSubstr(part)) << text;
    EXPECT_THAT(refusal([text = text] { parse_grid(text); }), HasSubstr("512x512")) << text;
  }
}

// --- blocks of rows

TEST(RowCut, DealsAllRows) {
  for (std::uint64_t rows = 1; rows < 40; ++rows) {
    for (std::uint64_t count = 1; count < 45; ++count) {
      const graphs::RowCut cut(rows, count);
      ASSERT_EQ(cut.count(), std::min(rows, count));
      ASSERT_EQ(cut.first(0), 0U);
      ASSERT_EQ(cut.first(cut.count()), rows);
      for (std::uint64_t block = 0; block < cut.count(); ++block) {
        ASSERT_GT(cut.first(block + 1), cut.first(block));
        for (std::uint64_t row = cut.first(block); row < cut.first(block + 1); ++row) {
          ASSERT_EQ(cut.block_of(row), block);
        }
      }
    }
  }
}

// 4 x 4 points in four blocks of a line each.
TEST(RowBlocks, NameTheBlocksThatTheirColumnsTouch) {
  const graphs::PoissonGrid grid = parse_grid("4x4");
  const auto blocks = graphs::row_blocks(grid, {16, 4});
  ASSERT_EQ(blocks.size(), 4U);
  EXPECT_THAT(blocks[0].neighbours, ElementsAre(1));
  EXPECT_THAT(blocks[2].neighbours, ElementsAre(1, 3));
  EXPECT_EQ(blocks[2].inner, 10U);  // 4 on the diagonal, 6 along the line
  EXPECT_EQ(blocks[2].outer, 8U);
  EXPECT_EQ(blocks[2].first, 8U);
}

// The product of all blocks with a vector is that of the matrix.
template <typename Matrix>
void expect_same_product(const Matrix& matrix, std::uint64_t rows, std::uint64_t count) {
  const graphs::RowCut cut(rows, count);
  const auto blocks = graphs::row_blocks(matrix, cut);
  std::vector<double> from(rows);
  for (std::uint64_t i = 0; i < rows; ++i) from[i] = static_cast<double>(i * i % 17);
  for (std::uint64_t b = 0; b < cut.count(); ++b) {
    std::vector<std::uint64_t> bytes((blocks[b].bytes().value + 7) / 8 + 1, ~0ULL);
    const std::uint64_t end = blocks[b].bytes().value;
    auto* const stored = reinterpret_cast<std::byte*>(bytes.data());
    store_block(matrix, cut, b, stored);
    EXPECT_TRUE(std::all_of(stored + end, stored + bytes.size() * 8,
                            [](std::byte byte) { return byte == std::byte{0xff}; }));
    std::vector<const double*> operands{from.data() + blocks[b].first};
    for (const std::uint32_t neighbour : blocks[b].neighbours) {
      operands.push_back(from.data() + cut.first(neighbour));
    }
    std::vector<double> to(blocks[b].rows);
    multiply(StoredBlock(stored), operands, to.data());
    for (std::uint64_t row = 0; row < blocks[b].rows; ++row) {
      double expected = 0;
      matrix.visit_row(blocks[b].first + row, [&](std::uint64_t column, double value) {
        expected += value * from[column];
      });
      EXPECT_EQ(to[row], expected) << "row " << blocks[b].first + row;  // whole numbers
    }
  }
}

TEST(RowBlocks, MultiplyAsTheMatrix) {
  for (const std::uint64_t count : {1U, 2U, 5U, 60U}) {
    expect_same_product(parse_grid("5x4x3"), 60, count);
  }
  std::vector<Entry> entries;
  std::uint64_t state = 7;
  for (int e = 0; e < 200; ++e) {
    state = linalg::scatter(state + 1);
    entries.push_back({static_cast<std::uint32_t>(state % 30),
                       static_cast<std::uint32_t>(state / 64 % 30),
                       static_cast<double>(state >> 60)});
  }
  const SparseMatrix matrix = from_entries(30, entries);
  for (const std::uint64_t count : {1U, 4U, 30U}) expect_same_product(matrix, 30, count);
}

// --- files

constexpr std::string_view kHeader = "%%MatrixMarket matrix coordinate real symmetric\n";

std::string file(std::string_view lines) {
  return std::string(kHeader) + std::string(lines);
}

TEST(MatrixMarket, HoldsTheLowerTriangleOfASymmetricMatrix) {
  const SparseMatrix matrix = parse_matrix_market(
      file("% a comment\n\n3 3 4\r\n1 1 4\n2 1 -1.5e0\n 3\t3 +2\n2 2 5\n"), "m.mtx");
  ASSERT_EQ(matrix.rows(), 3U);
  EXPECT_EQ(row_of(matrix, 0), (Row{{0, 4}, {1, -1.5}}));
  EXPECT_EQ(row_of(matrix, 1), (Row{{0, -1.5}, {1, 5}}));
  EXPECT_EQ(row_of(matrix, 2), (Row{{2, 2}}));
}

TEST(MatrixMarket, HoldsAllOfAGeneralOne) {
  const SparseMatrix matrix = parse_matrix_market(
      "%%MatrixMarket MATRIX Coordinate Integer General\n2 2 5\n1 1 2\n1 2 3\n2 1 3\n2 2 1\n2 2 "
      "6\n",
      "m.mtx");
  EXPECT_EQ(row_of(matrix, 0), (Row{{0, 2}, {1, 3}}));
  EXPECT_EQ(row_of(matrix, 1), (Row{{0, 3}, {1, 7}}));  // 1 and 6 at one place
}

TEST(MatrixMarket, HoldsOnesOfAPattern) {
  const SparseMatrix matrix = parse_matrix_market(
      "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 2", "m");
  EXPECT_EQ(row_of(matrix, 1), (Row{{1, 1}}));
}

TEST(MatrixMarket, SaysWhatIsWrongInWhichLine) {
  for (const auto& [text, part] : std::vector<std::pair<std::string, const char*>>{
           {"", "m.mtx: no Matrix Market file"},
           {"3 3 4\n", "m.mtx: no Matrix Market file"},
           {"%%MatrixMarket vector coordinate real general\n", "line 1: the object \"vector\""},
           {"%%MatrixMarket matrix array real general\n", "line 1: the format \"array\""},
           {"%%MatrixMarket matrix coordinate complex hermitian\n",
            "line 1: the field \"complex\""},
           {"%%MatrixMarket matrix coordinate real skew-symmetric\n", "the symmetry \"skew"},
           {"%%MatrixMarket matrix coordinate real\n", "the symmetry \"\""},
           {file(""), "m.mtx: it ends before the line with rows"},
           {file("% only a comment"), "m.mtx: it ends before the line with rows"},
           {file("3 3\n"), "line 2: the number of entries \"\""},
           {file("3 3 3 3\n"), "line 2: \"3\" is one word too many"},
           {file("0 0 0\n"), "line 2: the number of rows \"0\""},
           {file("-3 3 3\n"), "line 2: the number of rows \"-3\""},
           {file("99999999999 99999999999 99999999999\n"), "line 2: the number of rows"},
           {file("3 2 3\n"), "line 2: 3 rows and 2 columns"},
           {file("4000000000 4000000000 3\n"), "one on the diagonal of each row"},
           {file("2 2 200000000000\n1 1 1\n"), "it ends after 1 of 200000000000 entries"},
           {file("2 2 2\n1 1 1\n2 "),
            "line 4: the column \"\" is no number from 1 to 2; the file ends"},
           {file("2 2 2\n1 1 1\n2 2"), "line 4: the value \"\""},
           {file("2 2 2\n1 1 1\n3 2 1\n"), "line 4: the row \"3\" is no number from 1 to 2"},
           {file("2 2 2\n1 1 1\n2 2 nan\n"), "line 4: the value \"nan\" is no finite number"},
           {file("2 2 2\n1 1 1\n2 2 1e999\n"), "line 4: the value \"1e999\""},
           {file("2 2 2\n1 1 1\n2 2 x\n"), "line 4: the value \"x\""},
           {file("2 2 2\n1 1 1\n1 2 1\n"), "line 4: row 1, column 2 lies above the diagonal"},
           {file("2 2 2\n1 1 1\n2 2 1\n2 1 1\n"), "line 5: more than 2 entries"},
           {"%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n2 2 1\n2 1 1\n",
            "row 2, column 1 is 1, and row 1, column 2 is 0"}}) {
    const std::string said = refusal([text = text] { parse_matrix_market(text, "m.mtx"); });
    EXPECT_THAT(said, HasSubstr(part)) << text;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  }
}

// Every file that is cut, and many with a wrong byte, are read or refused.
TEST(MatrixMarket, IsReadOrRefusedWhateverItHolds) {
  const std::string whole = file("% c\n3 3 4\n1 1 4\n2 1 -1.5\n3 3 2\n2 2 5\n");
  for (std::size_t end = 0; end < whole.size(); ++end) {
    const std::string said =
        refusal([&] { parse_matrix_market(std::string_view(whole).substr(0, end), "m.mtx"); });
    EXPECT_EQ(said == "", end + 1 == whole.size()) << end;  // where only the line's end is missing
  }
  std::uint64_t state = 3;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text = whole;
    for (int change = 0; change < 3; ++change) {
      state = linalg::scatter(state + 1);
      text[state % text.size()] = static_cast<char>(state >> 40);
    }
    try {
      parse_matrix_market(text, "m.mtx");
    } catch (const UsageError&) {  // NOLINT(bugprone-empty-catch): it may be refused
    }
  }
}

TEST(MatrixMarket, IsReadFromAFile) {
  const testing::TemporaryFolder folder;
  EXPECT_THAT(refusal([&] { read_matrix_market(folder.file("none")); }), HasSubstr("No such file"));
}

// --- the graph

TEST(CgGraph, IsSoundOnSeveralRanksToo) {
  const graphs::PoissonGrid grid = parse_grid("6x5");
  for (const std::uint32_t ranks : {1U, 3U, 9U}) {
    for (const graphs::CgSums sums : {graphs::CgSums::of_all, graphs::CgSums::of_each_rank}) {
      const graphs::CgSequence sequence(graphs::row_blocks(grid, {30, 5}), ranks, sums);
      const graph::Graph graph = graphs::cg_graph(sequence, 3);
      graph::require_sound(graph, "cg");
      EXPECT_EQ(graph.tasks().size(), 3 * sequence.tasks_per_iteration());
      // pq and rr, of all or of each rank that has blocks, are read in each iteration before the next one.
      std::vector<std::uint32_t> having;
      for (std::size_t b = 0; b < 5; ++b) having.push_back(sequence.rank_of(b));
      having.erase(std::unique(having.begin(), having.end()), having.end());
      const std::size_t each = sums == graphs::CgSums::of_all ? 1 : having.size();
      EXPECT_EQ(graph::combinations_of(graph).size(), 6 * each);
    }
  }
}

// 2 operations per entry, 10 per row.
TEST(CgGraph, CountsOperations) {
  const graph::Graph graph = graphs::cg({.grid = parse_grid("4x4"), .blocks = 4, .iterations = 2});
  EXPECT_DOUBLE_EQ(graph.flops(), 2 * (2 * (16 + 48) + 10 * 16));
  EXPECT_EQ(graph.tasks().size(), 2U * (3 * 4 + 2));
}

// On one GPU: from one alpha to the next all of A, x, r, p and q are read, and before the first one A and p.
TEST(CgGraph, LoadsAgainWhatDoesNotFit) {
  const graphs::CgSequence sequence(graphs::row_blocks(parse_grid("50x40"), {2000, 5}));
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}},
                   {NodeId{1}, "gpu", NodeKind::device, Bytes{70'000}}};
  machine.links = {{kRam, NodeId{1}, {1e9}, Time{0}}, {NodeId{1}, kRam, {1e9}, Time{0}}};
  machine.workers = {{WorkerId{0}, ProcessorKind::gpu, NodeId{1}}};
  const graph::Graph graph = graphs::cg_graph(sequence, 3);
  const std::vector<std::array<double, kProcessorKinds>> seconds(graph.kernels().size());
  std::uint64_t matrix = 0;
  for (const graphs::RowBlock& block : sequence.blocks()) matrix += block.bytes().value;
  const std::uint64_t vector = 2000 * 8;
  const std::uint64_t expected = matrix + vector + 2 * (matrix + 4 * vector - 70'000);
  const bounds::GraphBounds bounds = bounds::graph_bounds(graph, machine, seconds);
  EXPECT_GE(bounds.in().value.value, expected);
  EXPECT_LE(bounds.in().value.value, expected + 200);  // the numbers
  EXPECT_THAT(bounds.in().source, HasSubstr("between tasks"));
}

TEST(CgGraph, RefusesWhatIsOutOfRange) {
  const auto made = [](graphs::CgShape shape) {
    return refusal([&] { static_cast<void>(graphs::cg(shape)); });
  };
  EXPECT_THAT(made({.grid = parse_grid("4x4"), .blocks = 0}), HasSubstr("blocks is 0"));
  EXPECT_THAT(made({.grid = parse_grid("4x4"), .blocks = 5000}), HasSubstr("blocks is 5000"));
  EXPECT_THAT(made({.grid = parse_grid("4x4"), .iterations = 0}), HasSubstr("iterations is 0"));
  EXPECT_THAT(made({.grid = parse_grid("4x4"), .iterations = 10'000'000}),
              HasSubstr("fewer blocks or iterations"));
}

}  // namespace
}  // namespace vicinal::sparse
