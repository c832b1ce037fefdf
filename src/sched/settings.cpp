#include "sched/settings.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include <fmt/format.h>

#include "base/text.hpp"
#include "vicinal/error.hpp"

namespace vicinal::sched {

namespace {

constexpr std::string_view kNumber = "number";

bool is_among(std::string_view word, std::string_view values) {
  for (std::size_t at = 0; at <= values.size();) {
    const std::size_t end = std::min(values.find('|', at), values.size());
    if (values.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

bool is_number(std::string_view word) {
  try {
    return base::parse_real(word) >= 0;
  } catch (const UsageError&) {
    return false;
  }
}

bool fits(std::string_view value, const Setting& setting) {
  return setting.values == kNumber ? is_number(value) : is_among(value, setting.values);
}

std::string names_of(std::span<const Setting> known) {
  std::string text;
  for (const Setting& setting : known)
    text += fmt::format("{}{}", text.empty() ? "" : ", ", setting.name);
  return text;
}

}  // namespace

Settings::Settings(std::string_view policy, std::string_view text, std::span<const Setting> known)
    : known_(known) {
  for (const Setting& setting : known) values_.emplace_back(setting.usual);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    say(policy, text.substr(at, end - at));
    at = end + 1;
  }
}

void Settings::say(std::string_view policy, std::string_view word) {
  const std::size_t split = std::min(word.find('='), word.size());
  const std::string_view name = word.substr(0, split);
  const std::string_view value = split < word.size() ? word.substr(split + 1) : "";
  const auto found = std::ranges::find(known_, name, &Setting::name);
  if (found == known_.end()) {
    throw UsageError(known_.empty()
                         ? fmt::format("policy {} has no settings: leave \":{}\" out", policy, word)
                         : fmt::format("policy {} has no setting \"{}\"; it has {}", policy, name,
                                       names_of(known_)));
  }
  if (!fits(value, *found)) {
    throw UsageError(fmt::format(
        "policy {}: {}=\"{}\" is not understood; give {}", policy, name, value,
        found->values == kNumber ? "a number, at least 0" : std::string(found->values)));
  }
  values_[static_cast<std::size_t>(found - known_.begin())] = value;
}

std::string_view Settings::text(std::string_view name) const {
  const auto found = std::ranges::find(known_, name, &Setting::name);
  if (found == known_.end()) {
    throw std::logic_error(
        fmt::format("a policy asks for its setting {}, which it does not list", name));
  }
  return values_[static_cast<std::size_t>(found - known_.begin())];
}

double Settings::number(std::string_view name) const {
  return base::parse_real(text(name));
}

}  // namespace vicinal::sched
