// Names as every reader takes them: UTF-8 without control characters.
#pragma once

#include <string>
#include <string_view>

namespace vicinal::exporters {

// What is no UTF-8, and a control character other than line feed and tabulator, becomes U+FFFD.
std::string legible(std::string_view text);

}  // namespace vicinal::exporters
