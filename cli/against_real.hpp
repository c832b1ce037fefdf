// A job for real and in simulation, side by side: how far the simulation can be trusted here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/play.hpp"
#include "vicinal/options.hpp"

namespace vicinal::cli {

struct RealJob {
  const tools::TaskGraph& graph;         // of an application that `vicinal run` has
  const machine::MachineModel& machine;  // this one, as `vicinal calibrate` describes it
  std::string disk;                      // folder; empty: none
  std::vector<std::string> policies;
  Options options;
  std::uint64_t real_runs = 3;  // of each policy: the medians count
};

// Prints a row per policy and the medians of the errors. Throws UsageError for a graph or a machine that
// cannot be run here.
void compare_with_real(const RealJob& job);

}  // namespace vicinal::cli
