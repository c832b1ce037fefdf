#include "machine/number_csv.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/regular_file.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

constexpr std::size_t kMostCsvBytes = 1 << 20;

std::string_view without_spaces(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Takes what stands before the separator, and the separator.
std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = without_spaces(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

double number_of(std::string_view text, const std::string& origin, std::uint32_t line) {
  double result = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, result);
  if (error != std::errc{} || stop != end || text.empty()) {
    refuse_line(origin, line, fmt::format("\"{}\" is not a number", base::legible_name(text)));
  }
  return result;
}

}  // namespace

void refuse_line(const std::string& origin, std::uint32_t line, const std::string& why) {
  throw UsageError(fmt::format("{}:{}: {}", origin, std::max(line, 1U), why));
}

std::vector<NumberRow> parse_number_csv(std::string_view text, const std::string& origin,
                                        std::string_view columns) {
  const auto count = static_cast<std::size_t>(std::count(columns.begin(), columns.end(), ',')) + 1;
  std::vector<NumberRow> rows;
  std::uint32_t number = 0;
  bool headed = false;
  while (!text.empty()) {
    ++number;
    std::string_view line = take(text, '\n');
    if (line.empty() || line.starts_with('#')) continue;
    if (!headed) {
      if (line != columns) {
        refuse_line(origin, number, fmt::format("expected the columns \"{}\"", columns));
      }
      headed = true;
      continue;
    }
    if (static_cast<std::size_t>(std::count(line.begin(), line.end(), ',')) + 1 != count) {
      refuse_line(origin, number, fmt::format("expected {} numbers: {}", count, columns));
    }
    NumberRow row{.line = number, .numbers = {}};
    for (std::size_t i = 0; i < count; ++i) {
      row.numbers.push_back(number_of(take(line, ','), origin, number));
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    refuse_line(origin, number, fmt::format("there is no row below the columns \"{}\"", columns));
  }
  return rows;
}

std::string read_small_file(const std::string& path, std::string_view what) {
  try {
    return base::RegularFile(path).text(kMostCsvBytes);
  } catch (const base::RegularFile::Refused& refused) {
    throw UsageError(fmt::format("{} {} cannot be read: {}", what, path, refused.why));
  }
}

}  // namespace vicinal::machine
