// One factorisation from nothing to a checked result, as the command line and the benchmarks run
// it.
#pragma once

#include <cstdint>
#include <string>

#include "linalg/tile_grid.hpp"
#include "linalg/timed_run.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

struct CholeskyRequest {
  TileGrid grid;
  std::uint64_t seed = 1;   // of the generated matrix
  std::string matrix = {};  // file with A, left as it is; empty: A is generated
  std::string output = {};  // file in which L is left; empty: L is forgotten
  bool check = false;
  bool priorities = true;
  bool names = false;  // of tasks, see CholeskyOptions
};

using CholeskyOutcome = RunOutcome;

// Throws what tasks throw, and UsageError for files that do not fit the request.
RunOutcome run_cholesky(Runtime& runtime, const CholeskyRequest& request,
                        const PhaseObserver& observer = {});

// Generates the matrix into a file.
void generate_to_file(Runtime& runtime, const TileGrid& grid, std::uint64_t seed,
                      const std::string& path, const PhaseObserver& observer = {});

}  // namespace vicinal::linalg
