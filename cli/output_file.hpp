// A file that a command will write at its end.
#pragma once

#include <string>
#include <string_view>

namespace vicinal::cli {

// Found out before a long run, not after it: creates the file if there is none, and throws
// UsageError that begins with the option's name if that cannot be. Nothing for an empty path and
// for "-".
void require_writable(std::string_view option, const std::string& path);

// To the standard output if the path is "-". Throws DeviceError.
void write_text(const std::string& path, std::string_view text);

}  // namespace vicinal::cli
