// What the generators of dense graphs are made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/graph.hpp"
#include "graphs/linalg_graphs.hpp"

namespace vicinal::graphs::dense {

using graph::Graph;
using Access = Graph::Access;
using enum AccessMode;
using Index = std::uint32_t;

inline constexpr std::uint64_t kMostTiles = 1 << 20;  // the tasks are fewer: require_tasks

// Throws UsageError that names the graph: its tiles or its tasks are too many.
void require(std::string_view graph, const Tiles& t, double tasks);

// `k`: elements between A and B, where there are both.
DenseGraph begin(std::string_view name, const Tiles& t, std::uint64_t k = 0);

Index add_kernel(Graph& graph, const char* name, double flops);

// `has_home`: it has content at the start.
Index add_block(DenseGraph& graph, std::string_view name, const MatrixBlock& block,
                bool has_home = true);

// Tile (i, j), "A2_1".
Index add_tile(DenseGraph& graph, char matrix, Index i, Index j);

// (rows x columns) tiles, registered row by row. Gives the first.
Index add_matrix(DenseGraph& graph, char name, Index rows, Index columns);

double cube(std::uint64_t tile);

template <std::size_t N>
void add_task(Graph& graph, Index kernel, const std::array<Access, N>& accesses,
              std::int64_t priority = 0) {
  graph.add_task(kernel, accesses, static_cast<int>(priority));
}

// Columns of a tile that are eliminated at once: as asked for, or for 0 32, or the tile if that is smaller. Throws
// UsageError that names the graph if they are more than the tile has.
std::uint64_t panel_of(std::string_view graph, const Tiles& t, std::uint64_t panel);

}  // namespace vicinal::graphs::dense
