// A symmetric or lower triangular matrix as the handles of its lower tiles.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "linalg/generator.hpp"
#include "linalg/tile_file.hpp"
#include "linalg/tile_grid.hpp"
#include "vicinal/data.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

class TiledMatrix {
 public:
  // Without content: the runtime allocates a tile where it is first written, in RAM or on the disk.
  static TiledMatrix empty(Runtime& runtime, const TileGrid& grid, const std::string& name);
  // The tiles of a file. Writable: what the tasks leave in them is in the file after unregister.
  static TiledMatrix from_file(Runtime& runtime, const TileFile& file, bool writable,
                               const std::string& name);
  TiledMatrix(TiledMatrix&&) = default;
  TiledMatrix& operator=(TiledMatrix&&) = default;

  const TileGrid& grid() const { return grid_; }
  // i >= j
  Handle tile(std::uint64_t i, std::uint64_t j) const { return tiles_[grid_.index(i, j)]; }
  // Unregisters all tiles, also when one cannot be written back; then throws the first error.
  void unregister(Runtime& runtime, WriteBack write_back);

 private:
  explicit TiledMatrix(const TileGrid& grid) : grid_(grid) {}
  TileGrid grid_;
  std::vector<Handle> tiles_;  // in the order of TileGrid::index
};

// Where the content of a matrix comes from: a formula, or the tiles of another one.
using Content = std::variant<Generator, const TiledMatrix*>;

// A part of a generated matrix, from this element on.
struct GeneratedPart {
  Generator generator;
  std::uint64_t first_row = 0;
  std::uint64_t first_column = 0;
};

// Submits the task that gives a tile of any shape its content.
void submit_generate(Runtime& runtime, Handle tile, Precision precision, const GeneratedPart& part);

// Submits one task per tile that gives it its content; returns their number. Does not wait.
std::uint64_t fill(Runtime& runtime, const TiledMatrix& matrix, const Content& content);

}  // namespace vicinal::linalg
