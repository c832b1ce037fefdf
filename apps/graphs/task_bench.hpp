// The patterns of Task Bench (Slaughter et al., "Task Bench: A Parameterized Benchmark for Evaluating Parallel Runtime
// Performance", SC 2020) by the names that they have there: steps of tasks, point by point, each of which reads what some
// tasks of the step before have written. What is out of range is refused with UsageError, see limits.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "vicinal/units.hpp"

namespace vicinal::graphs {

// Task (t, p), point p of step t, writes the datum t{t}p{p} and reads those of step t - 1 of these points, as far as there
// are such tasks, with W the width:
//   trivial              none
//   no_comm              p
//   stencil_1d           p-1, p, p+1
//   stencil_1d_periodic  the same around the ends
//   dom                  p-1, p, of a step that is one wider than the one before, and from steps - W on one narrower
//   tree                 p/2, of a step twice as wide as the one before, up to W
//   fft                  p-2^k, p, p+2^k, k = t-1 modulo the logarithm of W
//   all_to_all           all
//   nearest              radix of them around p
//   spread               radix of them, W / radix apart, all but the first further on by t modulo period
//   random_nearest       of those of nearest each with the probability fraction, but p always; others each t modulo period
//   random_spread        p and radix - 1 others of all at random; others each t modulo period
struct TaskBenchShape {
  std::string pattern = "stencil_1d";
  std::uint64_t width = 32;
  std::uint64_t steps = 10;
  Bytes bytes = 4_MiB;    // of what each task writes
  double seconds = 1e-3;  // of each task
  // A task takes from 1 - imbalance/2 to 1 + imbalance/2 as long, at random, in 16 steps; 2 at most.
  double imbalance = 0;
  // Given for a pattern that has none they are refused. 3, 3 and 0.25.
  std::optional<std::uint64_t> radix = {};
  std::optional<std::uint64_t> period = {};
  std::optional<double> fraction = {};
  std::uint64_t seed = 1;
};
graph::Graph task_bench(const TaskBenchShape& shape);

std::vector<std::string_view> task_bench_patterns();

}  // namespace vicinal::graphs
