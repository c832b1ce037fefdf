// How long the tile kernels take: alone, for lower bounds and for benchmarks; and as probes for machine
// files.
#pragma once

#include <cstdint>
#include <vector>

#include "linalg/tile_grid.hpp"
#include "tools/calibrate.hpp"

namespace vicinal::linalg {

// Seconds per task on whole tiles.
struct KernelTimes {
  double potrf = 0;
  double trsm = 0;
  double syrk = 0;
  double gemm = 0;
};

// Runs each kernel on the calling thread, operands in cache if they fit, and keeps the shortest of
// a few runs. Takes some 20 task lengths.
KernelTimes measure_kernels(const TileGrid& grid);

// The tile kernels in double and in float, for tools::calibrate. What they read is not in cache, as in
// a factorisation that is larger than it.
std::vector<tools::KernelSet> kernel_sets(std::uint64_t tile);

}  // namespace vicinal::linalg
