// How long the tile kernels take alone: for lower bounds and for benchmarks.
#pragma once

#include "linalg/tile_grid.hpp"

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

}  // namespace vicinal::linalg
