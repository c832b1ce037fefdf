#include "graphs/linalg_graphs.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "graph/bottom_level.hpp"
#include "graphs/cholesky_order.hpp"
#include "graphs/dense_builder.hpp"
#include "graphs/limits.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphs {

namespace {

using namespace dense;

// What takes the place of the potrfs on two levels: the lower tiles of p x p elements inside each A_kk, and kernels.
class InnerCholesky {
 public:
  InnerCholesky(Graph& graph, std::uint64_t parts, std::uint64_t panel)
      : m_(static_cast<Index>(parts)) {
    const auto kernel = [&](const char* name, double flops) {
      return graph.add_kernel({.name = name, .flops = flops, .cores_only = true});
    };
    potrf_ = kernel("potrf", cube(panel) / 3);
    trsm_ = kernel("trsm", cube(panel));
    syrk_ = kernel("syrk", cube(panel));
    gemm_ = kernel("gemm", 2 * cube(panel));
  }
  void divide(Graph& graph, Index whole, Bytes part) {
    first_.push_back(static_cast<Index>(graph.data().size()));
    for (Index i = 0; i < m_; ++i) {
      for (Index j = 0; j <= i; ++j) {
        const std::string name = fmt::format("{}.{}_{}", graph.data_name(whole), i, j);
        graph.add_datum({.bytes = part}, name);
      }
    }
    graph.add_partition({whole, first_.back(), m_ * (m_ + 1) / 2});
  }
  void factor(Graph& graph, Index k, std::int64_t priority) {
    Tasks tasks{*this, graph, first_[k], priority};
    visit_cholesky_by_rows(m_, tasks);
  }

 private:
  struct Tasks {
    const InnerCholesky& of;
    Graph& graph;
    Index first;
    std::int64_t priority;

    Index a(Index i, Index j) const { return first + i * (i + 1) / 2 + j; }
    void potrf(Index k) { add_task<1>(graph, of.potrf_, {{{a(k, k), RW}}}, priority); }
    void trsm(Index i, Index k) {
      add_task<2>(graph, of.trsm_, {{{a(k, k), R}, {a(i, k), RW}}}, priority);
    }
    void syrk(Index i, Index k) {
      add_task<2>(graph, of.syrk_, {{{a(i, k), R}, {a(i, i), RW}}}, priority);
    }
    void gemm(Index i, Index j, Index k) {
      add_task<3>(graph, of.gemm_, {{{a(i, k), R}, {a(j, k), R}, {a(i, j), RW}}}, priority);
    }
  };

  const Index m_;
  std::vector<Index> first_;  // of the parts of A_kk
  Index potrf_ = 0;
  Index trsm_ = 0;
  Index syrk_ = 0;
  Index gemm_ = 0;
};

class CholeskyGraph {
 public:
  // Tiles are registered row by row, or column by column.
  CholeskyGraph(const Tiles& t, bool by_columns) : n_(static_cast<Index>(t.tiles)) {
    const auto count = static_cast<double>(t.tiles);
    require("cholesky", t, count + count * (count - 1) + count * (count - 1) * (count - 2) / 6);
    dense_ = begin("cholesky", t);
    dense_.tasks.application().hints_wont_use = true;
    tile_.resize(std::size_t{n_} * n_);
    for (Index outer = 0; outer < n_; ++outer) {
      for (Index inner = by_columns ? outer : 0; inner < (by_columns ? n_ : outer + 1); ++inner) {
        const Index i = by_columns ? inner : outer;
        const Index j = by_columns ? outer : inner;
        tile_[std::size_t{i} * n_ + j] = add_tile(dense_, 'A', i, j);
      }
    }
    potrf_ = add_kernel(dense_.tasks, "potrf", cube(t.tile) / 3);
    trsm_ = add_kernel(dense_.tasks, "trsm", cube(t.tile));
    syrk_ = add_kernel(dense_.tasks, "syrk", cube(t.tile));
    gemm_ = add_kernel(dense_.tasks, "gemm", 2 * cube(t.tile));
  }

  void divide_potrf(std::uint64_t panel);

  void potrf(Index k, std::int64_t priority = 0) {
    if (inner_) return inner_->factor(dense_.tasks, k, priority);
    add_task<1>(dense_.tasks, potrf_, {{{a(k, k), RW}}}, priority);
  }
  void trsm(Index i, Index k, std::int64_t priority = 0) {
    add_task<2>(dense_.tasks, trsm_, {{{a(k, k), R}, {a(i, k), RW}}}, priority);
  }
  void syrk(Index i, Index k, std::int64_t priority = 0) {
    add_task<2>(dense_.tasks, syrk_, {{{a(i, k), R}, {a(i, i), RW}}}, priority);
  }
  void gemm(Index i, Index j, Index k, std::int64_t priority = 0) {
    add_task<3>(dense_.tasks, gemm_, {{{a(i, k), R}, {a(j, k), R}, {a(i, j), RW}}}, priority);
  }
  Graph take() { return std::move(dense_.tasks); }

