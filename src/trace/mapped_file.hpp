// A file as memory, read only. Pages are read when they are looked at; a file that grows meanwhile keeps its first size
// here.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace vicinal::trace {

class MappedFile {
 public:
  MappedFile() = default;  // of nothing
  // Throws UsageError: it cannot be read, or is no regular file.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace vicinal::trace
