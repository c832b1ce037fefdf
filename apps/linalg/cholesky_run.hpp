// One factorisation from nothing to a checked result, as the command line and the benchmarks run
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "linalg/cholesky_check.hpp"
#include "linalg/tile_grid.hpp"
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

struct CholeskyOutcome {
  // Around the factorisation: from its first submission to the return of wait(). Filling the matrix
  // and the check are outside. With a limited memory, some tiles lie on the disk when it begins,
  // and some of L only in memory when it ends: there is no flush in the timed part.
  Statistics before;
  Statistics after;
  Statistics last;  // when all is done: peaks include the check
  std::optional<Residual> residual;
};

// Told when a part of the run begins ("fill", "factorise", "check", "write") and how many tasks it
// has.
using PhaseObserver = std::function<void(std::string_view phase, std::uint64_t tasks)>;

// Throws what tasks throw, and UsageError for files that do not fit the request.
CholeskyOutcome run_cholesky(Runtime& runtime, const CholeskyRequest& request,
                             const PhaseObserver& observer = {});

// Generates the matrix into a file.
void generate_to_file(Runtime& runtime, const TileGrid& grid, std::uint64_t seed,
                      const std::string& path, const PhaseObserver& observer = {});

}  // namespace vicinal::linalg
