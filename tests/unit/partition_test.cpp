// Divisions of a whole, and graphs in which data are in parts.
#include "graph/partition.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/bottom_level.hpp"
#include "graph/sound.hpp"
#include "graph/without_parts.hpp"
#include "graphfiles/graph_file.hpp"
#include "support/graph_text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum AccessMode;

constexpr Layout kWhole = TileShape{.rows = 10, .columns = 6, .leading_dimension = 16}.layout();

TEST(Divisions, AreAsEqualAsMayBeTheLargerPartsFirst) {
  EXPECT_THAT(row_blocks(4)(kWhole).blocks, ElementsAre(Block{0, 0, 3, 6}, Block{3, 0, 3, 6},
                                                        Block{6, 0, 2, 6}, Block{8, 0, 2, 6}));
  EXPECT_THAT(column_blocks(2)(kWhole).blocks, ElementsAre(Block{0, 0, 10, 3}, Block{0, 3, 10, 3}));
  EXPECT_EQ(row_blocks(100)(kWhole).blocks.size(), 10U);
}

TEST(Divisions, OfTilesAreAGridColumnByColumn) {
  const Division division = tiles(4, 5)(kWhole);
  EXPECT_EQ(division.grid_rows, 3U);
  EXPECT_THAT(division.blocks,
              ElementsAre(Block{0, 0, 4, 5}, Block{4, 0, 4, 5}, Block{8, 0, 2, 5},
                          Block{0, 5, 4, 1}, Block{4, 5, 4, 1}, Block{8, 5, 2, 1}));
  EXPECT_NO_THROW(check_division(division, kWhole, "A"));
}

TEST(Divisions, OfABufferAreByItsBytes) {
  const Layout buffer{.column_bytes = 10, .columns = 1, .stride_bytes = 10, .element_bytes = 1};
  EXPECT_THAT(pieces(4)(buffer).blocks,
              ElementsAre(Block{0, 0, 4, 1}, Block{4, 0, 4, 1}, Block{8, 0, 2, 1}));
}

TEST(Divisions, PlaceAPartWhereItLiesInTheWhole) {
  const Block block{.row = 3, .column = 2, .rows = 4, .columns = 3};
  EXPECT_EQ(offset_of(block, kWhole), (2 * 16 + 3) * 8U);
  const Layout layout = layout_of(block, kWhole);
  EXPECT_EQ(layout.column_bytes, 32U);
  EXPECT_EQ(layout.columns, 3U);
  EXPECT_EQ(layout.stride_bytes, kWhole.stride_bytes);
}

std::string refusal(std::vector<Block> blocks, std::size_t grid_rows = 0) {
  try {
    check_division({std::move(blocks), grid_rows}, kWhole, "A");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "taken";
}

TEST(Divisions, AreRefusedIfPartsOverlapOrLieOutside) {
  EXPECT_THAT(refusal({}), HasSubstr("lists no part"));
  EXPECT_THAT(refusal({{0, 0, 11, 1}}), HasSubstr("goes beyond its 10 rows"));
  EXPECT_THAT(refusal({{1, 0, ~std::uint64_t{0}, 1}}), HasSubstr("goes beyond"));
  EXPECT_THAT(refusal({{0, 0, 5, 6}, {4, 5, 1, 1}}),
              HasSubstr("part 1 of handle A overlaps part 0"));
  EXPECT_THAT(refusal({{4, 5, 1, 1}, {0, 0, 5, 6}}), HasSubstr("overlaps"));
  EXPECT_THAT(refusal({{0, 0, 2, 6}, {5, 0, 2, 6}, {3, 2, 3, 2}}), HasSubstr("overlaps"));
  EXPECT_THAT(refusal({{0, 0, 1, 1}, {1, 0, 1, 1}, {2, 0, 1, 1}}, 2),
              HasSubstr("no grid of 2 rows"));
  EXPECT_EQ(refusal({{0, 0, 5, 6}, {5, 0, 5, 3}, {5, 3, 5, 3}}), "taken");
  EXPECT_EQ(refusal({{0, 0, 0, 6}, {0, 0, 5, 6}}), "taken");
  EXPECT_THAT(refusal(std::vector<Block>(kMostOperands)), HasSubstr("at most 8191"));
}

TEST(Divisions, BesideAnotherPartitionMustNotOverlapIt) {
  Handle whole;
  whole.name = "A";
  Handle upper;
  upper.name = "A[0]";
  Handle lower;
  lower.name = "A[1]";
  Partition other;
  other.whole = &whole;
  other.parts = {&upper, &lower};
  other.blocks = {{0, 0, 3, 6}, {6, 2, 4, 4}};
  EXPECT_NO_THROW(check_apart({{{3, 0, 3, 6}, {6, 0, 4, 2}}, 0}, other));
  try {
    check_apart({{{3, 0, 3, 6}, {9, 5, 1, 1}}, 0}, other);
    FAIL() << "the last element is in both";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("part 1 of handle A overlaps A[1] of a partition made"));
  }
}

