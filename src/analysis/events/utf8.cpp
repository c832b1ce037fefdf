#include "analysis/events/utf8.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace vicinal::analysis {

std::string as_utf8(std::string_view text) {
  using Lenient = nlohmann::json;
  std::string copy(text);
  const auto is_ascii = [](char each) { return static_cast<unsigned char>(each) < 0x80; };
  if (std::ranges::all_of(copy, is_ascii)) return copy;
  const std::string quoted =
      Lenient(std::move(copy)).dump(-1, ' ', true, Lenient::error_handler_t::replace);
  return Lenient::parse(quoted).get<std::string>();
}

}  // namespace vicinal::analysis
