#include "reports/page/tile_name.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace vicinal::reports {

namespace {

constexpr std::uint32_t kMostTiles = 16384;  // of a row or column

// A number at the beginning of the text, which it is taken from.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number >= kMostTiles) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// "(3, 4)", "[3][4]" or "[3,4]", and nothing behind it.
std::optional<std::pair<std::uint32_t, std::uint32_t>> pair_between_brackets(
    std::string_view text) {
  const std::string_view close = text.front() == '(' ? ")" : "]";
  text.remove_prefix(1);
  const auto row = take_number(text);
  if (!row || !(take(text, ", ") || take(text, ",") || take(text, "]["))) return std::nullopt;
  const auto column = take_number(text);
  if (!column || text != close) return std::nullopt;
  return std::pair(*row, *column);
}

// "A3_4".
std::optional<TileName> with_underline(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t line = text.rfind('_');
  if (line == std::string_view::npos) return std::nullopt;
  const std::size_t before = text.substr(0, line).find_last_not_of(kDigits);
  if (before == std::string_view::npos || before + 1 == line) return std::nullopt;
  std::string_view row_text = text.substr(before + 1, line - before - 1);
  std::string_view column_text = text.substr(line + 1);
  const auto row = take_number(row_text);
  const auto column = take_number(column_text);
  if (!row || !column || !column_text.empty()) return std::nullopt;
  return TileName{text.substr(0, before + 1), *row, *column};
}

}  // namespace

std::optional<TileName> tile_name(std::string_view text) {
  for (std::size_t open = 0; open < text.size(); ++open) {
    if (text[open] != '(' && text[open] != '[') continue;
    std::string_view matrix = text.substr(0, open);
    while (matrix.ends_with(' ')) matrix.remove_suffix(1);
    if (const auto place = pair_between_brackets(text.substr(open))) {
      return TileName{matrix, place->first, place->second};
    }
  }
  return with_underline(text);
}

TileNames::TileNames(const analysis::RecordedRun& run) : places_(run.data.size()) {
  std::map<std::string_view, std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < run.data.size(); ++i) {
    const std::optional<TileName> name = tile_name(run.data[i].name);
    if (!name) continue;
    const auto [at, is_new] =
        numbers.try_emplace(name->matrix, static_cast<std::uint32_t>(matrices_.size()));
    if (is_new) matrices_.push_back({std::string(name->matrix), 0, 0, 0});
    Matrix& matrix = matrices_[at->second];
    matrix.rows = std::max(matrix.rows, name->row + 1);
    matrix.columns = std::max(matrix.columns, name->column + 1);
    ++matrix.tiles;
    places_[i] = {at->second, name->row, name->column};
  }
}

}  // namespace vicinal::reports
