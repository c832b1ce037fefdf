#if VICINAL_HAVE_BLAS

#include "cg_options.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "graphs/cg_graph.hpp"
#include "graphs/poisson.hpp"
#include "reports/catalogue.hpp"
#include "reports/dense_bounds.hpp"
#include "sparse/cg.hpp"
#include "sparse/matrix_market.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

constexpr std::uint64_t kMostIterations = 1'000'000'000;
class CgJob : public Job {
 public:
  CgJob(sparse::CgProblem problem, std::string matrix, sparse::CgRequest request)
      : problem_(std::move(problem)), matrix_(std::move(matrix)), request_(request) {
    request_.problem = &problem_;
  }

  MemoryNeed memory_need(const Ranks& ranks) const override;
  reports::Facts parameters() const override;
  reports::Facts kernels() const override { return {}; }
  bool has_tiles() const override { return false; }
  std::string distribution() const override { return "blocks of rows in order"; }
  JobOutcome run(Runtime& runtime, const linalg::PhaseObserver& observer) override;
  reports::RunBounds bounds(const MachineDescription& machine, bool on_cores,
                            const JobOutcome& outcome) const override;

 private:
  sparse::CgProblem problem_;
  std::string matrix_;  // the file, or empty
  sparse::CgRequest request_;
  std::uint64_t iterations_ = 0;  // of the last run
};

MemoryNeed CgJob::memory_need(const Ranks& ranks) const {
  const graphs::CgSequence sequence(problem_.blocks, ranks.count());
  MemoryNeed need;
  need.task_name = "a block of rows with all that it multiplies";
  need.smaller = "more --blocks";
  for (std::size_t b = 0; b < problem_.blocks.size(); ++b) {
    const graphs::RowBlock& block = problem_.blocks[b];
    const Bytes vector = padded(block.vector_bytes());
    Bytes task = padded(block.bytes()) + vector + vector + Bytes{kPage};
    for (const std::uint32_t neighbour : block.neighbours) {
      task += padded(problem_.blocks[neighbour].vector_bytes());
    }
    need.task = std::max({need.task, task, Bytes{4 * vector.value + 2 * kPage}});
    if (sequence.rank_of(b) != ranks.rank().value) continue;
    need.all += padded(block.bytes()) + Bytes{5 * vector.value};  // x, r, p, q and b
  }
  // Numbers and sums, each with a page; with a limit a sum has room for one private copy beside it, and for what comes
  // from another rank.
  need.all += Bytes{(ranks.count() == 1 ? 12 : 18) * kPage};
  return need;
}

reports::Facts CgJob::parameters() const {
  std::uint64_t entries = 0;
  Bytes bytes;
  for (const graphs::RowBlock& block : problem_.blocks) {
    entries += block.inner + block.outer;
    bytes += block.bytes() + Bytes{5 * block.vector_bytes().value};
  }
  reports::Facts facts;
  if (problem_.grid) {
    facts.emplace_back("grid", graphs::to_string(*problem_.grid));
  } else {
    facts.emplace_back("matrix", matrix_);
  }
  facts.emplace_back("rows", problem_.cut.rows());
  facts.emplace_back("entries", entries);
  facts.emplace_back("blocks", problem_.cut.count());
  facts.emplace_back("data_bytes", bytes);
  facts.emplace_back("tolerance", request_.tolerance);
  facts.emplace_back("iterations", request_.iterations);
  facts.emplace_back("seed", request_.seed);
  return facts;
}

JobOutcome CgJob::run(Runtime& runtime, const linalg::PhaseObserver& observer) {
  const sparse::CgOutcome solved = sparse::solve(runtime, request_, observer);
  iterations_ = solved.iterations;
  JobOutcome outcome;
  outcome.run.before = solved.before;
  outcome.run.after = solved.after;
  outcome.run.last = solved.last;
  outcome.flops = graphs::CgSequence(problem_.blocks).flops_per_iteration() *
                  static_cast<double>(solved.iterations);
  if (solved.check) {
    // A residual may be small beside a solution that is wrong, where it is known how small it must be.
    const double residual = solved.check->residual;
    const auto most = sparse::error_bound(problem_, residual);
    const bool is_right = !most || solved.check->error <= *most + 1e-12;
    outcome.run.residual = {.value = is_right ? residual : solved.check->error,
                            .tolerance = request_.tolerance};
  }
  return outcome;
}

reports::RunBounds CgJob::bounds(const MachineDescription& machine, bool /*on_cores*/,
                                 const JobOutcome& outcome) const {
  // What a prefix of the iterations takes all of them take, too.
  constexpr std::uint64_t kMostTasks = 200'000;
  const graphs::CgSequence sequence(problem_.blocks);
  const std::uint64_t few = std::max<std::uint64_t>(1, kMostTasks / sequence.tasks_per_iteration());
  if (iterations_ == 0) return {};
  const graph::Graph graph = graphs::cg_graph(sequence, std::min(iterations_, few));
  const std::vector<std::array<double, kProcessorKinds>> unknown(graph.kernels().size());
  return reports::bounds_of_filled(graph, machine, unknown, outcome.run.before);
}

}  // namespace

CgOptions::CgOptions(CLI::App& command) {
  const auto add = [&](const char* name, std::string& to, const char* type, const char* sentence) {
    all_.push_back(
        command.add_option(name, to, sentence)->type_name(fmt::format("{} [{}]", type, to)));
    return all_.back();
  };
  grid_option_ =
      add("--grid", grid_, "TEXT",
          "cg: points along the edges of Poisson's equation, in two dimensions or three, "
          "as 64x64x64.");
  add("--blocks", blocks_, "INTEGER", "cg: blocks of rows that the matrix is cut into.");
  add("--iterations", iterations_, "INTEGER", "cg: at most so many.");
  add("--tolerance", tolerance_, "REAL",
      "cg: the residual that ends the iterations, as a part of the right-hand side.");
}

void CgOptions::refuse(const std::string& application) const {
  for (const CLI::Option* const option : all_) {
    if (option->count() == 0) continue;
    throw UsageError(fmt::format("{}: {} has no such option, only cg has it; leave it away",
                                 option->get_name(), application));
  }
}

std::unique_ptr<Job> CgOptions::job(const std::string& matrix, bool check,
                                    const Options& options) const {
  const std::uint64_t blocks =
      reports::parse_count("--blocks", blocks_, 1, graphs::CgSequence::kMostBlocks);
  sparse::CgRequest request{
      .tolerance = reports::parse_real("--tolerance", tolerance_, 0),
      .iterations = reports::parse_count("--iterations", iterations_, 1, kMostIterations),
      .seed = options.seed,
      .check = check,
      .names = true,
      .sums =
          options.reduction_tree == "off" ? graphs::CgSums::of_each_rank : graphs::CgSums::of_all};
  sparse::CgProblem problem;
  if (matrix.empty()) {
    try {
      problem = sparse::poisson_problem(graphs::parse_grid(grid_), blocks);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("--grid: {}", error.what()));
    }
  } else {
    if (grid_option_->count() > 0) {
      throw UsageError("--grid: --matrix names a matrix already; leave one of them away");
    }
    problem = sparse::matrix_problem(
        std::make_shared<const sparse::SparseMatrix>(sparse::read_matrix_market(matrix)), blocks);
  }
  return std::make_unique<CgJob>(std::move(problem), matrix, request);
}

}  // namespace vicinal::cli

#endif
