// Which rank owns which tile of a matrix, for any number of ranks. All here are small values and pure functions: every
// rank gets the same answer.
//
//   const auto usual = vicinal::Distribution::automatic(ranks, vicinal::Triangle::lower);
//   const vicinal::Distribution grid = vicinal::BlockCyclic2D(2, 4);
//   const vicinal::Distribution own = [](std::uint64_t row, std::uint64_t /*column*/) {
//     return vicinal::RankId{row < 10 ? 0U : 1U};
//   };
//   const vicinal::RankId rank = own.owner(5, 2);
//
// Two levels: tiles that a rank owns are dealt to its devices by BlockCyclic, see Distribution::device.
//
// What a distribution costs: in a Cholesky factorisation each tile of the factor goes to all ranks that own a tile of its
// row or of the column of the same number, in an LU factorisation to those of its row or of its column, and in a product
// a tile of A goes to those of a row of C. The fewer ranks share a row and a column, the fewer bytes are sent.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "vicinal/block_cyclic.hpp"
#include "vicinal/ids.hpp"

namespace vicinal {

// See tiled_matrix.hpp.
enum class Triangle : std::uint8_t;

// Row and column of a tile among those of its rank: by these numbers a rank deals its tiles to its devices.
struct PlaceInRank {
  std::uint64_t row = 0;     // from 0
  std::uint64_t column = 0;  // from 0
  friend bool operator==(const PlaceInRank&, const PlaceInRank&) = default;
};

// 2D block-cyclic: tile (m, n) belongs to rank (m mod P) Q + (n mod Q) of a grid of P x Q. Ranks are numbered row by row,
// as by PaRSEC and so by DPLASMA. A tile of a Cholesky factor goes to P + Q - 2 ranks.
class BlockCyclic2D {
 public:
  // One rank.
  constexpr BlockCyclic2D() = default;
  // P rows and Q columns of ranks. Throws UsageError if one of them is 0, or if their product is beyond 32 bits.
  BlockCyclic2D(std::uint32_t rows, std::uint32_t columns);
  // The grid nearest to a square: P is the largest divisor of `ranks` not above its square root. Of a prime number of
  // ranks that is a row. Throws UsageError for 0 ranks.
  static BlockCyclic2D nearest_square(std::uint32_t ranks);

  // P.
  constexpr std::uint32_t rows() const { return rows_; }
  // Q.
  constexpr std::uint32_t columns() const { return columns_; }
  // Their number.
  constexpr std::uint32_t ranks() const { return rows_ * columns_; }
  // The rank of tile (m, n).
  constexpr RankId owner(std::uint64_t m, std::uint64_t n) const {
    return {static_cast<std::uint32_t>(m % rows_ * columns_ + n % columns_)};
  }
  // (m / P, n / Q).
  constexpr PlaceInRank place(std::uint64_t m, std::uint64_t n) const {
    return {m / rows_, n / columns_};
  }

 private:
  std::uint32_t rows_ = 1;
  std::uint32_t columns_ = 1;
};

// Symmetric block-cyclic (SBC) of Beaumont, Duchon, Eyraud-Dubois, Langou and Verite, SC 2022: for symmetric matrices, and
// for their triangles. Row i of the matrix and column i share their ranks, so that a tile of a Cholesky factor goes to
// fewer ranks than by a grid, by a factor of sqrt(2) if there are many.
//
// A pattern of r x r is repeated over the matrix, and (m, n) has the owner of (n, m). Off its diagonal, position (x, y)
// belongs to the rank of the unordered pair {x, y}: number x (x - 1) / 2 + y for x > y. The diagonal is owned
//   extended, by r (r - 1) / 2 ranks: by ranks of pairs that have the position in them, so that no rank joins the row. One
//     pattern cannot give each rank as many positions, so there are several diagonals, and the copy (I, J) of the
//     pattern, I >= J, has number v = (I (I + 1) / 2 + J) mod (the number of diagonals). The d-th position belongs to the
//     pair {d, (d + s) mod r}, where s is
//       r odd, (r - 1) / 2 diagonals: v + 1. Each rank has one position in all.
//       r even, r - 1 diagonals, with h = r / 2: v + 1 for v < h - 1. These have each pair once but for those of distance
//         h. Of diagonal v = h - 1 + w, w from 0 to h - 1, the first half has s = h if w = 0, else w; the second half has
//         s = w + 1. So each rank has two positions in all.
//     That is the numbering of Chameleon (chameleon_getrankof_sbc). A tile goes to r - 2 ranks.
//   basic, by r^2 / 2 ranks, r even: by r / 2 ranks more, position d by rank r (r - 1) / 2 + d mod (r / 2). A tile goes to
//     r - 1 ranks.
class SymmetricBlockCyclic {
 public:
  // Throws UsageError, which names the nearest numbers that do, if `ranks` is neither r (r - 1) / 2 nor, with r even,
  // r^2 / 2. No number is both.
  explicit SymmetricBlockCyclic(std::uint32_t ranks);
  // Whether there is one for so many: 1, 2, 3, 6, 8, 10, 15, 18, 21, 28, 32, ...
  static bool exists_for(std::uint32_t ranks);

