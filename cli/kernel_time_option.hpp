// The option --time of commands that play a recorded run: how long tasks of a codelet take on a kind of processor.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "analysis/recorded_graph.hpp"

namespace vicinal::cli {

class KernelTimeOption {
 public:
  // This object must outlive the parse.
  explicit KernelTimeOption(CLI::App& command);
  KernelTimeOption(const KernelTimeOption&) = delete;
  KernelTimeOption& operator=(const KernelTimeOption&) = delete;

  // Throws UsageError.
  std::vector<analysis::KernelTime> times() const;

 private:
  std::vector<std::string> texts_;
};

}  // namespace vicinal::cli
