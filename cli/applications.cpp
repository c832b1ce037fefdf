#if VICINAL_HAVE_BLAS

#include "applications.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "graphs/linalg_graphs.hpp"
#include "linalg/cholesky.hpp"
#include "linalg/cholesky_run.hpp"
#include "linalg/dense_run.hpp"
#include "linalg/dense_tasks.hpp"
#include "linalg/kernel_times.hpp"
#include "output_file.hpp"
#include "reports/catalogue.hpp"
#include "reports/dense_bounds.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

// Graphs of at most so many tasks get a name per task: messages say "gemm(3,1,0)" rather than
// "gemm". Beyond, their memory and time are saved.
constexpr std::uint64_t kNamedTasks = 5000;

constexpr std::uint64_t kPage = 4096;  // replicas are padded to pages

// BLAS counts the rows of a block in 31 bits.
constexpr std::uint64_t kLargestInner = (1ULL << 31) - 1;

Bytes padded(Bytes bytes) {
  return {(bytes.value + kPage - 1) / kPage * kPage};
}

std::string priorities_text(bool priorities) {
  return priorities ? "bottom-level" : "none";
}

// --- Cholesky: of a generated matrix or one in a file --------------------------------------------
class Cholesky : public Application {
 public:
  explicit Cholesky(linalg::CholeskyRequest request) : request_(std::move(request)) {}

  reports::Facts parameters() const override {
    const linalg::TileGrid& grid = request_.grid;
    reports::Facts facts{{"size", grid.size},
                         {"tile", grid.tile},
                         {"tiles", grid.tiles()},
                         {"precision", std::string(to_string(grid.precision))},
                         {"matrix_bytes", grid.bytes()},
                         {"priorities", priorities_text(request_.priorities)}};
    if (request_.matrix.empty()) {
      facts.emplace_back("seed", request_.seed);
    } else {
      facts.emplace_back("matrix", request_.matrix);
    }
    if (!request_.output.empty()) facts.emplace_back("output", request_.output);
    return facts;
  }

  double flops() const override { return linalg::cholesky_flops(request_.grid.size); }

  MemoryNeed memory() const override {
    const linalg::TileGrid& grid = request_.grid;
    // gemm needs three tiles at once; a matrix of one or two tile rows has no gemm.
    const std::uint64_t most = std::min<std::uint64_t>(grid.tiles(), 3);
    const Bytes tile = padded(grid.full_tile_bytes());
    return {.task = tile * most,
            .operands = fmt::format("{} tiles of {} x {} {}s", most, grid.tile, grid.tile,
                                    to_string(grid.precision)),
            .all = tile * grid.lower_tiles(),
            .tasks = linalg::cholesky_tasks(grid.tiles()),
            .has_home = !request_.output.empty()};
  }

  void measure() override { times_ = linalg::measure_kernels(request_.grid); }

  linalg::RunOutcome run(Runtime& runtime, const linalg::PhaseObserver& observer) const override {
    return linalg::run_cholesky(runtime, request_, observer);
  }

  reports::RunBounds bounds(const MachineDescription& machine,
                            const Statistics& before) const override {
    const linalg::TileGrid& grid = request_.grid;
    const reports::CholeskyWork work{.order = grid.size,
                                     .tile = grid.tile,
                                     .element = {element_bytes(grid.precision)},
                                     .matrix = grid.bytes(),
                                     .flops = flops(),
                                     .potrf = times_.potrf,
                                     .trsm = times_.trsm,
                                     .syrk = times_.syrk,
                                     .gemm = times_.gemm};
    return reports::cholesky_bounds(work, machine, before);
  }

 private:
  linalg::CholeskyRequest request_;
  linalg::KernelTimes times_;
};

// --- LU and products: from their graphs ----------------------------------------------------------
class Dense : public Application {
 public:
  Dense(graphs::DenseGraph graph, linalg::DenseRequest request)
      : graph_(std::move(graph)), request_(request) {
    request_.graph = &graph_;
    request_.names = graph_.tasks.tasks().size() <= kNamedTasks;
  }

  reports::Facts parameters() const override {
    Bytes bytes;
    for (const graph::Graph::Datum& datum : graph_.tasks.data()) bytes += datum.bytes;
    reports::Facts facts{
        {"size", graph_.order()},      {"tile", graph_.tiles.tile},
        {"tiles", graph_.tiles.tiles}, {"precision", graph_.tasks.application().precision},
        {"data_bytes", bytes},         {"priorities", priorities_text(request_.priorities)},
        {"seed", request_.seed}};
    if (graph_.tasks.application().dense->k > 0)
      facts.emplace_back("inner", graph_.tasks.application().dense->k);
    return facts;
  }

  double flops() const override { return graph_.tasks.flops(); }

