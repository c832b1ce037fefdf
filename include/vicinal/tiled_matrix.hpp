// A matrix in tiles, each registered data that tasks use: see typed_data.hpp.
//
//   vicinal::TiledMatrix<double> a(runtime, {.rows = 10000, .columns = 10000, .tile_rows = 512}, "A");
//   for (const vicinal::TilePlace at : a) runtime.task("fill", fill, out(a(at)), at.row, at.column);
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "vicinal/runtime.hpp"

namespace vicinal {

// In elements. The last tiles of a row and of a column are smaller where the tiles do not divide the matrix.
struct MatrixShape {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::uint64_t tile_rows = 0;
  std::uint64_t tile_columns = 0;  // 0: as tile_rows
};

// Row and column of a tile, counted in tiles from 0.
struct TilePlace {
  std::uint64_t row = 0;
  std::uint64_t column = 0;
  friend bool operator==(const TilePlace&, const TilePlace&) = default;
};

// Throws UsageError: no rows, no columns, no tiles, or too many of them. Fills in what the shape leaves out.
void check_shape(MatrixShape& shape, const std::string& name);
std::string tile_name(const std::string& matrix, TilePlace at);
[[noreturn]] void refuse_place(TilePlace at, TilePlace tiles);

// A small value, like the handles of its tiles, which stay until they are released or the runtime ends.
template <typename T>
class TiledMatrix {
 public:
  TiledMatrix() = default;
  // Nothing has been written; the runtime allocates each tile when a task writes it.
  TiledMatrix(Runtime& runtime, MatrixShape shape, const std::string& name = {}) {
    make(shape, name, [&](TilePlace at, std::uint64_t rows, std::uint64_t columns) {
      return runtime.tile<T>(rows, columns, tile_name(name, at));
    });
  }
  // The application's matrix, column-major, which must live as long; `elements` has its rows and columns.
  TiledMatrix(Runtime& runtime, Tile<T> elements, std::uint64_t tile_rows,
              std::uint64_t tile_columns, const std::string& name = {}) {
    make({elements.rows(), elements.columns(), tile_rows, tile_columns}, name,
         [&](TilePlace at, std::uint64_t rows, std::uint64_t columns) {
           T* const first = &elements(at.row * shape_.tile_rows, at.column * shape_.tile_columns);
           return runtime.tile(Tile<T>(first, rows, columns, elements.leading_dimension()),
                               tile_name(name, at));
         });
  }
  // A file with the tiles one behind the other, column by column, each column-major and packed, from byte `offset` on. Tiles
  // that the file does not have are written first; see FileRegion. Needs the option disk.
  TiledMatrix(Runtime& runtime, const FileRegion& file, MatrixShape shape,
              const std::string& name = {}) {
    FileRegion region = file;
    make(shape, name, [&](TilePlace at, std::uint64_t rows, std::uint64_t columns) {
      const TileShape tile{.rows = rows, .columns = columns, .element_bytes = sizeof(T)};
      const Data<T, 2> data(runtime.register_file(region, tile, tile_name(name, at)));
      region.offset += rows * columns * sizeof(T);
      return data;
    });
  }

  std::uint64_t rows() const { return shape_.rows; }
  std::uint64_t columns() const { return shape_.columns; }
  // Of the matrix, in tiles.
  std::uint64_t tile_rows() const { return tile_rows_; }
  std::uint64_t tile_columns() const { return tile_columns_; }
  const MatrixShape& shape() const { return shape_; }

  // Throws UsageError beyond the last row or column.
  Data<T, 2> operator()(std::uint64_t row, std::uint64_t column) const {
    if (row >= tile_rows_ || column >= tile_columns_) [[unlikely]]
      refuse_place({row, column}, {tile_rows_, tile_columns_});
    return tiles_[row + column * tile_rows_];
  }
  Data<T, 2> operator()(TilePlace at) const { return (*this)(at.row, at.column); }
#if defined(__cpp_multidimensional_subscript)
  Data<T, 2> operator[](std::uint64_t row, std::uint64_t column) const {
    return (*this)(row, column);
  }
#endif

  // The places of all tiles, column by column.
  class Places {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = TilePlace;
    using difference_type = std::ptrdiff_t;
    Places() = default;
    Places(std::uint64_t rows, TilePlace at) : rows_(rows), at_(at) {}
    TilePlace operator*() const { return at_; }
    Places& operator++() {
      if (++at_.row == rows_) at_ = {0, at_.column + 1};
      return *this;
    }
    Places operator++(int) {
      const Places before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Places&, const Places&) = default;

   private:
    std::uint64_t rows_ = 0;
    TilePlace at_;
  };
  Places begin() const {
    return {tile_rows_, {}};
  }
  Places end() const {
    return {tile_rows_, {0, tile_columns_}};
  }

 private:
  template <typename Register>
  void make(const MatrixShape& wanted, const std::string& name, const Register& register_one) {
    shape_ = wanted;
    check_shape(shape_, name);
    tile_rows_ = (shape_.rows - 1) / shape_.tile_rows + 1;
    tile_columns_ = (shape_.columns - 1) / shape_.tile_columns + 1;
    tiles_.reserve(tile_rows_ * tile_columns_);
    for (const TilePlace at : *this) {
      const std::uint64_t rows =
          std::min(shape_.tile_rows, shape_.rows - at.row * shape_.tile_rows);
      const std::uint64_t columns =
          std::min(shape_.tile_columns, shape_.columns - at.column * shape_.tile_columns);
      tiles_.push_back(register_one(at, rows, columns));
    }
  }

  MatrixShape shape_;
  std::uint64_t tile_rows_ = 0;
  std::uint64_t tile_columns_ = 0;
  std::vector<Data<T, 2>> tiles_;
};

}  // namespace vicinal
