// --load: shared objects with policies and devices of one's own.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "command_files.hpp"

namespace vicinal::cli {

class LoadOption {
 public:
  // They are opened as the command line is read, before policies are looked for. This object must outlive the parse.
  explicit LoadOption(CLI::App& command);
  LoadOption(const LoadOption&) = delete;
  LoadOption& operator=(const LoadOption&) = delete;

  void add_to(CommandFiles& files) const;
  const std::vector<std::string>& files() const { return files_; }

 private:
  std::vector<std::string> files_;
};

}  // namespace vicinal::cli
