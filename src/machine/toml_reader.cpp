#include "machine/toml_reader.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/text.hpp"
#include "machine/quantity.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

// A smaller memory, written as a number alone, is one whose unit was forgotten.
constexpr Bytes kLeastWithoutUnit = 1_MiB;

[[noreturn]] void refuse_at(const std::string& origin, std::uint32_t line, std::string_view why) {
  // The parser gives line 0 to what it made up, such as the table around the whole file.
  throw UsageError(fmt::format("{}:{}: {}", origin, std::max(line, 1U), base::legible_name(why)));
}

std::string did_you_mean(std::string_view word, std::initializer_list<std::string_view> words) {
  const std::string_view near = base::nearest(word, {words.begin(), words.size()});
  if (!near.empty()) return fmt::format("did you mean \"{}\"?", near);
  return fmt::format("write one of {}", fmt::join(words, ", "));
}

}  // namespace

// --- Values ---------------------------------------------------------------------------------------

void TomlValue::refuse(std::string_view why) const {
  refuse_at(*origin_, line(), fmt::format("{}: {}", what_, why));
}

std::string TomlValue::text() const {
  const auto* const found = node_->as_string();
  if (found == nullptr) refuse("expected a text in quotes");
  if (found->get().empty()) refuse("it is empty");
  return found->get();
}

bool TomlValue::flag() const {
  const auto* const found = node_->as_boolean();
  if (found == nullptr) refuse("expected true or false");
  return found->get();
}

std::uint32_t TomlValue::count(std::uint32_t lowest, std::uint32_t highest) const {
  const auto* const found = node_->as_integer();
  if (found == nullptr || found->get() < lowest || found->get() > highest) {
    refuse(fmt::format("expected a whole number from {} to {}", lowest, highest));
  }
  return static_cast<std::uint32_t>(found->get());
}

Bytes TomlValue::bytes() const {
  constexpr std::uint64_t kMost = 1ULL << 60;
  Bytes result;
  if (const auto* const whole = node_->as_integer()) {
    if (whole->get() > 0) result.value = static_cast<std::uint64_t>(whole->get());
  } else if (const auto* const written = node_->as_string()) {
    try {
      result = base::parse_bytes(written->get());
    } catch (const UsageError& error) {
      refuse(error.what());
    }
  } else {
    refuse("expected bytes, as in 4096 or \"500 MiB\"");
  }
  if (result.value == 0 || result.value > kMost) refuse("expected 1 byte to 1048576 TiB");
  return result;
}

Bytes TomlValue::memory() const {
  const Bytes result = bytes();
  const auto* const written = node_->as_string();
  const bool has_unit =
      written != nullptr && written->get().find_first_not_of(" 0123456789") != std::string::npos;
  if (!has_unit && result < kLeastWithoutUnit) {
    refuse(fmt::format("{} bytes are less than any memory has: write the unit, as in \"{} GB\"",
                       result.value, result.value));
  }
  return result;
}

double TomlValue::real(std::string_view forms, double lowest, double highest,
                       std::string_view range,
                       const std::function<double(std::string_view)>& parse) const {
  double result = 0;
  if (const auto* const whole = node_->as_integer()) {
    result = static_cast<double>(whole->get());
  } else if (const auto* const number = node_->as_floating_point()) {
    result = number->get();
  } else if (const auto* const written = node_->as_string()) {
    try {
      result = parse(written->get());
    } catch (const UsageError& error) {
      refuse(error.what());
    }
  } else {
    refuse(fmt::format("expected {}", forms));
  }
  // Written so that NaN is refused, too.
  if (!(result >= lowest && result <= highest)) refuse(fmt::format("expected {}", range));
  return result;
}

BytesPerSecond TomlValue::bandwidth() const {
  return {real("\"12 GB/s\" or a number of bytes per second", 1e3, 1e15, "1 kB/s to 1000 TB/s",
               [](std::string_view text) { return parse_bandwidth(text).value; })};
}

BytesPerSecond TomlValue::change(double lowest) const {
  return {real("\"12 MB/s\" or a number of bytes per second", lowest, 1e15,
               lowest < 0 ? "-1000 TB/s to 1000 TB/s" : "0 B/s to 1000 TB/s",
               [](std::string_view text) { return parse_bandwidth(text).value; })};
}

double TomlValue::flop_rate() const {
  return real("\"500 GFlop/s\" or a number of operations per second", 1e6, 1e18,
              "1 MFlop/s to 1000 PFlop/s", parse_flop_rate);
}

