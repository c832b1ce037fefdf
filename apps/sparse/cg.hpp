// Conjugate gradients on a sparse matrix in blocks of rows, from nothing to a checked result, on one rank or several.
//
//   const sparse::CgProblem problem = sparse::poisson_problem(graphs::parse_grid("512x512"), 16);
//   sparse::CgOutcome outcome = sparse::solve(runtime, {.problem = &problem, .check = true});
//
// The right-hand side is the matrix times a known solution. Tasks and their order are those of graphs::CgSequence.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graphs/cg_graph.hpp"
#include "graphs/poisson.hpp"
#include "graphs/row_blocks.hpp"
#include "sparse/sparse_matrix.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/statistics.hpp"

namespace vicinal::sparse {

struct CgProblem {
  std::optional<graphs::PoissonGrid> grid;     // else
  std::shared_ptr<const SparseMatrix> matrix;  // in memory, on each rank
  graphs::RowCut cut{1, 1};
  std::vector<graphs::RowBlock> blocks;
};
// Cut into so many blocks of rows; into as many as there are rows, if these are fewer. Throw UsageError for blocks that are
// too large to be stored.
CgProblem poisson_problem(const graphs::PoissonGrid& grid, std::uint64_t blocks);
CgProblem matrix_problem(std::shared_ptr<const SparseMatrix> matrix, std::uint64_t blocks);

struct CgRequest {
  const CgProblem* problem = nullptr;
  // The run ends when ||r||_2 is below kMargin times this part of ||b||_2, where r is the residual that the iterations go on
  // with. It is looked at once in kBatch iterations, when the next ones have been submitted: so some more are made than need
  // be, and workers do not wait for it.
  double tolerance = 1e-8;
  std::uint64_t iterations = 10000;  // at most
  std::uint64_t seed = 1;            // of the known solution
  bool check = false;
  bool names = false;  // of tasks: "spmv(3)"
  // Of several ranks; those of all need that tasks may reduce anywhere (Options::reduction_tree).
  graphs::CgSums sums = graphs::CgSums::of_all;

  static constexpr double kMargin =
      0.9;  // rounding keeps b - A x from going down all the way with r
  static constexpr std::uint64_t kBatch = 8;
};

struct CgCheck {
  double residual = 0;  // ||b - A x||_2 / ||b||_2
  double error = 0;     // ||x - x*||_2 / ||x*||_2, with x* the known solution
};

struct CgOutcome {
  // Around the iterations, as of linalg::RunOutcome.
  Statistics before;
  Statistics after;
  Statistics last;
  std::uint64_t iterations = 0;
  double recurrence = 0;  // ||r||_2 / ||b||_2
  std::optional<CgCheck> check;
};

// The error that a residual may come with, where a bound on it is known: ||x - x*|| / ||x*|| <= cond(A) ||b - A x|| / ||b||.
std::optional<double> error_bound(const CgProblem& problem, double residual);

// As linalg::PhaseObserver: "fill", "solve", "check".
using PhaseObserver = std::function<void(std::string_view phase, std::uint64_t tasks)>;

// Throws what tasks throw, after all tasks have ended: of a matrix that is not positive definite, for instance. On several
// ranks all call it.
CgOutcome solve(Runtime& runtime, const CgRequest& request, const PhaseObserver& observer = {});

}  // namespace vicinal::sparse
