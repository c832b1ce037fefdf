// The phases of a recorded run: what the application did before and behind what is to be judged. A region of the name
// `run` is the run proper; other regions (`prepare`, `check`) are phases beside it. Without such a region all is the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/intervals.hpp"
#include "analysis/recorded_run.hpp"

namespace vicinal::analysis {

inline constexpr std::string_view kRunRegion = "run";

struct PhaseOfRun {
  std::string name;
  Interval time;
};

// Regions that lie in no other one, in the order of their beginning; none if no region is the run proper.
std::vector<PhaseOfRun> phases(const RecordedRun& run);

// From the beginning of the first region of that name to the end of the last; none: all of the recording.
std::optional<Interval> time_of_run(const RecordedRun& run);

// The run proper: with the numbers of the whole, but tasks, copies and evictions outside of it have not happened.
// What is partly in it is cut. A copy belongs to where it ended, as in Statistics. The decisions are left out.
RecordedRun run_proper(const RecordedRun& run);

}  // namespace vicinal::analysis
