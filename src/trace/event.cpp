#include "trace/event.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::trace {

namespace {

constexpr std::string_view kAll = "all";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

std::vector<std::string_view> words() {
  std::vector<std::string_view> all{kAll};
  for (const CategoryEntry& each : categories()) {
    if (each.category != Category::always) all.push_back(each.name);
  }
  return all;
}

Categories parse_word(std::string_view word) {
  if (word == kAll) return kAllCategories;
  for (const CategoryEntry& each : categories()) {
    if (word == each.name) return bit(each.category);
  }
  const std::vector<std::string_view> known = words();
  const std::string_view near = base::nearest(word, known);
  throw UsageError(fmt::format("\"{}\" is no category of events{}; the categories are {}", word,
                               near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near),
                               fmt::join(known, ", ")));
}

}  // namespace

Categories parse_categories(std::string_view text) {
  Categories chosen = bit(Category::always);
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    chosen |= parse_word(trimmed(text.substr(at, comma - at)));
    at = comma + 1;
  }
  return chosen;
}

}  // namespace vicinal::trace
