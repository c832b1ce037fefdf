// Help that fits a terminal and ends in examples.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace vicinal::cli {

class HelpFormat : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
  std::string make_description(const CLI::App* command) const override;
  std::string make_footer(const CLI::App* command) const override;
};

// What a command is used for, as it is typed.
struct Example {
  std::string_view command;  // "run"
  std::string_view line;
  std::string_view does;
};
std::vector<Example> examples_of(std::string_view command);

// As wide as the terminal of the standard output, but no wider than is read with ease; 80 where it is none.
std::size_t columns_of_output();
// Of the terminal of the standard output (else of the standard error); 0 where it is none: a table is as wide as it is.
std::size_t columns_of_table(bool of_errors = false);

}  // namespace vicinal::cli
