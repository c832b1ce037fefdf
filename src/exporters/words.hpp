// Words for what a recorded run holds, and how the formats show names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/recorded_run.hpp"

namespace vicinal::exporters {

std::string_view to_string(analysis::KindOfTask kind);
using analysis::to_string;  // also of an Outcome

// Legible, see base/legible.hpp.
std::string codelet_of(const analysis::RecordedRun& run, const analysis::TaskOfRun& task);
std::string title_of(const analysis::RecordedRun& run,
                     const analysis::TaskOfRun& task);  // its own name, or its codelet's
std::string title_of_datum(const analysis::RecordedRun& run, std::uint32_t datum);
std::vector<std::string> operands_of(const analysis::RecordedRun& run,
                                     const analysis::TaskOfRun& task);  // "RW A(3,4)"
std::string title_of_run(const analysis::RecordedRun& run);  // "vicinal simulate cholesky", "a run"

}  // namespace vicinal::exporters
