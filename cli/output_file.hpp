// A file that a command will write at its end.
#pragma once

#include <string>
#include <string_view>

namespace vicinal::cli {

// Found out before a long run, not after it: throws UsageError that begins with the option's name if the
// file cannot be written. Leaves no file where there was none. Nothing for an empty path and for "-".
void require_writable(std::string_view option, const std::string& path);

// To the standard output if the path is "-". A file has either its old content or all of the new one, whatever
// happens meanwhile. Throws DeviceError.
void write_text(const std::string& path, std::string_view text);

// What has been printed has reached the standard output: else DeviceError.
void require_printed();

}  // namespace vicinal::cli
