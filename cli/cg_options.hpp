// Conjugate gradients as a job of `vicinal run`, and its options, which are those of its graph, too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "job.hpp"
#include "vicinal/options.hpp"

namespace vicinal::cli {

class CgOptions {
 public:
  // Adds the options; this object must outlive the parse.
  explicit CgOptions(CLI::App& command);
  CgOptions(const CgOptions&) = delete;
  CgOptions& operator=(const CgOptions&) = delete;

  // `matrix`: a file in place of a grid, or empty. Throws UsageError that names the option.
  std::unique_ptr<Job> job(const std::string& matrix, bool check, const Options& options) const;
  // Throws UsageError if one of them was given: this application has none of them.
  void refuse(const std::string& application) const;

 private:
  CLI::Option* grid_option_ = nullptr;
  std::vector<CLI::Option*> all_;
  std::string grid_ = "512x512";
  std::string blocks_ = "16";
  std::string iterations_ = "10000";
  std::string tolerance_ = "1e-8";
};

}  // namespace vicinal::cli
