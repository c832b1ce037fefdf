// A matrix in tiles, each registered data that tasks use: see typed_data.hpp.
//
//   vicinal::TiledMatrix<double> a(runtime, {.rows = 10000, .columns = 10000, .tile_rows = 512}, "A");
//   for (const vicinal::TilePlace at : a) runtime.task("fill", fill, out(a(at)), at.row, at.column);
//
// Of a symmetric or triangular matrix the tiles of one triangle suffice: {.triangle = vicinal::Triangle::lower}.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "vicinal/distribution.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {

// The tiles of a matrix: all; or the diagonal and the tiles below it (lower), or above it (upper).
enum class Triangle : std::uint8_t { none, lower, upper };

// In elements. The last tiles of a row and of a column are smaller where the tiles do not divide the matrix.
struct MatrixShape {
  std::uint64_t rows = 0;              // of the matrix
  std::uint64_t columns = 0;           // of the matrix
  std::uint64_t tile_rows = 0;         // of a tile
  std::uint64_t tile_columns = 0;      // of a tile; 0: as tile_rows
  Triangle triangle = Triangle::none;  // the tiles that there are
};

// Row and column of a tile, counted in tiles from 0.
struct TilePlace {
  std::uint64_t row = 0;     // from 0
  std::uint64_t column = 0;  // from 0
  friend bool operator==(const TilePlace&, const TilePlace&) = default;
};

// Fills in what the shape leaves out. Throws UsageError if there are no rows, no columns, no tiles, or too many tiles,
// or for a triangle of a matrix or of tiles that are not square.
void check_shape(MatrixShape& shape, const std::string& name);
// "A(2,1)"; empty if the matrix has no name.
std::string tile_name(const std::string& matrix, TilePlace at);
// Throws UsageError that names the place, and the one to use instead where there is one.
[[noreturn]] void refuse_place(TilePlace at, TilePlace tiles, Triangle triangle);

// On several ranks each tile belongs to one of them, as a Distribution says: Distribution::automatic where none is given.
//
// A small value, like the handles of its tiles, which stay until they are released or the runtime ends.
template <typename T>
class TiledMatrix {
 public:
  TiledMatrix() = default;
  // A matrix of this shape, which nobody has written; the runtime allocates each tile when a task writes it. Tiles are
  // named "name(2,1)". Throws what check_shape throws, as the two below.
  TiledMatrix(Runtime& runtime, MatrixShape shape, const std::string& name = {})
      : TiledMatrix(runtime, shape, usual(runtime, shape), name) {}
  // The same, whose tiles belong to the ranks that `distribution` says.
  TiledMatrix(Runtime& runtime, MatrixShape shape, const Distribution& distribution,
              const std::string& name = {}) {
    make(shape, name, [&](TilePlace at, std::uint64_t rows, std::uint64_t columns) {
      const RankId owner = distribution.owner(at.row, at.column, runtime.rank_count());
      return runtime.tile<T>(owner, rows, columns, tile_name(name, at));
    });
  }
  // The application's matrix `elements`, column-major, which must live as long; in tiles of `tile_rows` x `tile_columns`
  // elements, those of the `triangle` alone if one is given.
  TiledMatrix(Runtime& runtime, Tile<T> elements, std::uint64_t tile_rows,
              std::uint64_t tile_columns, const std::string& name = {},
              Triangle triangle = Triangle::none) {
    const MatrixShape wanted{elements.rows(), elements.columns(), tile_rows, tile_columns,
                             triangle};
    const Distribution distribution = usual(runtime, wanted);
    make(wanted, name, [&](TilePlace at, std::uint64_t rows, std::uint64_t columns) {
      T* const first = &elements(at.row * shape_.tile_rows, at.column * shape_.tile_columns);
      return runtime.tile(distribution.owner(at.row, at.column),
                          Tile<T>(first, rows, columns, elements.leading_dimension()),
                          tile_name(name, at));
    });
  }
  // A matrix of this shape in a file: the tiles stand one behind the other, column by column, each column-major and
  // packed, from byte `file.offset` on. Tiles outside a triangle have no place in the file. Tiles beyond the end of the
  // file must be written first; see FileRegion. Needs the option disk.
  TiledMatrix(Runtime& runtime, const FileRegion& file, MatrixShape shape,
              const std::string& name = {}) {
    FileRegion region = file;
    const Distribution distribution = usual(runtime, shape);
    make(shape, name, [&](TilePlace at, std::uint64_t rows, std::uint64_t columns) {
      const TileShape tile{.rows = rows, .columns = columns, .element_bytes = sizeof(T)};
      const RankId owner = distribution.owner(at.row, at.column);
      const Data<T, 2> data(runtime.register_file(owner, region, tile, tile_name(name, at)));
      region.offset += rows * columns * sizeof(T);
      return data;
    });
  }

