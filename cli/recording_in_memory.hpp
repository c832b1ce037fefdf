// A file without a place on any disk, for a recording that is read once.
#pragma once

#include <string>

namespace vicinal::cli {

class RecordingInMemory {
 public:
  RecordingInMemory();
  ~RecordingInMemory();
  RecordingInMemory(const RecordingInMemory&) = delete;
  RecordingInMemory& operator=(const RecordingInMemory&) = delete;
  // Empty: the system gives none.
  std::string path() const;

 private:
  int descriptor_;
};

}  // namespace vicinal::cli
