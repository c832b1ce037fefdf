// A file without a place on any disk, for what is written and read by this process alone: a recording, a plan.
#pragma once

#include <string>
#include <string_view>

namespace vicinal::cli {

class FileInMemory {
 public:
  // Throws DeviceError: the system gives none. `what` is named in the message.
  explicit FileInMemory(std::string_view what);
  ~FileInMemory();
  FileInMemory(const FileInMemory&) = delete;
  FileInMemory& operator=(const FileInMemory&) = delete;
  std::string path() const;
  // At its end. Throws DeviceError: there is no memory.
  void write(std::string_view piece);

 private:
  std::string what_;
  int descriptor_;
};

}  // namespace vicinal::cli
