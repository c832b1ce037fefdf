#include "trace/kind_of_file.hpp"

#include <array>
#include <fstream>
#include <string_view>
#include <sys/stat.h>

#include "trace/reader.hpp"

namespace vicinal::trace {

KindOfFile kind_of_file(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) {
    return KindOfFile::nothing;
  }
  std::array<char, kMagic.size()> front{};
  std::ifstream file(path, std::ios::binary);
  file.read(front.data(), front.size());
  // A recording that the disk had no room for may be shorter.
  const std::string_view read(front.data(), static_cast<std::size_t>(file.gcount()));
  return !read.empty() && kMagic.starts_with(read) ? KindOfFile::recording : KindOfFile::other;
}

}  // namespace vicinal::trace