 private:
  Index a(Index i, Index j) const { return tile_[std::size_t{i} * n_ + j]; }

  const Index n_;
  std::optional<InnerCholesky> inner_;
  DenseGraph dense_;
  std::vector<Index> tile_;  // datum of tile (i, j)
  Index potrf_ = 0;
  Index trsm_ = 0;
  Index syrk_ = 0;
  Index gemm_ = 0;
};

// Before the first task.
void CholeskyGraph::divide_potrf(std::uint64_t panel) {
  const Tiles& t = dense_.tiles;
  constexpr std::uint64_t kMostPanels = 64;  // the parts of a tile are operands of one task
  require_within("cholesky", "panel", panel, (t.tile + kMostPanels - 1) / kMostPanels, t.tile);
  if (t.tile % panel != 0) {
    throw UsageError(
        fmt::format("cholesky: a tile of {} is not cut into panels of {}; choose a panel that "
                    "divides the tile",
                    t.tile, panel));
  }
  const std::uint64_t parts = t.tile / panel;
  const auto m = static_cast<double>(parts);
  require_tasks("cholesky", static_cast<double>(n_) * m * (m + 1) * (m + 2) / 6,
                "fewer tiles or a larger panel");
  // Its formulas are those of whole tiles.
  dense_.tasks.application().dense.reset();
  inner_.emplace(dense_.tasks, parts, panel);
  const Bytes part{panel * panel * linalg::element_bytes(t.precision)};
  for (Index k = 0; k < n_; ++k) inner_->divide(dense_.tasks, a(k, k), part);
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

namespace {

Graph cholesky_in_order(CholeskyGraph cholesky, const Tiles& t) {
  const auto n = static_cast<Index>(t.tiles);
  for (Index k = 0; k < n; ++k) {
    const std::int64_t level = 2 * (std::int64_t{n} - k);
    cholesky.potrf(k, level);
    for (Index i = k + 1; i < n; ++i) cholesky.trsm(i, k, level - i);
    for (Index j = k + 1; j < n; ++j) {
      cholesky.syrk(j, k, level - j);
      for (Index i = j + 1; i < n; ++i) cholesky.gemm(i, j, k, level - i - j);
    }
  }
  return cholesky.take();
}

}  // namespace

Graph cholesky(const Tiles& t) {
  return cholesky_in_order(CholeskyGraph(t, false), t);
}

Graph cholesky_two_level(const Tiles& t, std::uint64_t panel) {
  CholeskyGraph cholesky(t, false);
  cholesky.divide_potrf(panel);
  return cholesky_in_order(std::move(cholesky), t);
}

Graph cholesky_as_run(const Tiles& t) {
  CholeskyGraph cholesky(t, true);
  visit_cholesky_by_rows(static_cast<Index>(t.tiles), cholesky);
  Graph graph = cholesky.take();
  graph::set_bottom_level_priorities(graph);
  return graph;
}

DenseGraph dense_lu(const Tiles& t) {
  const auto count = static_cast<double>(t.tiles);
  require("lu", t, count * (count + 1) * (2 * count + 1) / 6);  // a square for each k
  DenseGraph dense = begin("lu", t);
  const auto n = static_cast<Index>(t.tiles);
  add_matrix(dense, 'A', n, n);
  const auto a = [n](Index i, Index j) { return i * n + j; };
  Graph& graph = dense.tasks;
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
  return dense;
}

DenseGraph dense_lu_incremental(const Tiles& t, std::uint64_t panel) {
  const std::string_view name = "lu-incpiv";
  const auto count = static_cast<double>(t.tiles);
  require(name, t, count * (count + 1) * (2 * count + 1) / 6);  // a square for each k
  const std::uint64_t rows = panel_of(name, t, panel);
  DenseGraph dense = begin(name, t);
  const auto n = static_cast<Index>(t.tiles);
  add_matrix(dense, 'A', n, n);
  const auto a = [n](Index i, Index j) { return i * n + j; };
  // Of (i, k), i >= k, column by column: the factor and, behind it, the pivots.
  const auto l = [n](Index i, Index k) { return n * n + 2 * (k * n - k * (k + 1) / 2 + i); };
  for (Index k = 0; k < n; ++k) {
    for (Index i = k; i < n; ++i) {
      const std::uint64_t row = i * t.tile;
      const std::uint64_t column = k * t.tile;
      add_block(dense, fmt::format("L{}_{}", i, k),
                {'L', row, column, i == k ? t.tile : rows, t.tile}, false);
      add_block(dense, fmt::format("P{}_{}", i, k), {'P', row, column, t.tile, 1}, false);
    }
  }
  Graph& graph = dense.tasks;
  // Accelerators have the updates, cores the panels, as in the paper.
  const Index getrf =
      graph.add_kernel({.name = "getrf", .flops = cube(t.tile) * 2 / 3, .cores_only = true});
  const Index gessm = add_kernel(graph, "gessm", cube(t.tile));
  const Index tstrf =
      graph.add_kernel({.name = "tstrf", .flops = cube(t.tile), .cores_only = true});
  const Index ssssm = add_kernel(graph, "ssssm", 2 * cube(t.tile));
  for (Index k = 0; k < n; ++k) {
    add_task<3>(graph, getrf, {{{l(k, k), W}, {l(k, k) + 1, W}, {a(k, k), RW}}});
    for (Index j = k + 1; j < n; ++j) {
      add_task<3>(graph, gessm, {{{l(k, k), R}, {l(k, k) + 1, R}, {a(k, j), RW}}});
    }
    for (Index i = k + 1; i < n; ++i) {
      add_task<4>(graph, tstrf, {{{a(k, k), RW}, {l(i, k), W}, {l(i, k) + 1, W}, {a(i, k), RW}}});
      for (Index j = k + 1; j < n; ++j) {
        add_task<5>(graph, ssssm,
                    {{{a(i, k), R}, {l(i, k), R}, {l(i, k) + 1, R}, {a(k, j), RW}, {a(i, j), RW}}});
      }
    }
  }
  graph::set_bottom_level_priorities(graph);
  return dense;
}

DenseGraph dense_gemm2d(const Tiles& t, std::uint64_t inner) {
  const auto count = static_cast<double>(t.tiles);
  require("gemm2d", t, count * count);
  const std::uint64_t k = inner == 0 ? 4 * t.tile : inner;
  require_within("gemm2d", "inner", k, 1, kMostInner);
  DenseGraph dense = begin("gemm2d", t, k);
  const auto n = static_cast<Index>(t.tiles);
  for (Index i = 0; i < n; ++i) {
    add_block(dense, fmt::format("A{}", i), {'A', i * t.tile, 0, t.tile, k});
    add_block(dense, fmt::format("B{}", i), {'B', 0, i * t.tile, k, t.tile});
  }
  const auto b = static_cast<double>(t.tile);
  const Index gemm = add_kernel(dense.tasks, "gemm2d", 2 * b * b * static_cast<double>(k));
  for (Index x = 0; x < n; ++x) {
    for (Index y = 0; y < n; ++y) {
      // Column x of C and row y, though its name has them the other way round.
      const Index c = add_block(dense, fmt::format("C{}_{}", x, y),
                                {'C', y * t.tile, x * t.tile, t.tile, t.tile}, false);
      add_task<3>(dense.tasks, gemm, {{{2 * y, R}, {2 * x + 1, R}, {c, W}}});
    }
  }
  return dense;
}

DenseGraph dense_gemm3d(const Tiles& t, std::uint64_t inner) {
  require_within("gemm3d", "tile", t.tile, 1, kMostTile);
  if (inner % t.tile != 0) {
    throw UsageError(
        fmt::format("gemm3d: inner is {}: choose a multiple of the tile, {}", inner, t.tile));
  }
  const std::uint64_t steps = inner == 0 ? t.tiles : inner / t.tile;
  require_within("gemm3d", "the number of inner tiles", steps, 1, kMostTiles);
  const auto count = static_cast<double>(t.tiles);
  require("gemm3d", t, count * count * static_cast<double>(steps));
  DenseGraph dense = begin("gemm3d", t, steps * t.tile);
  const auto n = static_cast<Index>(t.tiles);
  const auto depth = static_cast<Index>(steps);
  const Index a = add_matrix(dense, 'A', n, depth);
  const Index b = add_matrix(dense, 'B', depth, n);
  const Index c = add_matrix(dense, 'C', n, n);
  const Index gemm = add_kernel(dense.tasks, "gemm", 2 * cube(t.tile));
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      for (Index k = 0; k < depth; ++k) {
        add_task<3>(dense.tasks, gemm,
                    {{{a + i * depth + k, R}, {b + k * n + j, R}, {c + i * n + j, RW}}});
      }
    }
  }
  return dense;
}

DenseGraph dense_graph(std::string_view name, const Tiles& tiles, std::uint64_t inner,
                       std::uint64_t panel, PanelTree tree) {
  if (name == "lu") return dense_lu(tiles);
  if (name == "lu-incpiv") return dense_lu_incremental(tiles, panel);
  if (name == "qr") return dense_qr(tiles, tree, panel);
  if (name == "gemm2d") return dense_gemm2d(tiles, inner);
  if (name == "gemm3d") return dense_gemm3d(tiles, inner);
  throw UsageError(fmt::format(
      "there is no dense graph \"{}\"; there are lu, lu-incpiv, qr, gemm2d, gemm3d", name));
}

}  // namespace vicinal::graphs