double TomlValue::seconds() const {
  return real("\"10 us\" or a number of seconds", 0, 86'400, "0 to 86400 s", parse_seconds);
}

Time TomlValue::time() const {
  return {std::llround(seconds() * 1e9)};
}

double TomlValue::number(double lowest, double highest) const {
  const auto* const whole = node_->as_integer();
  const auto* const number = node_->as_floating_point();
  const double result = whole != nullptr    ? static_cast<double>(whole->get())
                        : number != nullptr ? number->get()
                                            : std::numeric_limits<double>::quiet_NaN();
  // Written so that NaN is refused, too.
  if (!(result >= lowest && result <= highest)) {
    refuse(fmt::format("expected a number from {} to {}", lowest, highest));
  }
  return result;
}

std::size_t TomlValue::word(std::initializer_list<std::string_view> words) const {
  const std::string written = text();
  const auto* const found = std::find(words.begin(), words.end(), written);
  if (found == words.end()) {
    refuse(fmt::format("\"{}\" is not known: {}", written, did_you_mean(written, words)));
  }
  return static_cast<std::size_t>(found - words.begin());
}

std::vector<TomlValue> TomlValue::items() const {
  const auto* const list = node_->as_array();
  if (list == nullptr) refuse("expected a list in brackets");
  std::vector<TomlValue> result;
  for (const auto& item : *list) result.emplace_back(*origin_, item, what_);
  return result;
}

// --- Tables ---------------------------------------------------------------------------------------

void TomlTable::refuse(std::string_view why) const {
  refuse_at(*origin_, line_, fmt::format("{}: {}", what_, why));
}

std::string TomlTable::what_of(std::string_view key) const {
  return fmt::format("{} of {}", key, what_);
}

void TomlTable::allow(std::initializer_list<std::string_view> keys) const {
  for (const auto& [key, node] : *table_) {
    if (std::find(keys.begin(), keys.end(), key.str()) != keys.end()) continue;
    refuse_at(
        *origin_, key.source().begin.line,
        fmt::format("{} has no key \"{}\": {}", what_, key.str(), did_you_mean(key.str(), keys)));
  }
}

std::optional<TomlValue> TomlTable::find(std::string_view key) const {
  const auto* const node = table_->get(key);
  if (node == nullptr) return std::nullopt;
  return TomlValue(*origin_, *node, what_of(key));
}

TomlValue TomlTable::value(std::string_view key) const {
  auto found = find(key);
  if (!found) refuse(fmt::format("lacks the key \"{}\"", key));
  return *found;
}

Time TomlTable::time_or_zero(std::string_view key) const {
  const auto found = find(key);
  return found ? found->time() : Time{};
}

std::optional<TomlTable> TomlTable::table(std::string_view key) const {
  const auto* const node = table_->get(key);
  if (node == nullptr) return std::nullopt;
  const std::string name = what_.starts_with('[')
                               ? fmt::format("{}.{}]", what_.substr(0, what_.size() - 1), key)
                               : fmt::format("[{}]", key);
  const auto* const found = node->as_table();
  if (found == nullptr) refuse_at(*origin_, node->source().begin.line, name + ": expected a table");
  return TomlTable(*origin_, *found, name, node->source().begin.line);
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) const {
  std::vector<TomlTable> result;
  const auto* const node = table_->get(key);
  if (node == nullptr) return result;
  const std::string name = fmt::format("[[{}]]", key);
  const auto* const list = node->as_array();
  if (list == nullptr) {
    refuse_at(*origin_, node->source().begin.line, "expected tables that begin with " + name);
  }
  for (const auto& item : *list) {
    const auto* const found = item.as_table();
    if (found == nullptr)
      refuse_at(*origin_, item.source().begin.line, name + ": expected a table");
    result.emplace_back(*origin_, *found, name, item.source().begin.line);
  }
  return result;
}

std::vector<TomlTable::Named> TomlTable::named_tables(std::string_view key) const {
  std::vector<Named> result;
  const auto around = table(key);
  if (!around) return result;
  for (const auto& [name, node] : *around->table_) {
    const std::string title = fmt::format("[{}.{}]", key, name.str());
    const auto* const found = node.as_table();
    if (found == nullptr) {
      refuse_at(*origin_, name.source().begin.line, title + ": expected a table");
    }
    result.push_back(
        {std::string(name.str()), TomlTable(*origin_, *found, title, node.source().begin.line)});
  }
  return result;
}

}  // namespace vicinal::machine
