// Results and bounds of a recording that was told none, as those of programs that use the library: the time and the bytes
// of the run proper, and the bounds of its graph with the run times that were measured.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/advice.hpp"
#include "analysis/recorded_run.hpp"

namespace vicinal::reports {

// Facts by the names of notes.hpp ("result.seconds", "bound.work_seconds"), without those that the run was told. Of a
// graph that the recording does not hold, or that is too large, no bounds.
std::vector<std::pair<std::string, std::string>> own_results(const analysis::RecordedRun& run,
                                                             const analysis::Analyses& analyses);

}  // namespace vicinal::reports
