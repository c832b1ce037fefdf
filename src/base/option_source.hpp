// Who has set an option: a message that names it says so.
#pragma once

#include <string>
#include <string_view>

#include "vicinal/options.hpp"

namespace vicinal::base {

// Of a message that begins with an option, as "devices: ..." or "option devices: ...": its name; of another nothing.
std::string_view option_of_message(std::string_view message);
// The message, begun with "environment variable VICINAL_DEVICES: " if that gave the option the value that it has here.
std::string with_variable(const std::string& message, const Options& options);

}  // namespace vicinal::base
