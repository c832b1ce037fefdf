#include "exporters/legible.hpp"

#include "analysis/events/utf8.hpp"

namespace vicinal::exporters {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool is_control(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return (value < 0x20 && byte != '\n' && byte != '\t') || value == 0x7F;
}

}  // namespace

std::string legible(std::string_view text) {
  std::string out;
  for (const char byte : analysis::as_utf8(text)) {
    if (is_control(byte)) {
      out += kReplacement;
    } else {
      out += byte;
    }
  }
  return out;
}

}  // namespace vicinal::exporters
