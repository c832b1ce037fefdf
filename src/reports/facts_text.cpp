#include "reports/facts_text.hpp"

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/text.hpp"

namespace vicinal::reports {

namespace {

std::string value_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return base::legible_name(*text);
  if (const auto* bytes = std::get_if<Bytes>(&value)) return base::format_bytes(*bytes);
  if (const auto* number = std::get_if<std::uint64_t>(&value)) return fmt::format("{}", *number);
  return fmt::format("{:.4g}", std::get<double>(value));
}

}  // namespace

std::string facts_text(const Facts& facts) {
  std::string text;
  for (const auto& [name, value] : facts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value_text(value));
  }
  return text;
}

}  // namespace vicinal::reports
