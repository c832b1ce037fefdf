// The version of the library that a program runs with.
#pragma once

#include <string_view>

namespace vicinal {

std::string_view version();  // "0.2.0"

}  // namespace vicinal
