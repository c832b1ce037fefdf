// The tile QR factorisation, and the order in which it is submitted for real.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "graph/bottom_level.hpp"
#include "graphs/dense_builder.hpp"
#include "graphs/linalg_graphs.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphs {

namespace {

using namespace dense;

constexpr std::array<std::string_view, 2> kPanelTrees{"flat", "binary"};

// Step k has (m - k) (n - k) tasks with a flat tree, (2 (m - k) - 1) (n - k) with a binary one.
double task_count(double m, double n, PanelTree tree) {
  const double q = std::min(m, n);
  const double pairs = q * (q - 1) / 2;
  const double products = q * m * n - (m + n) * pairs + (q - 1) * q * (2 * q - 1) / 6;
  return tree == PanelTree::flat ? products : 2 * products - (q * n - pairs);
}

// The data of (i, k) beside A_ik.
struct Beside {
  Index v = 0;      // reflectors of geqrt
  Index t = 0;      // T of geqrt, or of tsqrt
  Index above = 0;  // T of ttqrt
};

class QrGraph {
 public:
  QrGraph(const Tiles& t, std::uint64_t columns, PanelTree tree, std::uint64_t panel)
      : m_(static_cast<Index>(t.tiles)), n_(static_cast<Index>(columns)), dense_(begin("qr", t)) {
    if (m_ != n_) dense_.tasks.application().dense.reset();  // which is of squares
    first_ = add_matrix(dense_, 'A', m_, n_);
    beside_.resize(std::size_t{m_} * n_);
    const bool is_flat = tree == PanelTree::flat;
    for (Index k = 0; k < steps(); ++k) {
      for (Index i = k; i < m_; ++i) {
        Beside& data = beside_[std::size_t{i} * n_ + k];
        if (i == k || !is_flat) data.v = add_own('V', i, k, t.tile);
        data.t = add_own('T', i, k, panel);
        if (i > k && !is_flat) data.above = add_own('S', i, k, panel);
      }
    }
    const double cubed = cube(t.tile);
    geqrt_ = add_kernel(dense_.tasks, "geqrt", cubed * 4 / 3);
    ormqr_ = add_kernel(dense_.tasks, "ormqr", 2 * cubed);
    eliminate_ = is_flat ? add_kernel(dense_.tasks, "tsqrt", 2 * cubed)
                         : add_kernel(dense_.tasks, "ttqrt", cubed * 2 / 3);
    update_ = is_flat ? add_kernel(dense_.tasks, "tsmqr", 4 * cubed)
                      : add_kernel(dense_.tasks, "ttmqr", 2 * cubed);
  }

  Index steps() const { return std::min(m_, n_); }

  // Tile (i, k) alone, and the rest of its row.
  void factor(Index i, Index k) {
    const Beside& data = of(i, k);
    add_task<3>(dense_.tasks, geqrt_, {{{data.v, W}, {data.t, W}, {a(i, k), RW}}});
    for (Index j = k + 1; j < n_; ++j) {
      add_task<3>(dense_.tasks, ormqr_, {{{data.v, R}, {data.t, R}, {a(i, j), RW}}});
    }
  }
  // Row i below row p.
  void eliminate(Index p, Index i, Index k, Index t) {
    add_task<3>(dense_.tasks, eliminate_, {{{a(p, k), RW}, {t, W}, {a(i, k), RW}}});
    for (Index j = k + 1; j < n_; ++j) {
      add_task<4>(dense_.tasks, update_, {{{a(i, k), R}, {t, R}, {a(p, j), RW}, {a(i, j), RW}}});
    }
  }

  void flat_step(Index k) {
    factor(k, k);
    for (Index i = k + 1; i < m_; ++i) eliminate(k, i, k, of(i, k).t);
  }
  void binary_step(Index k) {
    for (Index i = k; i < m_; ++i) factor(i, k);
    for (std::uint64_t distance = 1; k + distance < m_; distance *= 2) {
      for (std::uint64_t p = k; p + distance < m_; p += 2 * distance) {
        const auto i = static_cast<Index>(p + distance);
        eliminate(static_cast<Index>(p), i, k, of(i, k).above);
      }
    }
  }

  DenseGraph take() {
    graph::set_bottom_level_priorities(dense_.tasks);
    return std::move(dense_);
  }

 private:
  Index add_own(char name, Index i, Index k, std::uint64_t rows) {
    const std::uint64_t b = dense_.tiles.tile;
    return add_block(dense_, fmt::format("{}{}_{}", name, i, k), {name, i * b, k * b, rows, b},
                     false);
  }
  Index a(Index i, Index j) const { return first_ + i * n_ + j; }
  const Beside& of(Index i, Index k) const { return beside_[std::size_t{i} * n_ + k]; }

  const Index m_;  // rows of tiles
  const Index n_;  // columns of them
  DenseGraph dense_;
  Index first_ = 0;
  std::vector<Beside> beside_;
  Index geqrt_ = 0;
  Index ormqr_ = 0;
  Index eliminate_ = 0;
  Index update_ = 0;
};

}  // namespace

PanelTree panel_tree_of(std::string_view name) {
  for (std::size_t tree = 0; tree < kPanelTrees.size(); ++tree) {
    if (kPanelTrees[tree] == name) return static_cast<PanelTree>(tree);
  }
  throw UsageError(fmt::format("--panel-tree: \"{}\" is neither flat nor binary", name));
}

std::string_view to_string(PanelTree tree) {
  return kPanelTrees[static_cast<std::size_t>(tree)];
}

std::optional<PanelTree> panel_tree(const Graph& graph) {
  if (graph.application().name != "qr") return std::nullopt;
  const bool is_flat = std::ranges::count(graph.kernels(), "tsqrt", &Graph::Kernel::name) > 0;
  return is_flat ? PanelTree::flat : PanelTree::binary;
}

DenseGraph dense_qr(const Tiles& t, PanelTree tree, std::uint64_t panel, std::uint64_t columns) {
  if (columns == 0) columns = t.tiles;
  require("qr", {.tiles = std::max(t.tiles, columns), .tile = t.tile},
          task_count(static_cast<double>(t.tiles), static_cast<double>(columns), tree));
  QrGraph graph(t, columns, tree, panel_of("qr", t, panel));
  for (Index k = 0; k < graph.steps(); ++k) {
    tree == PanelTree::flat ? graph.flat_step(k) : graph.binary_step(k);
  }
  return graph.take();
}

}  // namespace vicinal::graphs
