#include "graphs/poisson.hpp"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::graphs {

namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw UsageError(fmt::format(
      "a grid of \"{}\" {}; write the points along each edge, as 512x512 or 64x64x64", text, why));
}

}  // namespace

PoissonGrid parse_grid(std::string_view text) {
  PoissonGrid grid;
  grid.dimensions = 0;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  while (true) {
    if (grid.dimensions == grid.edges.size()) refuse(text, "has more than three edges");
    std::uint64_t& edge = grid.edges[grid.dimensions++];
    const auto [behind, error] = std::from_chars(at, end, edge);
    if (error == std::errc::result_out_of_range) refuse(text, "is too large");
    if (error != std::errc()) refuse(text, "is none");
    if (edge == 0) refuse(text, "has no points");
    at = behind;
    if (at == end) break;
    if (*at++ != 'x') refuse(text, "is none");
  }
  if (grid.dimensions < 2) refuse(text, "has one edge");
  std::uint64_t points = 1;
  for (const std::uint64_t edge : grid.edges) {
    if (edge > PoissonGrid::kMostPoints / points) {
      refuse(text, fmt::format("has more than {} points", PoissonGrid::kMostPoints));
    }
    points *= edge;
  }
  return grid;
}

std::string to_string(const PoissonGrid& grid) {
  std::string text = fmt::format("{}x{}", grid.edges[0], grid.edges[1]);
  if (grid.dimensions == 3) text += fmt::format("x{}", grid.edges[2]);
  return text;
}

}  // namespace vicinal::graphs
