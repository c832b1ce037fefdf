#include "base/legible.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace vicinal::base {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

struct Character {
  std::uint32_t code = 0;
  std::size_t bytes = 1;
  bool is_good = false;  // else so many bytes are the beginning of none
};

std::uint32_t byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// At the begin of the text, which is not empty; the table of well-formed sequences is that of the Unicode standard (3.9).
Character first_of(std::string_view text) {
  const std::uint32_t lead = byte_at(text, 0);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return {};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Not longer than need be, no half of a pair of UTF-16, not beyond U+10FFFF.
  std::uint32_t least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  std::uint32_t most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  Character found{.code = lead & (0x7FU >> length), .bytes = 1, .is_good = true};
  while (found.bytes < length) {
    const std::uint32_t next = found.bytes < text.size() ? byte_at(text, found.bytes) : 0;
    if (next < least || next > most) return {0, found.bytes, false};
    found.code = found.code << 6 | (next & 0x3F);
    ++found.bytes;
    least = 0x80;
    most = 0xBF;
  }
  return found;
}

bool may_be_shown(std::uint32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return false;
  if ((code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069)) return false;
  return code != 0x2028 && code != 0x2029 && code != 0xFFFE && code != 0xFFFF;
}

bool is_plain(char byte) {
  return byte >= 0x20 && byte < 0x7F;
}

std::string shown(std::string_view text, std::string_view besides) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    // Most text is nothing else.
    const auto plain =
        static_cast<std::size_t>(std::ranges::find_if_not(text, is_plain) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Character next = first_of(text);
    const bool keeps = next.is_good && (may_be_shown(next.code) ||
                                        besides.find(text.front()) != std::string_view::npos);
    out += keeps ? text.substr(0, next.bytes) : kReplacement;
    text.remove_prefix(next.bytes);
  }
  return out;
}

}  // namespace

std::string legible(std::string_view text) {
  return shown(text, "\n\t");
}

std::string legible_name(std::string_view name) {
  return shown(name, "");
}

}  // namespace vicinal::base
