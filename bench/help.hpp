// --help of the benchmarks.
#pragma once

#include <cstdio>
#include <string_view>

namespace bench {

// Prints the text and returns true if one of the arguments asks for it.
inline bool helped(int count, const char* const* arguments, const char* text) {
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument != "--help" && argument != "-h" && argument != "-help") continue;
    std::fputs(text, stdout);
    return true;
  }
  return false;
}

}  // namespace bench
