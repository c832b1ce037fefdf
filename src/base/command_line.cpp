#include "base/command_line.hpp"

#include <algorithm>
#include <cstddef>
#include <fstream>

namespace vicinal::base {

std::string shell_word(std::string_view word) {
  constexpr std::string_view kSpecial = " \t\n\"'\\$`&|;<>()*?#~!{}[]";
  if (!word.empty() && word.find_first_of(kSpecial) == std::string_view::npos) {
    return std::string(word);
  }
  std::string text = "'";
  for (const char c : word) c == '\'' ? text += "'\\''" : text += c;
  return text + "'";
}

std::string command_of_process() {
  constexpr std::size_t kMost = 4096;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);  // each word ends with a zero
  std::string words(kMost, '\0');
  file.read(words.data(), static_cast<std::streamsize>(words.size()));
  words.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  std::string command;
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find('\0', at), words.size());
    std::string_view word = std::string_view(words).substr(at, end - at);
    if (at == 0) word.remove_prefix(word.rfind('/') + 1);  // npos + 1 is 0
    command += (at == 0 ? "" : " ") + shell_word(word);
    at = end + 1;
  }
  return command;
}

}  // namespace vicinal::base