  // r.
  constexpr std::uint32_t pattern() const { return pattern_; }
  // Whether ranks of pairs own the diagonal.
  constexpr bool is_extended() const { return is_extended_; }
  // Their number.
  constexpr std::uint32_t ranks() const { return pairs() + (is_extended_ ? 0 : pattern_ / 2); }
  // The rank of tile (m, n), and of tile (n, m).
  constexpr RankId owner(std::uint64_t m, std::uint64_t n) const {
    if (m < n) return owner(n, m);
    const auto x = static_cast<std::uint32_t>(m % pattern_);
    const auto y = static_cast<std::uint32_t>(n % pattern_);
    if (x != y) return pair(x, y);
    if (!is_extended_) return {pairs() + x % (pattern_ / 2)};
    return pair(x, (x + step(diagonal(m / pattern_, n / pattern_), x)) % pattern_);
  }
  // (m / r, n / r): how often the pattern was repeated before the tile.
  constexpr PlaceInRank place(std::uint64_t m, std::uint64_t n) const {
    return {m / pattern_, n / pattern_};
  }

 private:
  constexpr std::uint32_t pairs() const {
    return static_cast<std::uint32_t>(std::uint64_t{pattern_} * (pattern_ - 1) / 2);
  }
  static constexpr RankId pair(std::uint64_t x, std::uint64_t y) {
    return {static_cast<std::uint32_t>(x > y ? x * (x - 1) / 2 + y : y * (y - 1) / 2 + x)};
  }
  // v of the copy (row, column), without overflow: I (I + 1) / 2 modulo a number repeats after twice that number.
  constexpr std::uint32_t diagonal(std::uint64_t row, std::uint64_t column) const {
    const std::uint64_t diagonals = pattern_ % 2 != 0 ? (pattern_ - 1) / 2 : pattern_ - 1;
    const std::uint64_t i = row % (2 * diagonals);
    return static_cast<std::uint32_t>((i * (i + 1) / 2 + column % diagonals) % diagonals);
  }
  // s.
  constexpr std::uint32_t step(std::uint32_t v, std::uint32_t position) const {
    const std::uint32_t half = pattern_ / 2;
    if (pattern_ % 2 != 0 || v + 1 < half) return v + 1;
    const std::uint32_t w = v + 1 - half;
    if (position >= half) return w + 1;
    return w == 0 ? half : w;
  }

  std::uint32_t pattern_;
  bool is_extended_;
};

// Generalized 2D block-cyclic (G-2DBC) of Beaumont, Collin, Eyraud-Dubois and Verite, IPDPS 2023 (hal-04013708): for any
// number of ranks, nearly as good as a square grid.
//
// P ranks, numbered row by row, nearly fill b rows of a = ceil(sqrt(P)) columns, b = ceil(P / a): the last c = a b - P
// places of the last row are empty. If c is 0, the pattern is that grid. Else there are b - 1 blocks, filled from above:
// in block i, from 0 on, the empty places have the ranks that row i has there. The pattern is of b (b - 1) rows and P
// columns: band i of b rows has block i side by side (b - 1) times, then the first (a - c) columns of it once.
//
// So a row has a ranks, and a column b, or b - 1 where it was filled. Each rank has b (b - 1) positions: in each of (b - 1)
// bands it stands (b - 1) times in whole blocks, and (b - 1) times more: one of the first (a - c) columns behind the
// blocks of each band, one of the last c columns where its own row filled a block. (The paper's idea; the rule is derived
// from it.)
class GeneralizedBlockCyclic {
 public:
  // Throws UsageError for 0 ranks.
  explicit GeneralizedBlockCyclic(std::uint32_t ranks);

