#include "bounds/recognise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace vicinal::bounds {

namespace {

using graph::Graph;
using Number = Graph::Number;

constexpr std::int64_t kUnknown = -1;

// A tile on the diagonal has low == high. A tile below the diagonal is (high, low), a tile above it (low, high).
struct TilePlace {
  std::int64_t low = kUnknown;
  std::int64_t high = kUnknown;
  bool above = false;
  std::int64_t last_step = kUnknown;  // of its updates by products

  bool is_known() const { return low != kUnknown && high != kUnknown; }
  bool on_diagonal() const { return low != kUnknown && low == high; }
};

// The operands of a task: the tiles read, in the task's order, and the tile updated.
struct Operands {
  std::array<Number, 2> reads{};
  std::size_t count = 0;  // of reads
  Number updates = 0;
};

std::optional<Operands> operands_of(std::span<const Graph::Access> accesses) {
  if (accesses.empty() || accesses.size() > 3) return std::nullopt;
  Operands operands;
  bool updates = false;
  for (const auto& [datum, mode] : accesses) {
    if (mode == AccessMode::R && operands.count < 2) {
      operands.reads[operands.count++] = datum;
    } else if (mode == AccessMode::RW && !updates) {
      operands.updates = datum;
      updates = true;
    } else {
      return std::nullopt;
    }
  }
  return updates ? std::optional(operands) : std::nullopt;
}

// Tasks of one operand factor a tile of the diagonal, those of two solve with it or update it, those of three are
// products.
class Factorisation {
 public:
  explicit Factorisation(const Graph& graph) : graph_(graph), places_(graph.data().size()) {}

  std::optional<DenseKernel> recognise() {
    if (graph_.data().empty() || !has_equal_tiles() || !sort_tasks()) return std::nullopt;
    const auto n = factors_.size();
    const bool symmetric = places_.size() == n * (n + 1) / 2;
    if (n < 2 || (!symmetric && places_.size() != n * n)) return std::nullopt;
    if (products_.size() != products_of(n, symmetric)) return std::nullopt;
    if (!place_diagonal() || !place_panels(symmetric)) return std::nullopt;
    if (!symmetric && !place_sides()) return std::nullopt;
    if (!all_are_apart() || !products_fit()) return std::nullopt;
    return DenseKernel{symmetric ? "cholesky" : "lu", shape()};
  }

 private:
  static std::size_t products_of(std::size_t n, bool symmetric) {
    return symmetric ? n * (n - 1) * (n - 2) / 6 : n * (n - 1) * (2 * n - 1) / 6;
  }

  bool has_equal_tiles() const {
    const Bytes bytes = graph_.data().front().bytes;
    const auto is_other = [&](const Graph::Datum& datum) { return datum.bytes != bytes; };
    return bytes.value > 0 && graph_.reductions().empty() && graph_.partitions().empty() &&
           std::ranges::none_of(graph_.data(), is_other);
  }

  bool sort_tasks() {
    for (const Graph::Task& task : graph_.tasks()) {
      const auto accesses = graph_.accesses_of(task);
      if (accesses.size() == 1 && accesses.front().mode == AccessMode::W) continue;  // fills a tile
      const auto operands = operands_of(accesses);
      if (!operands) return false;
      std::array{&factors_, &panels_, &products_}[operands->count]->push_back(*operands);
    }
    return true;
  }

  // Each factorisation follows the factorisation of the tile before, so that the order is that of the diagonal.
  bool place_diagonal() {
    std::int64_t step = 0;
    for (const Operands& factor : factors_) {
      TilePlace& place = places_[factor.updates];
      if (place.is_known()) return false;
      place.low = place.high = step++;
    }
    return true;
  }

  // A solve says the step of a tile. An update of the diagonal, which a symmetric matrix has beside, says the other
  // index.
  bool place_panels(bool symmetric) {
    for (const Operands& panel : panels_) {
      const TilePlace& read = places_[panel.reads[0]];
      TilePlace& written = places_[panel.updates];
      if (read.on_diagonal() && !written.on_diagonal()) {
        if (written.low != kUnknown) return false;
        written.low = read.low;
      } else if (symmetric && written.on_diagonal() && !read.on_diagonal()) {
        TilePlace& tile = places_[panel.reads[0]];
        if (tile.high != kUnknown) return false;
        tile.high = written.low;
      } else {
        return false;
      }
    }
    return true;
  }

  // Without symmetry products update the diagonal: a tile below it times one above it.
  bool place_sides() {
    for (const Operands& product : products_) {
      const TilePlace& diagonal = places_[product.updates];
      if (!diagonal.on_diagonal()) continue;
      for (std::size_t i = 0; i < 2; ++i) {
        TilePlace& tile = places_[product.reads[i]];
        if (tile.high != kUnknown) return false;
        tile.high = diagonal.low;
        tile.above = i == 1;
      }
    }
    return true;
  }

  bool all_are_apart() const {
    const std::size_t n = factors_.size();
    std::vector<bool> taken(n * n, false);
    for (const TilePlace& place : places_) {
      if (!place.is_known() || place.low > place.high) return false;
      const std::int64_t row = place.above ? place.low : place.high;
      const std::int64_t column = place.above ? place.high : place.low;
      const auto at = static_cast<std::size_t>(row) * n + static_cast<std::size_t>(column);
      if (taken[at]) return false;
      taken[at] = true;
    }
    return true;
  }

  // As many as there are, each another one: the steps of a tile's updates rise.
  bool products_fit() {
    const bool symmetric = places_.size() < factors_.size() * factors_.size();
    for (const Operands& product : products_) {
      const TilePlace& a = places_[product.reads[0]];
      const TilePlace& b = places_[product.reads[1]];
      TilePlace& c = places_[product.updates];
      const auto [low, high] = std::minmax(a.high, b.high);
      if (a.low != b.low || a.on_diagonal() || b.on_diagonal()) return false;
      if (c.low != low || c.high != high || c.last_step >= a.low || a.low >= low) return false;
      if (symmetric ? c.on_diagonal() : a.above || !b.above) return false;
      if (!symmetric && !c.on_diagonal() && c.above != (a.high < b.high)) return false;
      c.last_step = a.low;
    }
    return true;
  }

  // Elements of 8 or 4 bytes if the tiles are squares of such; else a tile counts as one element.
  graph::DenseShape shape() const {
    const std::uint64_t n = factors_.size();
    const std::uint64_t bytes = graph_.data().front().bytes.value;
    for (const std::uint64_t element : {8U, 4U}) {
      const auto side = static_cast<std::uint64_t>(
          std::llround(std::sqrt(static_cast<double>(bytes) / static_cast<double>(element))));
      if (side * side * element == bytes) return {.tiles = n, .tile = side, .element = {element}};
    }
    return {.tiles = n, .tile = 1, .element = {bytes}};
  }

  const Graph& graph_;
  std::vector<TilePlace> places_;  // of each datum
  std::vector<Operands> factors_;
  std::vector<Operands> panels_;
  std::vector<Operands> products_;
};

}  // namespace

std::optional<DenseKernel> recognise(const Graph& graph) {
  return Factorisation(graph).recognise();
}

}  // namespace vicinal::bounds
