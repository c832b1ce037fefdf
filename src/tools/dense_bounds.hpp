// The lower bounds of a dense factorisation, for its report.
#pragma once

#include <cstdint>

#include "tools/report.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/statistics.hpp"
#include "vicinal/units.hpp"

namespace vicinal::tools {

// A tile Cholesky factorisation in place.
struct CholeskyWork {
  std::uint64_t order = 0;  // of the matrix, in elements
  std::uint64_t tile = 0;
  Bytes element;
  Bytes matrix;      // the lower tiles
  double flops = 0;  // of the whole
  // Shortest times of the kernels on whole tiles, in seconds; 0: not known.
  double potrf = 0;
  double trsm = 0;
  double syrk = 0;
  double gemm = 0;
};

// `before`: the statistics when the factorisation begins. What then lies in the limited memories
// need not be loaded and is subtracted. There are bounds on bytes only if every worker computes
// from a limited memory: else all could be done in the other one. Of several limited memories the
// largest is taken for the formula, which makes the bound the smaller one.
RunBounds cholesky_bounds(const CholeskyWork& work, const MachineDescription& machine,
                          const Statistics& before);

}  // namespace vicinal::tools
