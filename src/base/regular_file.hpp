// A file that is read from its beginning to its end: never a folder, a device or a pipe, which are no files of ours and
// would block, or never end.
#pragma once

#include <cstdint>
#include <string>

namespace vicinal::base {

class RegularFile {
 public:
  // Why it cannot be read, and what to do; no remedy: give the path of a file that is what is wanted.
  struct Refused {
    std::string why;
    std::string remedy;
  };

  // Both throw Refused. Nothing is waited for.
  explicit RegularFile(const std::string& path);
  // All of it, if that is not more than so much.
  std::string text(std::uint64_t most_bytes) const;

  ~RegularFile();
  RegularFile(const RegularFile&) = delete;
  RegularFile& operator=(const RegularFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  int descriptor_ = -1;
  std::uint64_t bytes_ = 0;
};

}  // namespace vicinal::base
