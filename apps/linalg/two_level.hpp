// The tile Cholesky factorisation on two levels: large tiles, as an accelerator wants them, whose factorisation on the
// critical path is divided into tasks on panels of a tile, so that all cores work on it.
// Source: Gautier, Lima, Maillard, Raffin, Locality-Aware Work Stealing on Multi-CPU and Multi-GPU Architectures, 2013,
// section 5.1: tiles of 1024, panels of 128.
#pragma once

#include <cstdint>

#include "linalg/application.hpp"

namespace vicinal::linalg {

struct CholeskyKernels {
  TaskKernel& potrf;
  TaskKernel& trsm;
  TaskKernel& syrk;
  TaskKernel& gemm;
  Precision precision;
};

// Makes them recursive (TaskKernel::division), on panels of so many elements, p, in tiles of b, m = b / p:
//   potrf  always       the tile factorisation of m x m tiles of p x p, cholesky_tasks(m) tasks, and m (m - 1) / 2 that
//                       write zeroes above the diagonal
//   trsm   automatic    m tasks on p rows each
//   syrk   automatic    by tiles of p x p: m^2 tasks syrk on the diagonal, m^2 (m - 1) / 2 tasks gemm below it
//   gemm   automatic    m^3 tasks by tiles of p x p
void divide_cholesky(const CholeskyKernels& kernels, std::uint64_t panel);

}  // namespace vicinal::linalg
