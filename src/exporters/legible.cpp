#include "exporters/legible.hpp"

#include <cstddef>
#include <cstdint>

namespace vicinal::exporters {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Form {
  std::size_t bytes = 0;         // 0: no character begins so
  std::uint32_t least = 0;       // smaller ones have a shorter form
  std::uint32_t first_bits = 0;  // of the first byte
};

Form form_of(unsigned char first) {
  if (first < 0x80) return {1, 0, first};
  if (first >= 0xC2 && first < 0xE0) return {2, 0x80, first & 0x1FU};
  if (first >= 0xE0 && first < 0xF0) return {3, 0x800, first & 0x0FU};
  if (first >= 0xF0 && first < 0xF5) return {4, 0x10000, first & 0x07U};
  return {};
}

// Bytes of the character that `text` begins with; 0: it begins with none.
std::size_t character(std::string_view text) {
  const Form form = form_of(static_cast<unsigned char>(text.front()));
  if (form.bytes == 0 || text.size() < form.bytes) return 0;
  std::uint32_t code = form.first_bits;
  for (std::size_t i = 1; i < form.bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0U) != 0x80U) return 0;
    code = code << 6 | (byte & 0x3FU);
  }
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  return code < form.least || is_surrogate || code > 0x10FFFF ? 0 : form.bytes;
}

bool is_control(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return (value < 0x20 && byte != '\n' && byte != '\t') || value == 0x7F;
}

}  // namespace

std::string legible(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = character(text);
    if (bytes == 0 || is_control(text.front())) {
      out += kReplacement;
      text.remove_prefix(1);
    } else {
      out += text.substr(0, bytes);
      text.remove_prefix(bytes);
    }
  }
  return out;
}

}  // namespace vicinal::exporters
