// A figure in words: its table, its statements with their verdicts, and its section of docs/reproduction.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reproduction/figure.hpp"
#include "reproduction/results.hpp"

namespace vicinal::reproduction {

std::string_view to_string(Verdict::Kind kind);  // "does not hold"

// For people, in plain text: per plot and panel a line for each size and a column for each curve and limit, then the
// statements. Ends with a line feed.
std::string table_text(const Figure& figure, const Results& results);

// The CSV file of an order: a line per task. The lines of `made_by` come first, after #.
std::string order_csv(const std::vector<std::string>& made_by, const Results& results);

// Markdown. `skipped`: series that could not be measured, and why, a sentence each.
struct Section {
  const Figure& figure;
  const Results& results;
  std::string command;  // that made it
  std::vector<std::string> skipped;
};
std::string section_text(const Section& section);

// The page with this section in place of the one that there was, or where it belongs by the order of the table of
// figures. An empty page gets its introduction first.
std::string with_section(std::string_view page, const Section& section);

}  // namespace vicinal::reproduction
