// A block of rows as the bytes of a datum, see graphs::RowBlock.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "graphs/row_blocks.hpp"

namespace vicinal::sparse {

// The bytes of a block, as its kernels see them.
class StoredBlock {
 public:
  // Of bytes that `store_block` has written, or will.
  struct Counts {
    std::uint64_t rows = 0;
    std::uint64_t inner = 0;
    std::uint64_t outer = 0;
    std::uint64_t neighbours = 0;
  };
  // Several tasks may read a block at once.
  explicit StoredBlock(std::byte* bytes) : StoredBlock(bytes, counts_in(bytes)) {}
  StoredBlock(std::byte* bytes, const Counts& counts) : counts_(counts) {
    auto* const doubles = reinterpret_cast<double*>(bytes + sizeof counts);
    values_ = doubles;
    outer_values_ = doubles + counts.inner;
    auto* const numbers = reinterpret_cast<std::uint32_t*>(doubles + counts.inner + counts.outer);
    starts_ = numbers;
    columns_ = starts_ + counts.rows + 1;
    neighbour_starts_ = columns_ + counts.inner;
    outer_rows_ = neighbour_starts_ + counts.neighbours + 1;
    outer_columns_ = outer_rows_ + counts.outer;
  }

  const Counts& counts() const { return counts_; }
  double* values() const { return values_; }
  double* outer_values() const { return outer_values_; }
  std::uint32_t* starts() const { return starts_; }
  std::uint32_t* columns() const { return columns_; }
  std::uint32_t* neighbour_starts() const { return neighbour_starts_; }
  std::uint32_t* outer_rows() const { return outer_rows_; }
  std::uint32_t* outer_columns() const { return outer_columns_; }

 private:
  static Counts counts_in(const std::byte* bytes) {
    Counts counts;
    std::memcpy(&counts, bytes, sizeof counts);
    return counts;
  }

  Counts counts_;
  double* values_ = nullptr;
  double* outer_values_ = nullptr;
  std::uint32_t* starts_ = nullptr;
  std::uint32_t* columns_ = nullptr;
  std::uint32_t* neighbour_starts_ = nullptr;
  std::uint32_t* outer_rows_ = nullptr;
  std::uint32_t* outer_columns_ = nullptr;
};

// Block `b` of a matrix, for which graphs::row_block says how many bytes there are at `bytes`.
template <typename Matrix>
void store_block(const Matrix& matrix, const graphs::RowCut& cut, std::uint64_t b,
                 std::byte* bytes) {
  std::vector<std::uint64_t> seen_by(cut.count(), cut.count());
  const graphs::RowBlock block = graphs::row_block(matrix, cut, b, seen_by);
  const StoredBlock stored(bytes, {block.rows, block.inner, block.outer, block.neighbours.size()});
  std::memcpy(bytes, &stored.counts(), sizeof(StoredBlock::Counts));
  const auto slot_of = [&](std::uint64_t column) {
    const auto of = static_cast<std::uint32_t>(cut.block_of(column));
    return static_cast<std::size_t>(std::ranges::lower_bound(block.neighbours, of) -
                                    block.neighbours.begin());
  };
  const auto visit_outer = [&](const auto& visit) {
    for (std::uint64_t row = 0; row < block.rows; ++row) {
      matrix.visit_row(block.first + row, [&](std::uint64_t column, double value) {
        if (column - block.first < block.rows) return;
        visit(static_cast<std::uint32_t>(row), column, value);
      });
    }
  };
  std::uint32_t inner = 0;
  for (std::uint64_t row = 0; row < block.rows; ++row) {
    stored.starts()[row] = inner;
    matrix.visit_row(block.first + row, [&](std::uint64_t column, double value) {
      const std::uint64_t local = column - block.first;
      if (local >= block.rows) return;
      stored.columns()[inner] = static_cast<std::uint32_t>(local);
      stored.values()[inner++] = value;
    });
  }
  stored.starts()[block.rows] = inner;
  std::vector<std::uint32_t> next(block.neighbours.size() + 1);
  visit_outer([&](std::uint32_t, std::uint64_t column, double) { ++next[slot_of(column) + 1]; });
  for (std::size_t s = 0; s < block.neighbours.size(); ++s) next[s + 1] += next[s];
  std::ranges::copy(next, stored.neighbour_starts());
  visit_outer([&](std::uint32_t row, std::uint64_t column, double value) {
    const std::size_t slot = slot_of(column);
    const std::uint32_t at = next[slot]++;
    stored.outer_rows()[at] = row;
    stored.outer_columns()[at] =
        static_cast<std::uint32_t>(column - cut.first(block.neighbours[slot]));
    stored.outer_values()[at] = value;
  });
}

// to <- A from, of one block: `from` of the block itself, and behind it that of each neighbour.
inline void multiply(const StoredBlock& block, std::span<const double* const> from, double* to) {
  const double* const own = from[0];
  const std::uint32_t* const starts = block.starts();
  const std::uint32_t* const columns = block.columns();
  const double* const values = block.values();
  for (std::uint64_t row = 0; row < block.counts().rows; ++row) {
    double sum = 0;
    for (std::uint32_t e = starts[row]; e < starts[row + 1]; ++e)
      sum += values[e] * own[columns[e]];
    to[row] = sum;
  }
  for (std::uint64_t s = 0; s < block.counts().neighbours; ++s) {
    const double* const other = from[s + 1];
    for (std::uint32_t e = block.neighbour_starts()[s]; e < block.neighbour_starts()[s + 1]; ++e) {
      to[block.outer_rows()[e]] += block.outer_values()[e] * other[block.outer_columns()[e]];
    }
  }
}

}  // namespace vicinal::sparse
