// Texts of a recording are what an application gave: perhaps no UTF-8, or cut within a character.
#pragma once

#include <string>
#include <string_view>

namespace vicinal::analysis {

// What is no UTF-8 becomes U+FFFD.
std::string as_utf8(std::string_view text);

}  // namespace vicinal::analysis
