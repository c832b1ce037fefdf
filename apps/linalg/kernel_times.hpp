// How long the tile kernels take alone: for lower bounds and for benchmarks.
#pragma once

#include <cstddef>
#include <span>

#include "linalg/kernel_operands.hpp"
#include "linalg/tile_grid.hpp"
#include "vicinal/codelet.hpp"

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

// The same of one kernel, in seconds: operands of these shapes, whose diagonals dominate (so that one stands
// for a matrix and for a factor), of which the last is written.
double measure_codelet(const Codelet& codelet, std::span<const TileShape> operands,
                       const TaskIndex& index);

}  // namespace vicinal::linalg
