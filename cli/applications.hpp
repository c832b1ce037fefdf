// The applications of `vicinal run`, as the command line asks for them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cg_options.hpp"
#include "distribution_option.hpp"
#include "job.hpp"
#include "linalg/run.hpp"
#include "matrix_options.hpp"
#include "reports/report.hpp"
#include "vicinal/ranks.hpp"

namespace vicinal::cli {

MemoryNeed memory_need(const linalg::RunRequest& request, const Ranks& ranks);

// What a report says of the application and its options.
reports::Facts parameters(const linalg::RunRequest& request);

// The options that say what is run; the runtime's say how.
class ApplicationOptions {
 public:
  // This object must outlive the parse.
  explicit ApplicationOptions(CLI::App& command);
  ApplicationOptions(const ApplicationOptions&) = delete;
  ApplicationOptions& operator=(const ApplicationOptions&) = delete;

  const std::string& name() const { return shape_.application(); }
  const std::string& matrix() const { return matrix_; }
  const std::string& output() const { return output_; }
  // Throws UsageError that names the option, also one that the application does not have.
  std::unique_ptr<Job> job(const Options& options, const DistributionOption& distribution,
                           std::uint32_t ranks) const;

 private:
  std::unique_ptr<Job> cg(const Options& options, const DistributionOption& distribution) const;
  linalg::Application application(const Options& options) const;
  linalg::RunRequest request(const linalg::Application& application, const Options& options) const;
  linalg::Application cholesky(const Options& options) const;
  linalg::Application of_graph(const Options& options) const;
  std::uint64_t inner() const;
  std::uint64_t panel_of_cholesky(const linalg::TileGrid& grid) const;
  bool priorities() const;

  MatrixOptions shape_;
  CgOptions cg_;
  std::string matrix_;
  std::string output_;
  std::string inner_;
  std::string panel_;
  std::string panel_tree_;
  std::string priorities_ = "bottom-level";
  CLI::Option* priorities_option_ = nullptr;
  bool check_ = false;
};

}  // namespace vicinal::cli
