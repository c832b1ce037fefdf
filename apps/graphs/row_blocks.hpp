// A sparse matrix cut into blocks of consecutive rows, by which vectors are cut, too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "vicinal/units.hpp"

namespace vicinal::graphs {

// What is stored of a block, in this order: four numbers of 8 bytes; the values of the inner entries, in the order of the
// rows, and of the outer ones; then numbers of 4 bytes: where each row's inner entries begin, and the last one's end; their
// columns, from the block's first row on; where each neighbour's entries begin, and the last one's end; rows and columns of
// the outer entries, neighbour by neighbour, each from the first of its block on.
struct RowBlock {
  std::uint64_t first = 0;  // row
  std::uint64_t rows = 0;
  std::uint64_t inner = 0;  // entries in columns that are rows of the block, too
  std::uint64_t outer = 0;  // the others
  std::vector<std::uint32_t>
      neighbours;  // the blocks in whose rows these columns are, in rising order

  // What the numbers of 4 bytes hold.
  static constexpr std::uint64_t kMost = 0xffffffffU;

  Bytes bytes() const {
    return {32 + 8 * (inner + outer) + 4 * (rows + 1 + inner + neighbours.size() + 1 + 2 * outer)};
  }
  Bytes vector_bytes() const { return {rows * sizeof(double)}; }
  bool is_sound() const { return rows <= kMost && inner <= kMost && outer <= kMost; }
};

// `rows` of them cut into `count` blocks whose sizes differ by one at most; as many as there are rows, if these are fewer.
class RowCut {
 public:
  RowCut(std::uint64_t rows, std::uint64_t count)
      : rows_(rows), count_(std::max<std::uint64_t>(1, std::min(rows, count))) {}
  std::uint64_t rows() const { return rows_; }
  std::uint64_t count() const { return count_; }
  std::uint64_t first(std::uint64_t block) const {
    return rows_ / count_ * block + std::min(block, rows_ % count_);
  }
  std::uint64_t block_of(std::uint64_t row) const {
    const std::uint64_t less = rows_ / count_;
    const std::uint64_t of_larger = rows_ % count_ * (less + 1);
    return row < of_larger ? row / (less + 1) : rows_ % count_ + (row - of_larger) / less;
  }

 private:
  std::uint64_t rows_;
  std::uint64_t count_;
};

// Block `b` of a matrix that calls `visit(column, value)` for each entry of a row. O(its entries). `seen_by`: by block, none
// of them `b`; then the neighbours' are.
template <typename Matrix>
RowBlock row_block(const Matrix& matrix, const RowCut& cut, std::uint64_t b,
                   std::vector<std::uint64_t>& seen_by) {
  RowBlock block;
  block.first = cut.first(b);
  block.rows = cut.first(b + 1) - block.first;
  for (std::uint64_t row = block.first; row < block.first + block.rows; ++row) {
    matrix.visit_row(row, [&](std::uint64_t column, double /*value*/) {
      if (column - block.first < block.rows) {
        ++block.inner;
        return;
      }
      ++block.outer;
      const std::uint64_t of = cut.block_of(column);
      if (std::exchange(seen_by[of], b) == b) return;
      block.neighbours.push_back(static_cast<std::uint32_t>(of));
    });
  }
  std::sort(block.neighbours.begin(), block.neighbours.end());
  return block;
}

template <typename Matrix>
std::vector<RowBlock> row_blocks(const Matrix& matrix, const RowCut& cut) {
  std::vector<std::uint64_t> seen_by(cut.count(), cut.count());
  std::vector<RowBlock> blocks;
  blocks.reserve(cut.count());
  for (std::uint64_t b = 0; b < cut.count(); ++b) {
    blocks.push_back(row_block(matrix, cut, b, seen_by));
  }
  return blocks;
}

}  // namespace vicinal::graphs
