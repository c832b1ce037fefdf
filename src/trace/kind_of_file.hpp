// What a recording, or another output, would replace.
#pragma once

#include <cstdint>
#include <string>

namespace vicinal::trace {

enum class KindOfFile : std::uint8_t {
  nothing,    // there is no file, or it is empty, or it is a device or a pipe
  recording,  // it begins as one
  other,      // also what may not be read
};

KindOfFile kind_of_file(const std::string& path);

}  // namespace vicinal::trace
