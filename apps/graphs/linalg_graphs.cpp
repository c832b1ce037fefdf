#include "graphs/linalg_graphs.hpp"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "graphs/limits.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphs {

namespace {

using tools::GraphAccess;
using tools::TaskGraph;
using enum AccessMode;
using Index = std::uint32_t;

constexpr std::uint64_t kMostTiles = 1 << 20;  // the tasks are fewer: require_tasks

void require(std::string_view graph, const Tiles& t, double tasks) {
  require_within(graph, "tiles", t.tiles, 1, kMostTiles);
  require_within(graph, "tile", t.tile, 1, kMostTile);
  require_tasks(graph, tasks, "fewer tiles");
}

TaskGraph begin(std::string_view name, const Tiles& t) {
  TaskGraph graph;
  graph.name = name;
  graph.precision = linalg::to_string(t.precision);
  return graph;
}

Index add_kernel(TaskGraph& graph, const char* name, double flops) {
  tools::GraphKernel kernel;
  kernel.name = name;
  kernel.flops = flops;
  return graph.add_kernel(std::move(kernel));
}

Index add_datum(TaskGraph& graph, std::string name, Bytes bytes, bool has_home = true) {
  tools::GraphDatum datum;
  datum.name = std::move(name);
  datum.bytes = bytes;
  datum.has_home = has_home;
  return graph.add_datum(std::move(datum));
}

Bytes block_bytes(const Tiles& t, std::uint64_t rows, std::uint64_t columns) {
  return {rows * columns * linalg::element_bytes(t.precision)};
}

double cube(std::uint64_t tile) {
  const auto b = static_cast<double>(tile);
  return b * b * b;
}

template <std::size_t N>
void add_task(TaskGraph& graph, Index kernel, const std::array<GraphAccess, N>& accesses,
              std::int64_t priority = 0) {
  graph.add_task(kernel, accesses, static_cast<int>(priority));
}

// (rows x columns) tiles, registered row by row.
Index add_matrix(TaskGraph& graph, char name, const Tiles& t, Index rows, Index columns) {
  const auto first = static_cast<Index>(graph.data.size());
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      add_datum(graph, fmt::format("{}{}_{}", name, i, j), block_bytes(t, t.tile, t.tile));
    }
  }
  return first;
}

struct LuLevels {
  std::int64_t last;  // step
  std::int64_t getrf(std::int64_t k) const { return 11 * (last - k) + 2; }
  std::int64_t trsm(std::int64_t h, std::int64_t k) const {
    return 11 * (last - k) - 2 * (h - k - 1);
  }
  std::int64_t gemm(std::int64_t i, std::int64_t j, std::int64_t k) const {
    const std::int64_t low = std::min(i, j);
    return 6 * (low - k) + (i == j ? getrf(low) : trsm(std::max(i, j), low));
  }
};

}  // namespace

TaskGraph cholesky(const Tiles& t) {
  const auto count = static_cast<double>(t.tiles);
  require("cholesky", t, count + count * (count - 1) + count * (count - 1) * (count - 2) / 6);
  TaskGraph graph = begin("cholesky", t);
  const auto n = static_cast<Index>(t.tiles);
  const auto a = [](Index i, Index j) { return i * (i + 1) / 2 + j; };
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j <= i; ++j) {
      add_datum(graph, fmt::format("A{}_{}", i, j), block_bytes(t, t.tile, t.tile));
    }
  }
  const Index potrf = add_kernel(graph, "potrf", cube(t.tile) / 3);
  const Index trsm = add_kernel(graph, "trsm", cube(t.tile));
  const Index syrk = add_kernel(graph, "syrk", cube(t.tile));
  const Index gemm = add_kernel(graph, "gemm", 2 * cube(t.tile));
  for (Index k = 0; k < n; ++k) {
    const std::int64_t level = 2 * (std::int64_t{n} - k);
    add_task<1>(graph, potrf, {{{a(k, k), RW}}}, level);
    for (Index i = k + 1; i < n; ++i) {
      add_task<2>(graph, trsm, {{{a(k, k), R}, {a(i, k), RW}}}, level - i);
    }
    for (Index j = k + 1; j < n; ++j) {
      add_task<2>(graph, syrk, {{{a(j, k), R}, {a(j, j), RW}}}, level - j);
      for (Index i = j + 1; i < n; ++i) {
        add_task<3>(graph, gemm, {{{a(i, k), R}, {a(j, k), R}, {a(i, j), RW}}}, level - i - j);
      }
    }
  }
  return graph;
}

