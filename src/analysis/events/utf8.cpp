#include "analysis/events/utf8.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace vicinal::analysis {

std::string as_utf8(std::string_view text) {
  using Json = nlohmann::json;
  std::string copy(text);
  const auto is_ascii = [](char each) { return static_cast<unsigned char>(each) < 0x80; };
  if (std::ranges::all_of(copy, is_ascii)) return copy;
  const std::string quoted =
      Json(std::move(copy)).dump(-1, ' ', true, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

}  // namespace vicinal::analysis
