#include "sparse/cg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "linalg/drain.hpp"
#include "linalg/gather.hpp"
#include "sparse/cg_kernels.hpp"
#include "vicinal/error.hpp"
#include "vicinal/trace.hpp"

namespace vicinal::sparse {

namespace {

using graphs::CgSequence;
using Number = CgSequence::Number;

template <typename Matrix>
CgProblem cut_into_blocks(const Matrix& matrix, std::uint64_t rows, std::uint64_t blocks) {
  CgProblem problem;
  problem.cut = {rows, blocks};
  problem.blocks = graphs::row_blocks(matrix, problem.cut);
  if (!std::ranges::all_of(problem.blocks, &graphs::RowBlock::is_sound)) {
    throw UsageError(fmt::format(
        "a block has more than {} rows or entries: cut the matrix into more than {} blocks",
        graphs::RowBlock::kMost, problem.cut.count()));
  }
  return problem;
}

// The data of a run.
class Solver {
 public:
  Solver(Runtime& runtime, const CgRequest& request)
      : runtime_(runtime),
        request_(request),
        sequence_(request.problem->blocks, runtime.rank_count(), request.sums) {
    for (const CgSequence::Datum& datum : sequence_.data()) {
      handles_.push_back(add(datum.rank, datum.bytes, datum.name, datum.is_sum));
    }
    for (std::size_t b = 0; b < blocks(); ++b) {
      right_.push_back(add(sequence_.rank_of(b), sequence_.blocks()[b].vector_bytes(),
                           fmt::format("b({})", b), false));
    }
    for (std::uint32_t r = 0; r < sequence_.sums(); ++r) {
      checks_.push_back(add(r, Bytes{sizeof(CheckSums)}, "check", true));
    }
    for (Handle& seen : seen_) seen = add(0, Bytes{sizeof(double)}, "||r||^2", false);
  }

  std::uint64_t fill_tasks() const { return 4 * blocks() + 4 * sequence_.sums() + 1; }
  std::uint64_t check_tasks() const { return 2 * blocks() + sequence_.sums(); }
  std::uint64_t tasks_per_iteration() const { return sequence_.tasks_per_iteration(); }

  void fill();
  // Their number.
  std::uint64_t iterate();
  CgCheck check();
  double recurrence() const { return right_norm_ > 0 ? std::sqrt(rr_) / right_norm_ : 0; }
  void unregister() {
    for (std::vector<Handle>* const list : {&handles_, &right_, &checks_}) {
      for (const Handle handle : *list) runtime_.unregister(handle, WriteBack::no);
    }
    for (const Handle handle : seen_) runtime_.unregister(handle, WriteBack::no);
  }

 private:
  std::size_t blocks() const { return sequence_.blocks().size(); }
  Handle add(std::uint32_t rank, Bytes bytes, std::string name, bool is_sum) {
    const Handle handle = runtime_.register_empty(RankId{rank}, bytes, std::move(name));
    const CgCodelets& codelets = cg_codelets();
    if (is_sum) {
      runtime_.set_reduction(handle, {.neutral = &codelets.zero, .combine = &codelets.add});
    }
    return handle;
  }
  BlockSource source(std::size_t block) const {
    const CgProblem& problem = *request_.problem;
    return {problem.matrix.get(), problem.grid.value_or(graphs::PoissonGrid()), problem.cut, block};
  }
  KnownSolution known(std::size_t block) const {
    return {request_.seed, sequence_.blocks()[block].first};
  }
  void zero(Handle handle) {
    runtime_.submit({.codelet = &cg_codelets().zero, .operands = {W(handle)}});
  }
  void submit(const Codelet& codelet, std::span<const CgSequence::Access> accesses,
              std::uint32_t rank, std::string name);
  void submit_product(std::size_t block, Number (CgSequence::*from)(std::size_t) const) {
    submit(iteration_codelet(graphs::CgKernel::spmv),
           sequence_.product(block, from, sequence_.q(block)), sequence_.rank_of(block), {});
  }
  static const Codelet& iteration_codelet(graphs::CgKernel kernel) {
    return cg_codelets().iteration[static_cast<std::size_t>(kernel)];
  }
  // Their number; 0: there are no more.
  std::uint64_t submit_batch(std::uint64_t first);
  void submit_iterations(std::uint64_t first, std::uint64_t count);
  // ||r||^2 before this iteration, when it comes to that.
  void submit_look(std::uint64_t iteration);
  double look(std::uint64_t iteration) {
    const Acquired held = runtime_.acquire(seen_of(iteration), AccessMode::R);
    return *held.data<double>();
  }
  Handle seen_of(std::uint64_t iteration) const {
    return seen_[(iteration + CgRequest::kBatch - 1) / CgRequest::kBatch % seen_.size()];
  }

