// The application's name, --size, --tile and --precision: the shape of the matrix, of `run` and
// `generate`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "linalg/tile_grid.hpp"

namespace vicinal::cli {

// RAM of this computer.
Bytes installed_memory();

class MatrixOptions {
 public:
  // This object must outlive the parse. `applications`: those that the command knows.
  MatrixOptions(CLI::App& command, std::vector<std::string> applications);
  MatrixOptions(const MatrixOptions&) = delete;
  MatrixOptions& operator=(const MatrixOptions&) = delete;

  // Throws UsageError that names the nearest one.
  const std::string& application() const;
  // Throws UsageError that names the option. What was not given is taken from `file`, the shape of
  // a matrix in a file; what was given must not differ from it.
  linalg::TileGrid parse(const std::optional<linalg::TileGrid>& file = {}) const;
  // Throws UsageError if --size, --tile or --precision was given: this application has none of them, and the reason.
  void refuse(std::string_view why) const;

 private:
  std::string command_;  // "run"
  std::vector<std::string> applications_;
  std::string application_;
  std::string size_ = "8192";
  std::string tile_ = "512";
  std::string precision_ = "double";
  CLI::Option* size_option_ = nullptr;
  CLI::Option* tile_option_ = nullptr;
  CLI::Option* precision_option_ = nullptr;
};

}  // namespace vicinal::cli
