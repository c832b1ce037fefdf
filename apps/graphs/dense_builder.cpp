#include "graphs/dense_builder.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "graphs/limits.hpp"

namespace vicinal::graphs::dense {

void require(std::string_view graph, const Tiles& t, double tasks) {
  require_within(graph, "tiles", t.tiles, 1, kMostTiles);
  require_within(graph, "tile", t.tile, 1, kMostTile);
  require_tasks(graph, tasks, "fewer tiles");
}

DenseGraph begin(std::string_view name, const Tiles& t, std::uint64_t k) {
  DenseGraph graph;
  graph.tiles = t;
  const Bytes element{linalg::element_bytes(t.precision)};
  graph.tasks.application() = {
      .name = std::string(name),
      .precision = std::string(linalg::to_string(t.precision)),
      .dense = graph::DenseShape{.tiles = t.tiles, .tile = t.tile, .k = k, .element = element}};
  return graph;
}

Index add_kernel(Graph& graph, const char* name, double flops) {
  return graph.add_kernel({.name = name, .flops = flops});
}

Index add_block(DenseGraph& graph, std::string_view name, const MatrixBlock& block, bool has_home) {
  graph::Graph::Datum datum{
      .bytes = {block.rows * block.columns * linalg::element_bytes(graph.tiles.precision)}};
  if (has_home) datum.home = NodeKind::ram;
  graph.blocks.push_back(block);
  const Index number = graph.tasks.add_datum(datum, name);
  const std::uint64_t b = graph.tiles.tile;
  graph.tasks.set_tile(number, {static_cast<Index>(block.first_row / b),
                                static_cast<Index>(block.first_column / b)});
  return number;
}

Index add_tile(DenseGraph& graph, char matrix, Index i, Index j) {
  const std::uint64_t b = graph.tiles.tile;
  return add_block(graph, fmt::format("{}{}_{}", matrix, i, j), {matrix, i * b, j * b, b, b});
}

Index add_matrix(DenseGraph& graph, char name, Index rows, Index columns) {
  const auto first = static_cast<Index>(graph.blocks.size());
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) add_tile(graph, name, i, j);
  }
  return first;
}

double cube(std::uint64_t tile) {
  const auto b = static_cast<double>(tile);
  return b * b * b;
}

std::uint64_t panel_of(std::string_view graph, const Tiles& t, std::uint64_t panel) {
  constexpr std::uint64_t kPanel = 32;
  const std::uint64_t columns = panel == 0 ? std::min(kPanel, t.tile) : panel;
  require_within(graph, "panel", columns, 1, t.tile);
  return columns;
}

}  // namespace vicinal::graphs::dense
