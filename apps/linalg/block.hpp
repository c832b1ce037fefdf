// A matrix, or a part of one, as the tile kernels see it.
#pragma once

#include <cstddef>

namespace vicinal::linalg {

// Column-major: element (i, j) is data[i + j * ld], ld >= rows.
template <typename T>
struct Block {
  T* data;
  int rows;
  int columns;
  int ld;

  T* at(int row, int column) const { return data + row + static_cast<std::ptrdiff_t>(column) * ld; }
  Block part(int row, int column, int height, int width) const {
    return {at(row, column), height, width, ld};
  }
};

}  // namespace vicinal::linalg