// w: 100 bytes, of which p and q are 30 and 50; q is in parts r and s, 20 and 30.
Graph divided() {
  Graph graph;
  graph.add_datum({.bytes = {100}, .home = NodeKind::ram}, "w");
  graph.add_datum({.bytes = {30}}, "p");
  graph.add_datum({.bytes = {50}}, "q");
  graph.add_datum({.bytes = {20}}, "r");
  graph.add_datum({.bytes = {30}}, "s");
  graph.add_partition({.whole = 0, .first = 1, .count = 2});
  graph.add_partition({.whole = 2, .first = 3, .count = 2});
  const Graph::Number kernel = graph.add_kernel({.name = "k", .seconds = {1.0}});
  const auto add = [&](Graph::Number datum, AccessMode mode) {
    const Graph::Access access{datum, mode};
    graph.add_task(kernel, {&access, 1});
  };
  add(0, RW);
  add(1, RW);
  add(3, RW);
  add(2, RW);
  add(0, R);
  return graph;
}

TEST(GraphWithParts, HasTheSameBytesAndDependenciesWithoutThem) {
  const Graph graph = without_parts(divided());
  std::vector<std::uint64_t> bytes;
  for (const Graph::Datum& datum : graph.data()) {
    bytes.push_back(datum.bytes.value);
    EXPECT_TRUE(datum.home == NodeKind::ram || datum.bytes.value == 0);
  }
  EXPECT_THAT(bytes, ElementsAre(20, 30, 0, 20, 30));
  const auto data = [&](std::size_t task) {
    std::vector<Graph::Number> numbers;
    for (const Graph::Access& access : graph.accesses_of(graph.tasks()[task])) {
      numbers.push_back(access.datum);
    }
    return numbers;
  };
  EXPECT_THAT(data(0), ElementsAre(0, 1, 3, 4));
  EXPECT_THAT(data(1), ElementsAre(1));
  EXPECT_THAT(data(3), ElementsAre(3, 4));
}

TEST(GraphWithParts, HasBottomLevelsAcrossThem) {
  const std::vector<Time> levels = bottom_levels(divided(), std::vector<Time>(5, Time{1}));
  // The task on p and those on r and q lie on paths of their own between the tasks on w.
  EXPECT_THAT(levels, ElementsAre(Time{4}, Time{2}, Time{3}, Time{2}, Time{1}));
}

TEST(GraphWithParts, IsRefusedIfThePartsCannotBe) {
  EXPECT_NO_THROW(require_sound(divided(), "g"));
  const auto message = [](const Graph& graph) -> std::string {
    try {
      require_sound(graph, "g");
    } catch (const UsageError& error) {
      return error.what();
    }
    return "taken";
  };
  Graph twice = divided();
  twice.add_partition({.whole = 0, .first = 3, .count = 1});
  EXPECT_EQ(message(twice), "g: data \"w\" is in parts twice");
  Graph before = divided();
  before.add_partition({.whole = 4, .first = 1, .count = 1});
  EXPECT_EQ(message(before), "g: data \"p\" stands before the datum whose part it is");
  Graph at_home = divided();
  at_home.set_home(3, NodeKind::ram);
  EXPECT_THAT(message(at_home), HasSubstr("data \"r\" has a home, but is a part"));
}

TEST(GraphWithParts, ReadsAsItWasWritten) {
  const std::string text = testing::written(divided());
  EXPECT_THAT(text, HasSubstr("\"s\": {\"bytes\": 30, \"part_of\": \"q\"}"));
  const Graph read = graphfiles::parse_graph_json(text, "g.json");
  EXPECT_EQ(testing::written(read), text);
  ASSERT_EQ(read.partitions().size(), 2U);
}

TEST(GraphWithParts, InAFileNamesAWholeThatStandsBefore) {
  const auto message = [](const char* data) -> std::string {
    try {
      graphfiles::parse_graph_json(
          std::string(R"({"data": {)") + data +
              R"(}, "kernels": {"k": {"seconds": {"cpu": 1}}}, "tasks": [{"kernel": "k", "accesses": [["a", "W"]]}]})",
          "g.json");
    } catch (const UsageError& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(message(R"("a": {"bytes": 8}, "b": {"bytes": 8, "part_of": "a"})"), "taken");
  EXPECT_THAT(message(R"("b": {"bytes": 8, "part_of": "a"}, "a": {"bytes": 8})"),
              HasSubstr("data[\"b\"].part_of: there is no datum \"a\" before it"));
  EXPECT_THAT(message(R"("a": {"bytes": 8, "part_of": "a"})"),
              HasSubstr("no datum \"a\" before it"));
  EXPECT_THAT(message(R"("a": {"bytes": 8}, "b": {"bytes": 9, "part_of": "a"})"),
              HasSubstr("have more bytes than \"a\""));
}

}  // namespace
}  // namespace vicinal::graph
