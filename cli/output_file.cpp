#include "output_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::cli {

void require_writable(std::string_view option, const std::string& path) {
  if (path.empty() || path == "-" || std::ofstream(path, std::ios::app)) return;
  throw UsageError(
      fmt::format("{}: cannot write {}: {}; give a file in a folder that exists and is "
                  "writable",
                  option, path, std::strerror(errno)));
}

void write_text(const std::string& path, std::string_view text) {
  if (path == "-") {
    fmt::print("{}", text);
    return;
  }
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) throw DeviceError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace vicinal::cli