  Runtime& runtime_;
  const CgRequest& request_;
  CgSequence sequence_;
  std::vector<Handle> handles_;  // by number in the sequence
  std::vector<Handle> right_;    // b, by block
  std::vector<Handle> checks_;   // CheckSums, of all or by rank
  std::array<Handle, 2> seen_;   // ||r||^2, of two batches
  std::vector<Operand> operands_;
  double right_norm_ = 0;  // ||b||
  double rr_ = 0;
};

void Solver::submit(const Codelet& codelet, std::span<const CgSequence::Access> accesses,
                    std::uint32_t rank, std::string name) {
  operands_.clear();
  for (const auto& [datum, mode] : accesses) operands_.push_back({handles_[datum], mode});
  TaskSpec spec{.codelet = &codelet, .operands = operands_};
  spec.rank = RankId{rank};
  spec.name = std::move(name);
  runtime_.submit(spec);
}

void Solver::fill() {
  const CgCodelets& codelets = cg_codelets();
  for (std::uint32_t rank = 0; rank < sequence_.sums(); ++rank) {
    zero(handles_[sequence_.rr(rank, 0)]);
    zero(handles_[sequence_.pq(rank)]);
    zero(checks_[rank]);
  }
  for (std::size_t b = 0; b < blocks(); ++b) {
    runtime_.submit({.codelet = &codelets.fill,
                     .operands = {W(handles_[sequence_.matrix(b)])},
                     .parameters = source(b)});
    runtime_.submit({.codelet = &codelets.known,
                     .operands = {W(handles_[sequence_.p(b)])},
                     .parameters = known(b)});
  }
  for (std::size_t b = 0; b < blocks(); ++b) submit_product(b, &CgSequence::p);
  for (std::size_t b = 0; b < blocks(); ++b) {
    const std::uint32_t rank = sequence_.rank_of(b);
    runtime_.submit(
        {.codelet = &codelets.begin,
         .operands = {R(handles_[sequence_.q(b)]), W(right_[b]), W(handles_[sequence_.r(b)]),
                      W(handles_[sequence_.p(b)]), W(handles_[sequence_.x(b)]),
                      Reduce(handles_[sequence_.rr(rank, 0)])}});
  }
  for (std::uint32_t rank = 0; rank < sequence_.sums(); ++rank) zero(handles_[sequence_.pq(rank)]);
  submit_look(0);
  rr_ = look(0);
  right_norm_ = std::sqrt(rr_);
  runtime_.wait();
  linalg::meet(runtime_);
}

void Solver::submit_iterations(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t k = first; k < first + count; ++k) {
    sequence_.visit_iteration(k, [&](const CgSequence::Task& task) {
      const Codelet& codelet = iteration_codelet(task.kernel);
      submit(codelet, task.accesses, task.rank,
             request_.names ? fmt::format("{}({})", codelet.name, task.index) : std::string());
    });
  }
}

void Solver::submit_look(std::uint64_t iteration) {
  operands_.clear();
  for (std::uint32_t rank = 0; rank < sequence_.sums(); ++rank) {
    operands_.push_back(R(handles_[sequence_.rr(rank, iteration)]));
  }
  operands_.push_back(W(seen_of(iteration)));
  runtime_.submit({.codelet = &cg_codelets().total, .operands = operands_});
}

std::uint64_t Solver::submit_batch(std::uint64_t first) {
  const std::uint64_t count = std::min(CgRequest::kBatch, request_.iterations - first);
  if (count == 0) return 0;
  submit_iterations(first, count);
  submit_look(first + count);
  return count;
}

// All ranks see the same numbers, and so submit as many.
std::uint64_t Solver::iterate() {
  const double enough = request_.tolerance * CgRequest::kMargin * right_norm_;
  if (right_norm_ <= enough) return 0;
  std::uint64_t done = submit_batch(0);
  while (true) {
    const std::uint64_t ahead = submit_batch(done);
    rr_ = look(done);
    done += ahead;
    if (ahead == 0) break;
    if (std::sqrt(rr_) > enough) continue;
    rr_ = look(done);
    break;
  }
  runtime_.wait();
  return done;
}

CgCheck Solver::check() {
  for (std::size_t b = 0; b < blocks(); ++b) submit_product(b, &CgSequence::x);
  for (std::size_t b = 0; b < blocks(); ++b) {
    runtime_.submit(
        {.codelet = &cg_codelets().compare,
         .operands = {R(right_[b]), R(handles_[sequence_.q(b)]), R(handles_[sequence_.x(b)]),
                      Reduce(checks_[sequence_.sums() == 1 ? 0 : sequence_.rank_of(b)])},
         .parameters = known(b)});
  }
  CheckSums all;
  for (const Handle check : checks_) {
    const Acquired held = runtime_.acquire(check, AccessMode::R);
    const auto& sums = *held.data<CheckSums>();
    all.residual += sums.residual;
    all.right += sums.right;
    all.error += sums.error;
    all.solution += sums.solution;
  }
  runtime_.wait();
  return {std::sqrt(all.residual / all.right), std::sqrt(all.error / all.solution)};
}

}  // namespace

CgProblem poisson_problem(const graphs::PoissonGrid& grid, std::uint64_t blocks) {
  CgProblem problem = cut_into_blocks(grid, grid.points(), blocks);
  problem.grid = grid;
  return problem;
}

CgProblem matrix_problem(std::shared_ptr<const SparseMatrix> matrix, std::uint64_t blocks) {
  CgProblem problem = cut_into_blocks(*matrix, matrix->rows(), blocks);
  problem.matrix = std::move(matrix);
  return problem;
}

std::optional<double> error_bound(const CgProblem& problem, double residual) {
  if (!problem.grid) return std::nullopt;
  return problem.grid->condition() * residual;
}

CgOutcome solve(Runtime& runtime, const CgRequest& request, const PhaseObserver& observer) {
  const auto enter = [&](std::string_view phase, std::uint64_t tasks) {
    if (observer) observer(phase, tasks);
  };
  Solver solver(runtime, request);
  const linalg::Drain drain(runtime);
  CgOutcome outcome;
  enter("fill", solver.fill_tasks());
  {
    const TraceRegion prepare = runtime.region("prepare");
    solver.fill();
  }
  enter("solve", 0);
  {
    outcome.before = runtime.statistics();
    const TraceRegion proper = runtime.region("run");
    outcome.iterations = solver.iterate();
    outcome.after = runtime.statistics();
  }
  outcome.recurrence = solver.recurrence();
  if (request.check) {
    const TraceRegion checked = runtime.region("check");
    enter("check", solver.check_tasks());
    outcome.check = solver.check();
  }
  outcome.last = runtime.statistics();
  solver.unregister();
  return outcome;
}

}  // namespace vicinal::sparse
