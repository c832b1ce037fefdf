// The critical path of a run as it happened: what, at each moment, the run had to wait for.
//
// The walk begins with the task that ended last and goes back in time. At the start of a task it asks what came last of
// all that the task had to wait for: its worker, a copy, room, the policy, the tasks that it depends on, its submission;
// and goes on with that. The segments cover the time from the beginning of the run to the last
// end of a task: each moment once.
//
// Had the time of some segments been shorter, and nothing else changed, the run would have been shorter by that time at
// most: the rest of the path is still there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/recorded_run.hpp"

namespace vicinal::analysis {

enum class PathCause : std::uint8_t {
  run,
  copy,
  link,
  room,
  worker,
  policy,
  release,
  submission,
  message,
};
inline constexpr std::size_t kPathCauses = 9;

struct PathCauseEntry {
  PathCause cause;
  std::string_view name;
  std::string_view sentence;
};
// In the order of the enumeration.
std::span<const PathCauseEntry> path_causes();

struct PathSegment {
  std::int64_t from = 0;
  std::int64_t to = 0;
  PathCause cause = PathCause::run;
  std::uint32_t task = kNobody;  // that ran, or that waited
  std::uint32_t copy = kNobody;  // of copy and link: which, if the recording tells
  std::int64_t length() const { return to - from; }
  friend bool operator==(const PathSegment&, const PathSegment&) = default;
};

struct CriticalPath {
  std::vector<PathSegment> segments;                 // in the order of time, none empty
  std::array<std::int64_t, kPathCauses> by_cause{};  // ns; their sum is length()
  std::int64_t begin = 0;                            // of the run
  std::int64_t end = 0;                              // the last end of a task
  std::int64_t length() const { return end - begin; }
  std::int64_t of(PathCause cause) const { return by_cause[static_cast<std::size_t>(cause)]; }
};

// `predecessors`: what analysis::predecessors gives of the run.
CriticalPath critical_path(const RecordedRun& run,
                           const std::vector<std::vector<std::uint32_t>>& predecessors);

// The longest sum of run times along a chain of dependent tasks: a lower bound on the run with any number of workers,
// without copies and overheads.
std::int64_t longest_chain(const RecordedRun& run,
                           const std::vector<std::vector<std::uint32_t>>& predecessors);

}  // namespace vicinal::analysis
