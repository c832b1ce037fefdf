#include "vicinal/tiled_matrix.hpp"

#include <limits>

#include "vicinal/error.hpp"

namespace vicinal {

void check_shape(MatrixShape& shape, const std::string& name) {
  const std::string matrix = name.empty() ? "a tiled matrix" : "matrix " + name;
  if (shape.tile_columns == 0) shape.tile_columns = shape.tile_rows;
  if (shape.rows == 0 || shape.columns == 0 || shape.tile_rows == 0) {
    throw UsageError(matrix + " of " + std::to_string(shape.rows) + " x " +
                     std::to_string(shape.columns) + " elements in tiles of " +
                     std::to_string(shape.tile_rows) + " x " + std::to_string(shape.tile_columns) +
                     ": give rows, columns and tiles of at least one element");
  }
  constexpr std::uint64_t kMostTiles = std::uint64_t{1} << 31;
  const std::uint64_t rows = (shape.rows - 1) / shape.tile_rows + 1;
  const std::uint64_t columns = (shape.columns - 1) / shape.tile_columns + 1;
  if (rows > kMostTiles / columns) {
    throw UsageError(matrix + " has " + std::to_string(rows) + " x " + std::to_string(columns) +
                     " tiles, which are more than can be; take larger ones");
  }
  if (shape.triangle != Triangle::none &&
      (shape.rows != shape.columns || shape.tile_rows != shape.tile_columns)) {
    throw UsageError(
        matrix +
        ": only a square matrix in square tiles has triangles; give as many columns as "
        "rows, or leave triangle out");
  }
}

std::string tile_name(const std::string& matrix, TilePlace at) {
  if (matrix.empty()) return {};
  return matrix + "(" + std::to_string(at.row) + "," + std::to_string(at.column) + ")";
}

void refuse_place(TilePlace at, TilePlace tiles, Triangle triangle) {
  if (at.row < tiles.row && at.column < tiles.column) {
    const bool lower = triangle == Triangle::lower;
    throw UsageError("there is no tile (" + std::to_string(at.row) + "," +
                     std::to_string(at.column) + ") in the " + (lower ? "lower" : "upper") +
                     " triangle of a matrix; use tile (" + std::to_string(at.column) + "," +
                     std::to_string(at.row) + ") instead, or leave triangle out of its shape");
  }
  throw UsageError("there is no tile (" + std::to_string(at.row) + "," + std::to_string(at.column) +
                   ") in a matrix of " + std::to_string(tiles.row) + " x " +
                   std::to_string(tiles.column) + " tiles; they count from 0");
}

}  // namespace vicinal
