// A handle in parts: each part is a handle, so that tasks on different parts run at once.
//
//   vicinal::Parts parts = runtime.partition(a, vicinal::tiles(128, 128));
//   runtime.submit({.codelet = &potrf, .operands = {RW(parts(0, 0))}});
//   runtime.submit({.codelet = &check, .operands = {R(a)}});  // sees what the task before it wrote
//   runtime.unpartition(parts);
//
// Accesses to a handle and to its parts see each other's writes, in the order of submission. What has to be moved
// for that is moved by tasks of the runtime, in that order: nobody waits when a handle is partitioned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "vicinal/data.hpp"

namespace vicinal {

// Rows and columns of the whole that are one part, in elements. A buffer is one column of bytes.
struct Block {
  std::uint64_t row = 0;      // the first
  std::uint64_t column = 0;   // the first
  std::uint64_t rows = 0;     // their number
  std::uint64_t columns = 1;  // their number
  friend bool operator==(const Block&, const Block&) = default;
};

// How a whole is divided.
struct Division {
  std::vector<Block> blocks;  // the parts
  // Parts in a column of a grid whose parts are listed column by column; else the number of blocks.
  std::size_t grid_rows = 0;
};
// From the shape of the whole. A function of the application may be one: it lists blocks that do not overlap.
using Divide = std::function<Division(const Layout& whole)>;

// `count` parts as equal as may be, the larger ones first; fewer where there are fewer rows or columns.
Divide row_blocks(std::uint64_t count);
// `count` parts of whole columns, likewise.
Divide column_blocks(std::uint64_t count);
// Of `rows` x `columns` elements each; less at the lower and the right border.
Divide tiles(std::uint64_t rows, std::uint64_t columns);
// Pieces of a buffer, of `elements` elements of its layout each (bytes, of a plain buffer); the last may be shorter.
Divide pieces(std::uint64_t elements);

// The division of row-major data, whose registered shape is the transpose of the shape that `divide` sees.
Divide transposed(Divide divide);

// What tasks may do with the parts. A whole may be in several partitions at once: only read-only parts may overlap.
enum class PartAccess : std::uint8_t { writable, read_only };

// The parts of a partition: small values, valid until the partition is taken back.
class Parts {
 public:
  Parts() = default;
  // Of handles listed column by column, `grid_rows` to a column; Runtime::partition makes them.
  Parts(std::vector<Handle> handles, std::size_t grid_rows)
      : handles_(std::move(handles)), grid_rows_(grid_rows) {}
  // Their number.
  std::size_t size() const { return handles_.size(); }
  // Part i, below size().
  Handle operator[](std::size_t i) const { return handles_[i]; }
  // Parts in a column of the grid.
  std::size_t grid_rows() const { return grid_rows_; }
  // Parts in a row of the grid.
  std::size_t grid_columns() const { return grid_rows_ == 0 ? 0 : size() / grid_rows_; }
  // The part of a grid in this row and column of parts, both counted from 0.
  Handle operator()(std::size_t row, std::size_t column) const {
    return handles_[row + column * grid_rows_];
  }
  auto begin() const { return handles_.begin(); }
  auto end() const { return handles_.end(); }

 private:
  std::vector<Handle> handles_;
  std::size_t grid_rows_ = 0;
};

}  // namespace vicinal
