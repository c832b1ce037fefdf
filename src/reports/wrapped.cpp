#include "reports/wrapped.hpp"

#include <algorithm>

namespace vicinal::reports {

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent) {
  const std::string begin = "\n" + std::string(indent, ' ');
  std::string lines;
  std::size_t used = 0;
  bool is_first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    const bool ends_line = end < text.size() && text[end] == '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!is_first && used + 1 + word.size() > width) {
      lines += begin;
      used = 0;
      is_first = true;
    }
    lines += is_first ? "" : " ";
    lines += word;
    used += word.size() + (is_first ? 0 : 1);
    is_first = false;
    if (ends_line) {
      lines += begin;
      used = 0;
      is_first = true;
    }
  }
  return lines;
}

}  // namespace vicinal::reports
