// Poisson's equation on a grid of points, in two or three dimensions: the matrix of the second differences, with zero
// boundary values around the grid. Row i + nx (j + ny k) is that of point (i, j, k), i < nx, j < ny, k < nz: on the diagonal
// twice the number of dimensions, and -1 for each neighbour along a dimension, of which there are up to 4 or 6.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>

namespace vicinal::graphs {

struct PoissonGrid {
  static constexpr std::uint64_t kMostPoints = 1ULL << 30;

  std::array<std::uint64_t, 3> edges{1, 1,
                                     1};  // points along each dimension; 1 of one that there is not
  std::uint32_t dimensions = 2;

  std::uint64_t points() const { return edges[0] * edges[1] * edges[2]; }

  // visit(column, value) in rising order of the columns.
  template <typename Visit>
  void visit_row(std::uint64_t row, const Visit& visit) const {
    const std::uint64_t plane = edges[0] * edges[1];
    const std::uint64_t i = row % edges[0];
    const std::uint64_t j = row % plane / edges[0];
    const std::uint64_t k = row / plane;
    if (k > 0) visit(row - plane, -1.0);
    if (j > 0) visit(row - edges[0], -1.0);
    if (i > 0) visit(row - 1, -1.0);
    visit(row, 2.0 * dimensions);
    if (i + 1 < edges[0]) visit(row + 1, -1.0);
    if (j + 1 < edges[1]) visit(row + edges[0], -1.0);
    if (k + 1 < edges[2]) visit(row + plane, -1.0);
  }

  // The largest eigenvalue over the smallest, both of which are sums of 2 - 2 cos(m pi / (n + 1)) over the dimensions,
  // with m = 1 and m = n.
  double condition() const {
    double least = 0;
    double most = 0;
    for (std::uint32_t d = 0; d < dimensions; ++d) {
      const double angle = std::numbers::pi / static_cast<double>(edges[d] + 1);
      least += 2 - 2 * std::cos(angle);
      most += 2 + 2 * std::cos(angle);
    }
    return most / least;
  }
};

// "512x512", "64x64x64". Throws UsageError that says what it is to be.
PoissonGrid parse_grid(std::string_view text);
// The same again.
std::string to_string(const PoissonGrid& grid);

}  // namespace vicinal::graphs
