// The columns of a sweep's CSV file: whatever was asked for, and what was measured.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/row_file.hpp"
#include "simulate_arguments.hpp"

namespace vicinal::cli {

// Names and values of the first columns of a run's row.
using Asked = std::vector<std::pair<std::string, std::string>>;

// All options that a result depends on, and what depends on no option: the program and the content of files. Those of a
// sweep have the value that the arguments are set to.
Asked asked_columns(const SimulateArguments& arguments, const Options& options);
// With commas between them; of a value quotes where it needs them.
std::string csv_names(const Asked& asked);
std::string csv_values(const Asked& asked);

// Throws UsageError that begins with --csv: the file is none of this command, and why. `runs` of this one.
void require_own_file(const reports::RowFile& file, const std::string& path,
                      const std::vector<Asked>& runs);

}  // namespace vicinal::cli