  MemoryNeed memory() const override {
    MemoryNeed need;
    need.tasks = graph_.tasks.tasks().size();
    for (const graph::Graph::Datum& datum : graph_.tasks.data()) need.all += padded(datum.bytes);
    for (const graph::Graph::Task& task : graph_.tasks.tasks()) {
      Bytes bytes;
      for (const graph::Graph::Access& access : graph_.tasks.accesses_of(task)) {
        bytes += padded(graph_.tasks.data()[access.datum].bytes);
      }
      if (bytes <= need.task) continue;
      need.task = bytes;
      need.operands = "the operands of " + linalg::task_name(graph_, task);
    }
    return need;
  }

  void measure() override {
    for (const double seconds : linalg::measure_kernels(graph_)) {
      // Emulated accelerators run the kernels of the cores.
      std::array<double, kProcessorKinds> kinds{};
      kinds[static_cast<std::size_t>(ProcessorKind::cpu)] = seconds;
      kinds[static_cast<std::size_t>(ProcessorKind::emulated)] = seconds;
      seconds_.push_back(kinds);
    }
  }

  linalg::RunOutcome run(Runtime& runtime, const linalg::PhaseObserver& observer) const override {
    return linalg::run_dense(runtime, request_, observer);
  }

  reports::RunBounds bounds(const MachineDescription& machine,
                            const Statistics& before) const override {
    return reports::bounds_of_filled(graph_.tasks, machine, seconds_, before);
  }

 private:
  graphs::DenseGraph graph_;
  linalg::DenseRequest request_;
  std::vector<std::array<double, kProcessorKinds>> seconds_;  // per kernel
};

void refuse(std::string_view option, const std::string& text, std::string_view why) {
  if (text.empty()) return;
  throw UsageError(fmt::format("{}: {}; leave the option away", option, why));
}

}  // namespace

ApplicationOptions::ApplicationOptions(CLI::App& command)
    : shape_(command, {"cholesky", "lu", "gemm2d", "gemm3d"}) {
  command.add_option("--inner", inner_, "gemm2d, gemm3d: columns of A, in elements.")
      ->type_name("INTEGER [gemm2d: 4 tiles, gemm3d: as --size]");
  command.add_option("--matrix", matrix_, "cholesky: tile file to read the matrix from.")
      ->type_name("FILE");
  command.add_option("--output", output_, "cholesky: tile file to leave the factor in.")
      ->type_name("FILE");
  command.add_flag("--check", check_, "Check the result: exit status 1 if it is wrong.");
  command.add_option("--priorities", priorities_, "bottom-level or none.")
      ->type_name("TEXT [bottom-level]");
}

std::unique_ptr<Application> ApplicationOptions::make(std::uint64_t seed) const {
  return name() == "cholesky" ? make_cholesky(seed) : make_dense(seed);
}

std::unique_ptr<Application> ApplicationOptions::make_cholesky(std::uint64_t seed) const {
  require_writable("--output", output_);
  refuse("--inner", inner_, "cholesky has no inner dimension, only gemm2d and gemm3d have one");
  linalg::CholeskyRequest request;
  request.grid =
      matrix_.empty() ? shape_.parse() : shape_.parse(linalg::TileFile::open(matrix_).grid());
  request.seed = seed;
  request.matrix = matrix_;
  request.output = output_;
  request.check = check_;
  request.priorities = priorities();
  request.names = linalg::cholesky_tasks(request.grid.tiles()) <= kNamedTasks;
  return std::make_unique<Cholesky>(std::move(request));
}

std::unique_ptr<Application> ApplicationOptions::make_dense(std::uint64_t seed) const {
  const std::string generates = name() + " generates what it works on, only cholesky reads a file";
  refuse("--matrix", matrix_, generates);
  refuse("--output", output_, name() + " forgets its result, only cholesky writes a file");
  if (name() == "lu") {
    refuse("--inner", inner_, "lu has no inner dimension, only gemm2d and gemm3d have one");
  }
  const linalg::TileGrid grid = shape_.parse();
  if (grid.size % grid.tile != 0) {
    throw UsageError(fmt::format(
        "--size: {} works on whole tiles, and {} is not a multiple of {}: "
        "use {} or {}, or another --tile",
        name(), grid.size, grid.tile, grid.size / grid.tile * grid.tile, grid.tiles() * grid.tile));
  }
  const graphs::Tiles tiles{.tiles = grid.tiles(), .tile = grid.tile, .precision = grid.precision};
  linalg::DenseRequest request;
  request.seed = seed;
  request.check = check_;
  request.priorities = priorities();
  return std::make_unique<Dense>(graphs::dense_graph(name(), tiles, inner()), request);
}

// 0: the application's own choice.
std::uint64_t ApplicationOptions::inner() const {
  return inner_.empty() ? 0 : reports::parse_count("--inner", inner_, 1, kLargestInner);
}

bool ApplicationOptions::priorities() const {
  if (priorities_ != "bottom-level" && priorities_ != "none") {
    throw UsageError(
        fmt::format("--priorities: \"{}\" is neither bottom-level nor none", priorities_));
  }
  return priorities_ == "bottom-level";
}

}  // namespace vicinal::cli

#endif
