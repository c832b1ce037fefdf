// LU without pivoting and products of matrices, from a graph of tasks to a checked result, as the command line
// runs them.
//
//   const graphs::DenseGraph graph = graphs::dense_lu({.tiles = 8, .tile = 512});
//   linalg::RunOutcome outcome = linalg::run_dense(runtime, {.graph = &graph, .check = true});
#pragma once

#include <cstdint>

#include "graphs/linalg_graphs.hpp"
#include "linalg/dense_data.hpp"
#include "linalg/timed_run.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

struct DenseRequest {
  const graphs::DenseGraph* graph = nullptr;
  std::uint64_t seed = 1;  // of the generated matrices
  bool check = false;
  bool priorities = true;  // those of the graph
  bool names = false;      // of tasks: "gemm(3,1,0)", some 100 bytes more per task
};

// Submits all tasks of the graph, on data that have been filled.
void submit_dense(Runtime& runtime, const DenseData& data, const DenseRequest& request);

// Throws what tasks throw.
RunOutcome run_dense(Runtime& runtime, const DenseRequest& request,
                     const PhaseObserver& observer = {});

}  // namespace vicinal::linalg
