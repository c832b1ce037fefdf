// How a symmetric matrix is cut: into square tiles, of which the lower ones are stored.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "vicinal/data.hpp"
#include "vicinal/units.hpp"

namespace vicinal::linalg {

enum class Precision : std::uint8_t { f32, f64 };

constexpr std::string_view to_string(Precision precision) {
  return precision == Precision::f32 ? "float" : "double";
}
constexpr std::uint32_t element_bytes(Precision precision) {
  return precision == Precision::f32 ? 4 : 8;
}
// The unit roundoff u: half the distance from 1 to the next number.
constexpr double roundoff(Precision precision) {
  return precision == Precision::f32 ? 0x1p-24 : 0x1p-53;
}
template <typename T>
inline constexpr Precision kPrecisionOf = sizeof(T) == 4 ? Precision::f32 : Precision::f64;

// The lower tiles (i, j), i >= j, of a (size x size) matrix. All are (tile x tile) but those of the
// last tile row and column, which are smaller when tile does not divide size. Numbered column by
// column: (0,0), (1,0), ..., (n-1,0), (1,1), ...
struct TileGrid {
  std::uint64_t size = 0;  // elements; > 0
  std::uint64_t tile = 0;  // elements; > 0
  Precision precision = Precision::f64;

  // Then what is computed below stays in range, and BLAS, which counts in 31 bits, can work on a tile.
  constexpr bool is_sound() const {
    constexpr double kMostBytes = 0x1p53;
    constexpr std::uint64_t kMost = 1 << 20;
    const double order = static_cast<double>(size);
    return size > 0 && tile > 0 && tile <= kMost && tile <= size && (size - 1) / tile < kMost &&
           order * order * element_bytes(precision) <= kMostBytes;
  }
  constexpr std::uint64_t tiles() const { return (size + tile - 1) / tile; }
  constexpr std::uint64_t lower_tiles() const { return tiles() * (tiles() + 1) / 2; }
  constexpr std::uint64_t first(std::uint64_t i) const { return i * tile; }
  constexpr std::uint64_t extent(std::uint64_t i) const { return std::min(tile, size - first(i)); }
  // Column j follows j columns of tiles(), tiles() - 1, ... tiles.
  constexpr std::uint64_t index(std::uint64_t i, std::uint64_t j) const {
    return j * tiles() - j * (j - 1) / 2 + (i - j);
  }
  constexpr TileShape shape(std::uint64_t i, std::uint64_t j) const {
    return {extent(i), extent(j), 0, element_bytes(precision)};
  }
  constexpr Bytes full_tile_bytes() const { return {tile * tile * element_bytes(precision)}; }
  // Of all lower tiles, without padding.
  constexpr Bytes bytes() const {
    // The lower tiles hold the lower triangle and the upper triangles of the diagonal tiles:
    // (size^2 + sum of extent^2) / 2 elements.
    const std::uint64_t last = extent(tiles() - 1);
    const std::uint64_t squares = (tiles() - 1) * tile * tile + last * last;
    return {(size * size + squares) / 2 * element_bytes(precision)};
  }
  friend constexpr bool operator==(const TileGrid&, const TileGrid&) = default;
};

}  // namespace vicinal::linalg
