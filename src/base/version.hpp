// The version of the library, as CMakeLists.txt has it.
#pragma once

#include <string_view>

namespace vicinal::base {

std::string_view version();  // "0.2.0"

}  // namespace vicinal::base
