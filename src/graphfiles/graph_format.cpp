#include "graphfiles/graph_format.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "graphfiles/file_text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graphfiles {

namespace {

// Stops at the first key of the outermost object that only one of the formats has.
class FormatSeeker {
 public:
  bool wfformat() const { return wfformat_; }

  bool null() { return true; }
  bool boolean(bool /*value*/) { return true; }
  bool number_integer(std::int64_t /*value*/) { return true; }
  bool number_unsigned(std::uint64_t /*value*/) { return true; }
  bool number_float(double /*value*/, const std::string& /*text*/) { return true; }
  bool string(const std::string& /*value*/) { return true; }
  bool binary(const nlohmann::json::binary_t& /*value*/) { return true; }
  bool start_object(std::size_t /*size*/) { return ++depth_ > 0; }
  bool start_array(std::size_t /*size*/) { return depth_++ > 0; }
  bool end_object() { return --depth_ > 0; }
  bool end_array() { return --depth_ > 0; }
  bool key(const std::string& name) {
    if (depth_ > 1) return true;
    wfformat_ = name == "workflow" || name == "schemaVersion";
    const bool ours = name == "format" || name == "precision" || name == "data" ||
                      name == "kernels" || name == "tasks";
    return !wfformat_ && !ours;
  }
  // What is wrong with it the reader of the format will say.
  bool parse_error(std::size_t /*position*/, const std::string& /*last*/,
                   const nlohmann::json::exception& /*what*/) {
    return false;
  }

 private:
  std::size_t depth_ = 0;
  bool wfformat_ = false;
};

GraphFormat format_of_json(std::string_view text) {
  FormatSeeker seeker;
  nlohmann::json::sax_parse(text.begin(), text.end(), &seeker);
  return seeker.wfformat() ? GraphFormat::wfformat : GraphFormat::own;
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Spaces, and the comments of all formats that have some.
std::string_view without_comments(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::size_t space = std::min(text.find_first_not_of(" \t\r\n\f\v"), text.size());
    text.remove_prefix(space);
    if (text.starts_with('#') || text.starts_with('%') || text.starts_with("//")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*") && text.find("*/") != std::string_view::npos) {
      text.remove_prefix(text.find("*/") + 2);
    } else {
      break;
    }
  }
  return text;
}

std::optional<GraphFormat> by_first_word(std::string_view text) {
  const auto end = static_cast<std::size_t>(
      std::find_if_not(text.begin(), text.end(), is_word_character) - text.begin());
  std::string word(text.substr(0, end));
  if (text.substr(end).starts_with(':')) return GraphFormat::starpu_tasks;
  std::ranges::transform(word, word.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (word == "digraph" || word == "strict" || word == "graph") return GraphFormat::dot;
  return std::nullopt;
}

std::optional<GraphFormat> by_ending(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, GraphFormat>, 8> kEndings{
      {{".json", GraphFormat::own},
       {".dot", GraphFormat::dot},
       {".gv", GraphFormat::dot},
       {".dax", GraphFormat::dax},
       {".xml", GraphFormat::dax},
       {".stg", GraphFormat::stg},
       {".rec", GraphFormat::starpu_tasks},
       {".std", GraphFormat::stg}}};
  for (const auto& [ending, format] : kEndings) {
    if (name.ends_with(ending)) return format;
  }
  return std::nullopt;
}

}  // namespace

GraphFormat format_of(std::string_view text, const std::string& origin) {
  const std::string_view begin = without_comments(text);
  const char first = begin.empty() ? '\0' : begin.front();
  if (first == '{' || first == '[') return format_of_json(text);
  if (first == '<') return GraphFormat::dax;
  if (first >= '0' && first <= '9') return GraphFormat::stg;
  if (const auto format = by_first_word(begin)) return *format;
  if (const auto format = by_ending(origin)) return *format;
  throw UsageError(
      fmt::format("{}: {}, which no graph file does: our own and WfFormat are JSON, DAX is XML, "
                  "DOT begins with digraph, STG "
                  "with a number, tasks.rec with a key; see docs/graph-file.md",
                  origin,
                  begin.empty() ? "there is nothing in it"
                                : "it begins with " + in_quotes(begin.substr(0, 12))));
}

}  // namespace vicinal::graphfiles
