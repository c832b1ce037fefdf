// The files that a command is told to read and to write, looked at before anything runs.
#pragma once

#include <string>
#include <vector>

namespace vicinal::cli {

class CommandFiles {
 public:
  // Each by the name of its option; nothing for an empty path. A changed file counts as written. "-" is the standard
  // output.
  void reads(std::string option, std::string path);
  void writes(std::string option, std::string path);
  // A recording may be replaced by another, and by nothing else.
  void records(std::string option, std::string path);

  // Throws UsageError that begins with the option: a file would overwrite what the command reads, by whatever name or
  // link; two outputs are one file; a recording would be lost to what is none, or another file to a recording; or it
  // cannot be written.
  void require() const;

 private:
  struct File {
    std::string option;
    std::string path;
    bool is_recording = false;
  };
  std::vector<File> inputs_;
  std::vector<File> outputs_;
};

}  // namespace vicinal::cli