  // In elements.
  std::uint64_t rows() const { return shape_.rows; }
  // In elements.
  std::uint64_t columns() const { return shape_.columns; }
  // Rows of the matrix, in tiles.
  std::uint64_t tile_rows() const { return tile_rows_; }
  // Columns of the matrix, in tiles.
  std::uint64_t tile_columns() const { return tile_columns_; }
  // As given, filled in.
  const MatrixShape& shape() const { return shape_; }

  // The tile at this place. Throws UsageError beyond the last row or column, and for a tile of the other triangle.
  Data<T, 2> operator()(std::uint64_t row, std::uint64_t column) const {
    if (!has({row, column})) [[unlikely]]
      refuse_place({row, column}, {tile_rows_, tile_columns_}, shape_.triangle);
    return tiles_[row + column * tile_rows_];
  }
  Data<T, 2> operator()(TilePlace at) const { return (*this)(at.row, at.column); }
  // Whether there is a tile at this place.
  bool has(TilePlace at) const {
    if (at.row >= tile_rows_ || at.column >= tile_columns_) return false;
    if (shape_.triangle == Triangle::none) return true;
    return shape_.triangle == Triangle::lower ? at.row >= at.column : at.row <= at.column;
  }
#if defined(__cpp_multidimensional_subscript)
  // The same tile, in C++23.
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
    // From the first tile of this column on.
    Places(std::uint64_t rows, Triangle triangle, std::uint64_t column)
        : rows_(rows), triangle_(triangle) {
      begin_column(column);
    }
    TilePlace operator*() const { return at_; }
    Places& operator++() {
      const bool is_last =
          triangle_ == Triangle::upper ? at_.row == at_.column : at_.row + 1 == rows_;
      ++at_.row;
      if (is_last) begin_column(at_.column + 1);
      return *this;
    }
    Places operator++(int) {
      const Places before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Places&, const Places&) = default;

   private:
    void begin_column(std::uint64_t column) {
      at_ = {triangle_ == Triangle::lower ? column : 0, column};
    }
    std::uint64_t rows_ = 0;
    Triangle triangle_ = Triangle::none;
    TilePlace at_;
  };
  Places begin() const {
    return {tile_rows_, shape_.triangle, 0};
  }
  Places end() const {
    return {tile_rows_, shape_.triangle, tile_columns_};
  }

 private:
  static Distribution usual(const Runtime& runtime, const MatrixShape& shape) {
    return Distribution::automatic(runtime.rank_count(), shape.triangle);
  }
  template <typename Register>
  void make(const MatrixShape& wanted, const std::string& name, const Register& register_one) {
    shape_ = wanted;
    check_shape(shape_, name);
    tile_rows_ = (shape_.rows - 1) / shape_.tile_rows + 1;
    tile_columns_ = (shape_.columns - 1) / shape_.tile_columns + 1;
    tiles_.resize(tile_rows_ * tile_columns_);
    for (const TilePlace at : *this) {
      const std::uint64_t rows =
          std::min(shape_.tile_rows, shape_.rows - at.row * shape_.tile_rows);
      const std::uint64_t columns =
          std::min(shape_.tile_columns, shape_.columns - at.column * shape_.tile_columns);
      tiles_[at.row + at.column * tile_rows_] = register_one(at, rows, columns);
    }
  }

  MatrixShape shape_;
  std::uint64_t tile_rows_ = 0;
  std::uint64_t tile_columns_ = 0;
  std::vector<Data<T, 2>> tiles_;
};

}  // namespace vicinal
