// The kernels of conjugate gradients, and of their problem and check.
#pragma once

#include <array>
#include <cstdint>

#include "graphs/cg_graph.hpp"
#include "graphs/poisson.hpp"
#include "graphs/row_blocks.hpp"
#include "sparse/sparse_matrix.hpp"
#include "vicinal/codelet.hpp"

namespace vicinal::sparse {

// What a task fills a block from; trivially copyable. A matrix in memory, which outlives the task, or a grid.
struct BlockSource {
  const SparseMatrix* matrix = nullptr;
  graphs::PoissonGrid grid;
  graphs::RowCut cut{1, 1};
  std::uint64_t block = 0;
};

// The solution that is looked for: uniform in [-1, 1), a hash of seed and row.
struct KnownSolution {
  std::uint64_t seed = 1;
  std::uint64_t first_row = 0;  // of the block
};

// The sums of a check, over all rows.
struct CheckSums {
  double residual = 0;  // squares of b - A x
  double right = 0;     // of b
  double error = 0;     // of x less the known solution
  double solution = 0;  // of that
};

struct CgCodelets {
  std::array<Codelet, graphs::kCgKernelNames.size()> iteration;  // by graphs::CgKernel
  Codelet fill;                                                  // W A_i; BlockSource
  Codelet known;                                                 // W x; KnownSolution
  Codelet begin;    // R q, W b, W r, W p, W x, reduces into rr: b, r and p are q = A x*, x is 0
  Codelet total;    // R a sum of each rank, W their sum
  Codelet compare;  // R b, R q, R x, reduces into CheckSums; KnownSolution; q is A x
  Codelet zero;     // W doubles
  Codelet add;      // RW doubles, R doubles
};
// Constants, so that they outlive every runtime.
const CgCodelets& cg_codelets();

}  // namespace vicinal::sparse
