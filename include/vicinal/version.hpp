// The version of the library that a program runs with.
#pragma once

#include <string_view>

namespace vicinal {

// "0.2.0".
std::string_view version();

}  // namespace vicinal
