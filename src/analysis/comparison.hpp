// Two runs: what was different, and where the difference of their times lies. The parts add up to it, to the nanosecond:
// they are the differences of what both critical paths went through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/advice.hpp"
#include "analysis/recorded_run.hpp"

namespace vicinal::analysis {

struct PartOfDifference {
  std::string name;         // "copies from disk to ram, again", "runs of gemm"
  std::int64_t first = 0;   // ns of the first run's critical path
  std::int64_t second = 0;  // of the second one's
  bool is_small = false;    // less than a hundredth of the longer run
  std::int64_t difference() const { return second - first; }
};

struct Comparison {
  std::int64_t first = 0;  // ns, of the critical paths
  std::int64_t second = 0;
  // "policy dmdas instead of lws", "512 MiB in ram instead of 256 MiB": what the second run had otherwise.
  std::vector<std::string> changes;
  std::vector<PartOfDifference> parts;  // the greatest difference first, none without time
  // "B is 112.7 ms sooner than A (...), with policy dmdas instead of lws: copies from disk to ram -58.7 ms, ...".
  std::string sentence;
};

struct RunToCompare {
  const RecordedRun& run;  // the run proper
  const Analyses& analyses;
  std::string name;
};
Comparison compared(const RunToCompare& first, const RunToCompare& second);

}  // namespace vicinal::analysis