  // Their number.
  constexpr std::uint32_t ranks() const { return ranks_; }
  // a.
  constexpr std::uint32_t block_columns() const { return columns_; }
  // b.
  constexpr std::uint32_t block_rows() const { return rows_; }
  // c.
  constexpr std::uint32_t empty() const {
    return static_cast<std::uint32_t>(std::uint64_t{rows_} * columns_ - ranks_);
  }
  // The rank of tile (m, n).
  constexpr RankId owner(std::uint64_t m, std::uint64_t n) const {
    std::uint64_t row = m % rows_;
    const std::uint64_t column = column_in_block(n);
    if (row + 1 == rows_ && column >= columns_ - empty()) row = m / rows_ % (rows_ - 1);
    return {static_cast<std::uint32_t>(row * columns_ + column)};
  }
  // The tile's row and column among those in which its rank has tiles. A rank of the last c columns has b rows in (b - 1)
  // bands and (b - 1) columns of a pattern, another one (b - 1) rows and b columns.
  constexpr PlaceInRank place(std::uint64_t m, std::uint64_t n) const {
    const std::uint64_t band = m / rows_;
    if (empty() == 0) return {band, n / columns_};
    const std::uint64_t block = n % ranks_ / columns_;
    const std::uint64_t patterns = n / ranks_;
    if (column_in_block(n) < columns_ - empty()) return {band, patterns * rows_ + block};
    const std::uint64_t row = m % rows_;
    const std::uint64_t filled_from = band % (rows_ - 1);
    const bool is_behind_filled = row + 1 == rows_ || filled_from > row;
    return {band / (rows_ - 1) * rows_ + filled_from + (is_behind_filled ? 1 : 0),
            patterns * (rows_ - 1) + block};
  }

 private:
  // The last block of a pattern is narrower where places are empty.
  constexpr std::uint64_t column_in_block(std::uint64_t n) const {
    return (empty() == 0 ? n : n % ranks_) % columns_;
  }

  std::uint32_t ranks_;
  std::uint32_t columns_;
  std::uint32_t rows_;
};

// Any of these, or a function of one's own. A copy takes no memory.
class Distribution {
 public:
  // Is called on every rank, from any thread, and gives the same answer always and everywhere.
  using Function = std::function<RankId(std::uint64_t row, std::uint64_t column)>;

  // Rank 0 owns all tiles.
  Distribution() = default;
  // Over a grid.
  Distribution(BlockCyclic2D rule) : rule_(rule) {}
  // Of a symmetric matrix, or of its triangle.
  Distribution(SymmetricBlockCyclic rule) : rule_(rule) {}
  // For any number of ranks.
  Distribution(GeneralizedBlockCyclic rule) : rule_(rule) {}
  // As the function says: `RankId(std::uint64_t row, std::uint64_t column)`. Throws UsageError if it is empty.
  template <typename F>
  requires(!std::is_same_v<F, Distribution> &&
           std::is_invocable_r_v<RankId, const F&, std::uint64_t, std::uint64_t>)
      Distribution(F function)
      : rule_(shared(Function(std::move(function)))) {}

  // What sends least and leaves no rank without tiles: symmetric block-cyclic for a triangle where there is one for so
  // many ranks, else 2D block-cyclic on the grid nearest to a square, or generalized 2D block-cyclic where a tile of a
  // factor goes to fewer ranks by it. Throws UsageError for 0 ranks.
  static Distribution automatic(std::uint32_t ranks, Triangle triangle = Triangle{});

  // The rank of the tile; of a function: whatever it says.
  RankId owner(std::uint64_t row, std::uint64_t column) const {
    return std::visit(
        [&](const auto& rule) {
          if constexpr (kIsFunction<decltype(rule)>) {
            return (*rule)(row, column);
          } else {
            return rule.owner(row, column);
          }
        },
        rule_);
  }
  // The same. Throws UsageError, which names tile and rank, if that is not one of so many `ranks`.
  RankId owner(std::uint64_t row, std::uint64_t column, std::uint32_t ranks) const {
    const RankId rank = owner(row, column);
    if (rank.value >= ranks) [[unlikely]]
      refuse(rank, row, column, ranks);
    return rank;
  }
  // The second level: the number of the tile's device among so many `devices` of its rank, from 0. A rank deals its tiles
  // by BlockCyclic, as if they were a matrix of their own; a grid of P x Q gives what BlockCyclic{devices, P, Q} gives.
  // The tiles of a function are dealt by their row and column in the whole matrix. `columns`: of the grid of devices; 0: by
  // BlockCyclic's rule. Throws UsageError for 0 devices, and for columns that do not divide their number.
  std::uint32_t device(std::uint64_t row, std::uint64_t column, std::uint32_t devices,
                       std::uint32_t columns = 0) const;
  // For how many ranks it is; 0: nobody knows, for a function says.
  std::uint32_t ranks() const;
  // For people: "2D block-cyclic, 2 x 4".
  std::string name() const;

 private:
  using Shared = std::shared_ptr<const Function>;
  template <typename Rule>
  static constexpr bool kIsFunction = std::is_same_v<std::remove_cvref_t<Rule>, Shared>;

  static Shared shared(Function function);
  [[noreturn]] void refuse(RankId rank, std::uint64_t row, std::uint64_t column,
                           std::uint32_t ranks) const;

  std::variant<BlockCyclic2D, SymmetricBlockCyclic, GeneralizedBlockCyclic, Shared> rule_;
};

}  // namespace vicinal
