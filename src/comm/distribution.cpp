#include "vicinal/distribution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "vicinal/error.hpp"

namespace vicinal {

namespace {

constexpr std::uint64_t kMostRanks = std::numeric_limits<std::uint32_t>::max();

std::string number(std::uint64_t value) {
  return std::to_string(value);
}

void require_ranks(std::uint32_t ranks, const char* distribution) {
  if (ranks == 0) {
    throw UsageError(std::string(distribution) + " over 0 ranks: give at least one");
  }
}

std::uint64_t rounded_root(std::uint64_t value) {
  return static_cast<std::uint64_t>(std::llround(std::sqrt(static_cast<double>(value))));
}

struct Pattern {
  std::uint32_t size;
  bool is_extended;
};

std::optional<Pattern> pattern_for(std::uint64_t ranks) {
  // As r - 1 < sqrt(r (r - 1)) < r, the rounded root is r - 1 or r.
  const std::uint64_t root = rounded_root(2 * ranks);
  for (std::uint64_t r = std::max<std::uint64_t>(root, 2); r <= root + 1; ++r) {
    if (r * (r - 1) == 2 * ranks) return Pattern{static_cast<std::uint32_t>(r), true};
  }
  if (root > 0 && root % 2 == 0 && root * root == 2 * ranks) {
    return Pattern{static_cast<std::uint32_t>(root), false};
  }
  return std::nullopt;
}

[[noreturn]] void refuse_pattern(std::uint32_t ranks) {
  require_ranks(ranks, "a symmetric block-cyclic distribution");
  std::uint64_t below = ranks;
  while (!pattern_for(below)) --below;
  std::uint64_t above = ranks;
  while (!pattern_for(above)) ++above;
  throw UsageError("there is no symmetric block-cyclic distribution over " + number(ranks) +
                   " ranks, only over r (r - 1) / 2 and, with r even, r^2 / 2; use " +
                   number(below) + (above <= kMostRanks ? " or " + number(above) : "") +
                   " ranks, or Distribution::automatic(" + number(ranks) + ")");
}

// The ranks that a tile of a Cholesky factor goes to, on average, and two more; times the number of ranks. By a grid it is
// what a row and a column have together.
std::uint64_t spread(const BlockCyclic2D& grid) {
  return (std::uint64_t{grid.rows()} + grid.columns()) * grid.ranks();
}
std::uint64_t spread(const GeneralizedBlockCyclic& rule) {
  const std::uint64_t a = rule.block_columns();
  const std::uint64_t b = rule.block_rows();
  const std::uint64_t c = rule.empty();
  if (c == 0) return (a + b) * rule.ranks();
  return a * rule.ranks() + b * b * (a - c) + (b - 1) * (b - 1) * c;
}
std::uint64_t spread(const SymmetricBlockCyclic& rule) {
  return (std::uint64_t{rule.pattern()} + (rule.is_extended() ? 0 : 1)) * rule.ranks();
}

}  // namespace

BlockCyclic2D::BlockCyclic2D(std::uint32_t rows, std::uint32_t columns)
    : rows_(rows), columns_(columns) {
  if (rows == 0 || columns == 0 || rows > kMostRanks / columns) {
    throw UsageError("a 2D block-cyclic distribution over " + number(rows) + " x " +
                     number(columns) + " ranks: give at least one row and column, and at most " +
                     number(kMostRanks) + " ranks");
  }
}

BlockCyclic2D BlockCyclic2D::nearest_square(std::uint32_t ranks) {
  require_ranks(ranks, "a 2D block-cyclic distribution");
  // The same grid as that of devices, which is higher than wide.
  const std::uint32_t rows = BlockCyclic{.devices = ranks}.device_columns();
  return {rows, ranks / rows};
}

SymmetricBlockCyclic::SymmetricBlockCyclic(std::uint32_t ranks) {
  const std::optional<Pattern> pattern = pattern_for(ranks);
  if (!pattern) refuse_pattern(ranks);
  pattern_ = pattern->size;
  is_extended_ = pattern->is_extended;
}

bool SymmetricBlockCyclic::exists_for(std::uint32_t ranks) {
  return pattern_for(ranks).has_value();
}

GeneralizedBlockCyclic::GeneralizedBlockCyclic(std::uint32_t ranks) : ranks_(ranks) {
  require_ranks(ranks, "a generalized 2D block-cyclic distribution");
  std::uint64_t columns = rounded_root(ranks);
  if (columns * columns < ranks) ++columns;
  columns_ = static_cast<std::uint32_t>(columns);
  rows_ = (ranks - 1) / columns_ + 1;
}

Distribution Distribution::automatic(std::uint32_t ranks, Triangle triangle) {
  const BlockCyclic2D grid = BlockCyclic2D::nearest_square(ranks);
  const GeneralizedBlockCyclic generalized(ranks);
  const std::uint64_t least = std::min(spread(grid), spread(generalized));
  constexpr Triangle kNoTriangle{};
  if (triangle != kNoTriangle && SymmetricBlockCyclic::exists_for(ranks)) {
    const SymmetricBlockCyclic symmetric(ranks);
    if (spread(symmetric) < least) return symmetric;
  }
  if (spread(grid) == least) return grid;
  return generalized;
}

std::uint32_t Distribution::device(std::uint64_t row, std::uint64_t column, std::uint32_t devices,
                                   std::uint32_t columns) const {
  if (devices == 0) throw UsageError("tiles of a rank for 0 devices: give at least one");
  if (columns != 0 && devices % columns != 0) {
    throw UsageError(number(columns) + " columns of devices, and there are " + number(devices) +
                     ": give a divisor of their number, or 0");
  }
  const PlaceInRank place = std::visit(
      [&](const auto& rule) {
        if constexpr (kIsFunction<decltype(rule)>) {
          return PlaceInRank{row, column};
        } else {
          return rule.place(row, column);
        }
      },
      rule_);
  return BlockCyclic{.devices = devices, .device_columns_given = columns}.device(place.row,
                                                                                 place.column);
}

std::uint32_t Distribution::ranks() const {
  return std::visit(
      [](const auto& rule) -> std::uint32_t {
        if constexpr (kIsFunction<decltype(rule)>) {
          return 0;
        } else {
          return rule.ranks();
        }
      },
      rule_);
}

std::string Distribution::name() const {
  if (const auto* grid = std::get_if<BlockCyclic2D>(&rule_)) {
    return "2D block-cyclic, " + number(grid->rows()) + " x " + number(grid->columns());
  }
  if (const auto* symmetric = std::get_if<SymmetricBlockCyclic>(&rule_)) {
    return std::string(symmetric->is_extended() ? "extended" : "basic") +
           " symmetric block-cyclic, " + number(symmetric->ranks()) + " ranks";
  }
  if (const auto* generalized = std::get_if<GeneralizedBlockCyclic>(&rule_)) {
    return "generalized 2D block-cyclic, " + number(generalized->ranks()) + " ranks";
  }
  return "a function of the program";
}

Distribution::Shared Distribution::shared(Function function) {
  if (!function) {
    throw UsageError("a distribution by an empty function: give one that says the rank of a tile");
  }
  return std::make_shared<const Function>(std::move(function));
}

void Distribution::refuse(RankId rank, std::uint64_t row, std::uint64_t column,
                          std::uint32_t ranks) const {
  const std::string remedy =
      this->ranks() == 0 ? "; the function must give ranks from 0 to " + number(ranks - 1)
                         : "; start " + number(this->ranks()) +
                               " ranks, or use Distribution::automatic(" + number(ranks) + ")";
  throw UsageError("tile (" + number(row) + "," + number(column) + ") belongs to rank " +
                   number(rank.value) + " (" + name() + "), and there are " + number(ranks) +
                   (ranks == 0 ? ": give at least one" : remedy));
}

}  // namespace vicinal
