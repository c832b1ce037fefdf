#include "graphfiles/file_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphfiles {

namespace {

constexpr std::size_t kLongestName = 80;
// Letters times names that are compared when a name is unknown: a tenth of a second.
constexpr std::size_t kMostComparisons = 1 << 20;

// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..." is
// cut before "syntax error".
std::string_view reason(std::string_view what) {
  const auto bracket = what.find("] ");
  if (bracket != std::string_view::npos) what.remove_prefix(bracket + 2);
  if (what.starts_with("parse error")) {
    const auto colon = what.find(": ");
    if (colon != std::string_view::npos) what.remove_prefix(colon + 2);
  }
  return what.substr(0, 400);  // it quotes what was read last, which may be long
}

}  // namespace

std::string in_quotes(std::string_view name) {
  if (name.size() <= kLongestName) return fmt::format("\"{}\"", base::legible_name(name));
  return fmt::format("\"{}...\"", base::legible_name(name.substr(0, kLongestName)));
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > kLongestName || candidates.size() > kMostComparisons / (word.size() + 1))
    return {};
  const std::string_view nearest = base::nearest(word, candidates);
  return nearest.empty() ? std::string() : fmt::format(": did you mean {}?", in_quotes(nearest));
}

void refuse_at(const std::string& origin, const std::string& place, const std::string& message) {
  throw UsageError(fmt::format("{}: {}: {}", origin, place, message));
}

std::string line_and_column(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto newline = before.rfind('\n');
  const std::size_t column =
      newline == std::string_view::npos ? before.size() + 1 : before.size() - newline;
  return fmt::format("line {}, column {}", line, column);
}

void refuse_syntax(const std::string& origin, std::string_view text, std::size_t position,
                   const std::exception& what) {
  // The last character read is the first that does not fit.
  throw UsageError(fmt::format("{}: {}: {}", origin,
                               line_and_column(text, position == 0 ? 0 : position - 1),
                               base::legible_name(reason(what.what()))));
}

}  // namespace vicinal::graphfiles
