// What a sweep consists of: all combinations of values, in the order of the rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reports/sweep.hpp"
#include "simulate_arguments.hpp"
#include "sweep_csv.hpp"

namespace vicinal::cli {

inline constexpr std::size_t kVariedOptions =
    3;  // of which several values may be given: memory, tiles, gpus

struct SweepSeeds {
  std::uint64_t seed = 1;
  std::uint64_t vary_seed = 1;
};

// Where a run is among all combinations.
struct SweepPoint {
  std::array<std::size_t, kVariedOptions> at{};  // of each option the value, by its place
  SweepSeeds seeds;
};

struct SweepPlan {
  SimulateArguments& arguments;
  Options options;
  std::vector<std::string> policies;
  std::array<std::vector<std::string>, kVariedOptions>
      values;                      // as text; one that is empty: as usual
  std::vector<SweepPoint> points;  // a block of runs each: by every policy
  std::vector<Asked> asked;        // by run
  std::vector<std::string> keys;
  reports::Sweep sweep;
};

// All but the facts of its report. Throws UsageError that begins with the option.
SweepPlan make_plan(SimulateArguments& arguments);
// Those that all runs have in common.
void add_facts(SweepPlan& plan, const std::string& command);
// Before any run: that there are all machines.
void require_machines(SweepPlan& plan);
// The arguments have the values of the point from then on.
void set_point(SweepPlan& plan, const SweepPoint& point);
// "darts, memory 512 MiB, seed 3": as a message names a run.
std::string name_of(const SweepPlan& plan, std::size_t run);

}  // namespace vicinal::cli
