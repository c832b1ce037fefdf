// The lower bounds of an application that ran for real, for its report.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "graph/graph.hpp"
#include "reports/report.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/statistics.hpp"
#include "vicinal/units.hpp"

namespace vicinal::reports {

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

// Of any graph whose data have been filled by tasks before its first task: where they lie is known only
// from `before`. So they are taken to lie on the disk, if there is one and all memories are limited, and
// what then lies in these memories is subtracted. The runtime keeps all of them until the run has ended,
// also results without a home. Bounds on bytes as above. `seconds` as for graph_bounds.
RunBounds bounds_of_filled(graph::Graph graph, const MachineDescription& machine,
                           const std::vector<std::array<double, kProcessorKinds>>& seconds,
                           const Statistics& before);

}  // namespace vicinal::reports
