// The options of sweeps: lists of values, seeds, the CSV file, processes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace vicinal::cli {

struct SweepOptions {
  // This object must outlive the parse.
  void add_options(CLI::App& command);
  // One of them was given.
  bool any() const { return !seeds.empty() || !csv.empty() || !processes.empty(); }
  std::size_t number_of_seeds() const;
  std::size_t number_of_processes() const;

  std::string seeds;  // empty: one
  std::string csv;
  std::string processes;  // empty: one
};

// "1GiB,2GiB"; of an empty text one empty value. Throws UsageError that begins with `option`: a value is missing between
// commas, or is there twice.
std::vector<std::string> listed_values(std::string_view option, const std::string& text);

}  // namespace vicinal::cli
