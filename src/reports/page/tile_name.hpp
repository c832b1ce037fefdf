// Data that are tiles of a matrix, by their names: "A(3,4)", "A[3][4]", "tile (3, 4)", "A3_4".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/recorded_run.hpp"

namespace vicinal::reports {

struct TileName {
  std::string_view matrix;  // "A"
  std::uint32_t row = 0;
  std::uint32_t column = 0;
};
// None: the text is no name of a tile, or its numbers are too large to be drawn.
std::optional<TileName> tile_name(std::string_view text);

class TileNames {
 public:
  explicit TileNames(const analysis::RecordedRun& run);

  struct Matrix {
    std::string name;
    std::uint32_t rows = 0;
    std::uint32_t columns = 0;
    std::uint32_t tiles = 0;  // that have a name
  };
  struct Place {
    std::uint32_t matrix = analysis::kNobody;  // index of `matrices`; nobody: no tile
    std::uint32_t row = 0;
    std::uint32_t column = 0;
  };
  const std::vector<Matrix>& matrices() const { return matrices_; }
  Place place(std::uint32_t datum) const { return places_[datum]; }

 private:
  std::vector<Matrix> matrices_;
  std::vector<Place> places_;
};

}  // namespace vicinal::reports
