// CSV files of numbers alone, with named columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vicinal::machine {

struct NumberRow {
  std::uint32_t line = 0;
  std::vector<double> numbers;  // one for each column
};

// Lines that are empty or begin with "#" are left out. The first of the others is `columns`, separated by commas. Throws
// UsageError that begins with "origin:line: ", also if no row follows.
std::vector<NumberRow> parse_number_csv(std::string_view text, const std::string& origin,
                                        std::string_view columns);

// The text of a file of at most 1 MiB. Throws UsageError that begins with `what`: "the surface".
std::string read_small_file(const std::string& path, std::string_view what);

[[noreturn]] void refuse_line(const std::string& origin, std::uint32_t line,
                              const std::string& why);

}  // namespace vicinal::machine
