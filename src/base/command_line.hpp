// How a program was called.
#pragma once

#include <string>
#include <string_view>

namespace vicinal::base {

// A word as a shell would be told it: in quotes where it needs them.
std::string shell_word(std::string_view word);
// Of this process, the program without its folder; cut where it is very long. Empty: not known.
std::string command_of_process();

}  // namespace vicinal::base
