#if VICINAL_HAVE_BLAS

#include "applications.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "dense_job.hpp"
#include "graphs/linalg_graphs.hpp"
#include "linalg/cholesky.hpp"
#include "linalg/tile_file.hpp"
#include "output_file.hpp"
#include "reports/catalogue.hpp"
#include "vicinal/error.hpp"

namespace vicinal::cli {

namespace {

// Graphs of at most so many tasks get a name per task: messages say "gemm(3,1,0)" rather than
// "gemm". Beyond, their memory and time are saved.
constexpr std::uint64_t kNamedTasks = 5000;

// BLAS counts the rows of a block in 31 bits.
constexpr std::uint64_t kLargestInner = (1ULL << 31) - 1;

// What the runtime notes of a task until it has ended.
constexpr std::uint64_t kNotesOfATask = 256;

// Found out before the tasks, or the tiles that they work on, are described.
void require_tasks(std::uint64_t tasks, const Options& options) {
  const Bytes installed = installed_memory();
  const std::uint64_t pending =
      options.window_tasks > 0 ? std::min(tasks, options.window_tasks) : tasks;
  if (pending <= installed.value / kNotesOfATask) return;
  throw UsageError(
      fmt::format("--tile: it makes {} tasks, too many to keep account of in the {} of this "
                  "computer: make it larger, or --size smaller, or limit the tasks at a time "
                  "with --window-tasks",
                  tasks, reports::format_bytes(installed)));
}

void refuse(std::string_view option, const std::string& text, std::string_view why) {
  if (text.empty()) return;
  throw UsageError(fmt::format("{}: {}; leave the option away", option, why));
}

}  // namespace

MemoryNeed memory_need(const linalg::RunRequest& request, const Ranks& ranks) {
  const linalg::Application& application = *request.application;
  MemoryNeed need;
  need.has_home = !request.places.output.empty();
  need.task_name = application.largest_task_name;
  need.smaller = "a smaller --tile";
  for (const TileShape& shape : application.largest_task)
    need.task += padded(shape.layout().bytes());
  Bytes largest;
  for (std::size_t d = 0; d < application.data.size(); ++d) {
    const Bytes bytes = padded(application.shape(d).layout().bytes());
    largest = std::max(largest, bytes);
    const bool is_own =
        ranks.count() == 1 || application.owner(d, *request.places.distribution) == ranks.rank();
    if (is_own) need.all += bytes;
  }
  if (ranks.count() > 1) need.task += largest;
  return need;
}

reports::Facts parameters(const linalg::RunRequest& request) {
  const linalg::Application& application = *request.application;
  const linalg::TileGrid& grid = application.grid;
  Bytes bytes;
  for (std::size_t d = 0; d < application.data.size(); ++d) {
    bytes += application.shape(d).layout().bytes();
  }
  reports::Facts facts{{"size", grid.size},
                       {"tile", grid.tile},
                       {"tiles", grid.tiles()},
                       {"precision", std::string(to_string(grid.precision))},
                       {application.name == "cholesky" ? "matrix_bytes" : "data_bytes", bytes},
                       {"priorities", request.submit.priorities ? "bottom-level" : "none"}};
  if (request.places.matrix.empty()) {
    facts.emplace_back("seed", request.places.seed);
  } else {
    facts.emplace_back("matrix", request.places.matrix);
  }
  if (!request.places.output.empty()) facts.emplace_back("output", request.places.output);
  if (application.panel > 0) facts.emplace_back("panel", application.panel);
  if (!application.panel_tree.empty()) {
    facts.emplace_back("panel_tree", std::string(application.panel_tree));
  }
  if (application.inner > 0) facts.emplace_back("inner", application.inner);
  return facts;
}

ApplicationOptions::ApplicationOptions(CLI::App& command)
    : shape_(command, {"cholesky", "lu", "lu-incpiv", "qr", "gemm2d", "gemm3d", "cg"}),
      cg_(command) {
  command.add_option("--inner", inner_, "gemm2d, gemm3d: columns of A, in elements.")
      ->type_name("INTEGER [gemm2d: 4 tiles, gemm3d: as --size]");
  command
      .add_option("--panel", panel_,
                  "cholesky: on two levels, the factorisation of a tile divided into panels of so "
                  "many elements. lu-incpiv, qr: columns of a tile eliminated at once.")
      ->type_name("INTEGER [cholesky: one level, others: 32]");
  command
      .add_option("--panel-tree", panel_tree_,
                  "qr, the tree that reduces a column of tiles to a triangle: flat or binary.")
      ->type_name("TEXT [flat]");
  command
      .add_option(
          "--matrix", matrix_,
          "File to read the matrix from. cholesky: a tile file; cg: a symmetric matrix in the "
          "format of Matrix Market.")
      ->type_name("FILE");
  command.add_option("-o,--output", output_, "cholesky: tile file to leave the factor in.")
      ->type_name("FILE");
  command.add_flag("--check", check_, "Check the result: exit status 1 if it is wrong.");
  priorities_option_ = command.add_option("--priorities", priorities_, "bottom-level or none.")
                           ->type_name("TEXT [bottom-level]");
}

std::unique_ptr<Job> ApplicationOptions::job(const Options& options,
                                             const DistributionOption& distribution,
                                             std::uint32_t ranks) const {
  if (name() == "cg") return cg(options, distribution);
  cg_.refuse(name());
  auto dense = std::make_unique<linalg::Application>(application(options));
  linalg::RunRequest asked = request(*dense, options);
  asked.places.distribution = distribution.parse(ranks, dense->triangle);
  asked.places.devices = distribution.devices();
  return dense_job(std::move(dense), std::move(asked));
}

std::unique_ptr<Job> ApplicationOptions::cg(const Options& options,
                                            const DistributionOption& distribution) const {
  constexpr std::string_view kWhy = "cg has blocks of rows of a sparse matrix, see --blocks";
  shape_.refuse(kWhy);
  refuse("--distribution", distribution.given(), kWhy);
  refuse("--inner", inner_, kWhy);
  refuse("--panel", panel_, kWhy);
  refuse("--output", output_, "cg forgets its result, only cholesky writes a file");
  if (priorities_option_->count() > 0) refuse("--priorities", priorities_, "cg has none");
  return cg_.job(matrix_, check_, options);
}

linalg::Application ApplicationOptions::application(const Options& options) const {
  return name() == "cholesky" ? cholesky(options) : of_graph(options);
}

linalg::Application ApplicationOptions::cholesky(const Options& options) const {
  refuse("--panel-tree", panel_tree_, "cholesky has no such tree, only qr has one");
  refuse("--inner", inner_, "cholesky has no inner dimension, only gemm2d and gemm3d have one");
  const linalg::TileGrid grid =
      matrix_.empty() ? shape_.parse() : shape_.parse(linalg::TileFile::open(matrix_).grid());
  require_tasks(linalg::cholesky_tasks(grid.tiles()), options);
  return linalg::cholesky(grid, panel_of_cholesky(grid));
}

// 0: one level.
std::uint64_t ApplicationOptions::panel_of_cholesky(const linalg::TileGrid& grid) const {
  if (panel_.empty()) return 0;
  // Tasks have as many operands as a tile has parts, at most.
  constexpr std::uint64_t kMostPanels = 64;
  const std::uint64_t panel = reports::parse_count("--panel", panel_, 1, grid.tile);
  if (grid.tile % panel != 0 || grid.tile / panel > kMostPanels) {
    throw UsageError(
        fmt::format("--panel: a tile of {} is not cut into panels of {}: use a number that divides "
                    "it, {} or more",
                    grid.tile, panel, (grid.tile + kMostPanels - 1) / kMostPanels));
  }
  return panel;
}

linalg::Application ApplicationOptions::of_graph(const Options& options) const {
  const bool is_qr = name() == "qr";
  if (name() != "lu-incpiv" && !is_qr) {
    refuse("--panel", panel_, name() + " has no panels, only cholesky, lu-incpiv and qr have some");
  }
  if (!is_qr) refuse("--panel-tree", panel_tree_, name() + " has no such tree, only qr has one");
  const std::string generates =
      name() + " generates what it works on, only cholesky and cg read a file";
  refuse("--matrix", matrix_, generates);
  refuse("--output", output_, name() + " forgets its result, only cholesky writes a file");
  if (name() == "lu" || name() == "lu-incpiv" || is_qr) {
    refuse("--inner", inner_, name() + " has no inner dimension, only gemm2d and gemm3d have one");
  }
  const linalg::TileGrid grid = shape_.parse();
  if (grid.size % grid.tile != 0) {
    throw UsageError(fmt::format(
        "--size: {} works on whole tiles, and {} is not a multiple of {}: "
        "use {} or {}, or another --tile",
        name(), grid.size, grid.tile, grid.size / grid.tile * grid.tile, grid.tiles() * grid.tile));
  }
  const graphs::Tiles tiles{.tiles = grid.tiles(), .tile = grid.tile, .precision = grid.precision};
  const std::uint64_t panel =
      panel_.empty() ? 0 : reports::parse_count("--panel", panel_, 1, grid.tile);
  const graphs::PanelTree tree =
      panel_tree_.empty() ? graphs::PanelTree::flat : graphs::panel_tree_of(panel_tree_);
  graphs::DenseGraph graph = graphs::dense_graph(name(), tiles, inner(), panel, tree);
  require_tasks(graph.tasks.tasks().size(), options);
  return linalg::application_of(std::move(graph));
}

linalg::RunRequest ApplicationOptions::request(const linalg::Application& application,
                                               const Options& options) const {
  return {.application = &application,
          .places = {.seed = options.seed, .matrix = matrix_, .output = output_},
          .check = check_,
          .submit = {.priorities = priorities(), .names = application.tasks <= kNamedTasks}};
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