TaskGraph lu(const Tiles& t) {
  const auto count = static_cast<double>(t.tiles);
  require("lu", t, count * (count + 1) * (2 * count + 1) / 6);  // a square for each k
  TaskGraph graph = begin("lu", t);
  const auto n = static_cast<Index>(t.tiles);
  add_matrix(graph, 'A', t, n, n);
  const auto a = [n](Index i, Index j) { return i * n + j; };
  const Index getrf = add_kernel(graph, "getrf", cube(t.tile) * 2 / 3);
  const Index trsm = add_kernel(graph, "trsm", cube(t.tile));
  const Index gemm = add_kernel(graph, "gemm", 2 * cube(t.tile));
  const LuLevels levels{std::int64_t{n} - 1};
  for (Index k = 0; k < n; ++k) {
    add_task<1>(graph, getrf, {{{a(k, k), RW}}}, levels.getrf(k));
    for (Index j = k + 1; j < n; ++j) {
      add_task<2>(graph, trsm, {{{a(k, k), R}, {a(k, j), RW}}}, levels.trsm(j, k));
    }
    for (Index i = k + 1; i < n; ++i) {
      add_task<2>(graph, trsm, {{{a(k, k), R}, {a(i, k), RW}}}, levels.trsm(i, k));
    }
    for (Index i = k + 1; i < n; ++i) {
      for (Index j = k + 1; j < n; ++j) {
        add_task<3>(graph, gemm, {{{a(i, k), R}, {a(k, j), R}, {a(i, j), RW}}},
                    levels.gemm(i, j, k));
      }
    }
  }
  return graph;
}

TaskGraph gemm2d(const Tiles& t, std::uint64_t inner) {
  const auto count = static_cast<double>(t.tiles);
  require("gemm2d", t, count * count);
  const std::uint64_t k = inner == 0 ? 4 * t.tile : inner;
  require_within("gemm2d", "inner", k, 1, kMostInner);
  TaskGraph graph = begin("gemm2d", t);
  const auto n = static_cast<Index>(t.tiles);
  for (Index i = 0; i < n; ++i) {
    add_datum(graph, fmt::format("A{}", i), block_bytes(t, t.tile, k));
    add_datum(graph, fmt::format("B{}", i), block_bytes(t, k, t.tile));
  }
  const auto b = static_cast<double>(t.tile);
  const Index gemm = add_kernel(graph, "gemm2d", 2 * b * b * static_cast<double>(k));
  for (Index x = 0; x < n; ++x) {
    for (Index y = 0; y < n; ++y) {
      const Index c =
          add_datum(graph, fmt::format("C{}_{}", x, y), block_bytes(t, t.tile, t.tile), false);
      add_task<3>(graph, gemm, {{{2 * y, R}, {2 * x + 1, R}, {c, W}}});
    }
  }
  return graph;
}

TaskGraph gemm3d(const Tiles& t, std::uint64_t inner) {
  require_within("gemm3d", "tile", t.tile, 1, kMostTile);
  if (inner % t.tile != 0) {
    throw UsageError(
        fmt::format("gemm3d: inner is {}: choose a multiple of the tile, {}", inner, t.tile));
  }
  const std::uint64_t steps = inner == 0 ? t.tiles : inner / t.tile;
  require_within("gemm3d", "the number of inner tiles", steps, 1, kMostTiles);
  const auto count = static_cast<double>(t.tiles);
  require("gemm3d", t, count * count * static_cast<double>(steps));
  TaskGraph graph = begin("gemm3d", t);
  const auto n = static_cast<Index>(t.tiles);
  const auto depth = static_cast<Index>(steps);
  const Index a = add_matrix(graph, 'A', t, n, depth);
  const Index b = add_matrix(graph, 'B', t, depth, n);
  const Index c = add_matrix(graph, 'C', t, n, n);
  const Index gemm = add_kernel(graph, "gemm", 2 * cube(t.tile));
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      for (Index k = 0; k < depth; ++k) {
        add_task<3>(graph, gemm,
                    {{{a + i * depth + k, R}, {b + k * n + j, R}, {c + i * n + j, RW}}});
      }
    }
  }
  return graph;
}

}  // namespace vicinal::graphs
