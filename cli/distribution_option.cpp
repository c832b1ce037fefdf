#include "distribution_option.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "reports/catalogue.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

// "2x4"
std::optional<BlockCyclic2D> parse_grid(std::string_view text) {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, rows);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != 'x') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, columns);
  if (second.ec != std::errc() || second.ptr != end) return std::nullopt;
  return BlockCyclic2D(rows, columns);
}

}  // namespace

DistributionOption::DistributionOption(CLI::App& command) {
  option_ =
      command
          .add_option(
              "--distribution", text_,
              "Which rank has which tiles, on several: auto; 2dbc, 2D block-cyclic on the grid "
              "nearest to a square, or on that of P rows and Q columns, as 2x4; sbc, symmetric "
              "block-cyclic; g2dbc, generalized 2D block-cyclic. Behind a comma the grid of the "
              "accelerators of a rank, as 2x4,3x2: its tiles are advised for them by it.")
          ->type_name("TEXT [auto]");
}

Distribution DistributionOption::parse(std::uint32_t ranks, Triangle triangle) const {
  const std::string text(of_ranks());
  try {
    if (text == "auto") return Distribution::automatic(ranks, triangle);
    if (text == "2dbc") return BlockCyclic2D::nearest_square(ranks);
    if (text == "sbc") return SymmetricBlockCyclic(ranks);
    if (text == "g2dbc") return GeneralizedBlockCyclic(ranks);
    const std::optional<BlockCyclic2D> grid = parse_grid(text);
    if (!grid) {
      const std::array<std::string, 4> names{"auto", "2dbc", "sbc", "g2dbc"};
      const std::string near = reports::suggestion(text, names);
      throw UsageError(
          fmt::format("\"{}\" is none{}", text,
                      near.empty() ? "; write auto, 2dbc, sbc, g2dbc, or a grid as 2x4" : near));
    }
    if (grid->ranks() != ranks) {
      const BlockCyclic2D fits = BlockCyclic2D::nearest_square(ranks);
      throw UsageError(fmt::format(
          "a grid of {} is for {} ranks, and there {} {}; use {}x{}, or leave the option away",
          text, grid->ranks(), ranks == 1 ? "is" : "are", ranks, fits.rows(), fits.columns()));
    }
    return *grid;
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--distribution: {}", error.what()));
  }
}

std::optional<play::DeviceGrid> DistributionOption::devices() const {
  const std::size_t comma = text_.find(',');
  if (comma == std::string::npos) return std::nullopt;
  const std::string_view text = std::string_view(text_).substr(comma + 1);
  try {
    if (const auto grid = parse_grid(text)) return play::DeviceGrid{grid->rows(), grid->columns()};
  } catch (const UsageError&) {  // a row or a column of none
  }
  throw UsageError(fmt::format(
      "--distribution: \"{}\" is no grid of accelerators; write rows and columns, as 3x2", text));
}

}  // namespace vicinal::cli
