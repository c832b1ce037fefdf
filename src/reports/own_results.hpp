// Results and bounds of a recording that was told none, as those of programs that use the library: the time and the bytes
// of the run proper, and the bounds of its graph with the run times that were measured.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/advice.hpp"
#include "analysis/recorded_run.hpp"
#include "reports/report.hpp"

namespace vicinal::reports {

// Facts by the names of notes.hpp ("result.seconds", "bound.work_seconds"), without those that the run was told. Of a
// graph that the recording does not hold, or that is too large, no bounds.
std::vector<std::pair<std::string, std::string>> own_results(const analysis::RecordedRun& run,
                                                             const analysis::Analyses& analyses);

// ns that the run proper took, as it was told, or else to the end of the last task.
std::int64_t time_of_run_proper(const analysis::RecordedRun& run,
                                const analysis::CriticalPath& path);

// The recorded run as one of a report: its bytes as it was told them, or else as they were recorded. Without bounds, and
// without what is told of each node.
RunRecord recorded_record(const analysis::RecordedRun& run, const analysis::Analyses& analyses);

// Bytes that no run of the same job on the same machine avoids, as the run was told them; 0: it was not.
struct ToldBytes {
  Bytes in;
  Bytes out;
};
ToldBytes told_bounds(const analysis::RecordedRun& run);

}  // namespace vicinal::reports
