// The applications whose tasks are those of a graph, one by one: LU, QR and products.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "linalg/application.hpp"
#include "linalg/codelets.hpp"
#include "reports/dense_bounds.hpp"

namespace vicinal::linalg {

namespace {

using graphs::DenseGraph;
using graphs::MatrixBlock;
using GraphTask = graph::Graph::Task;
using SharedGraph = std::shared_ptr<const DenseGraph>;

Task task_of(const DenseGraph& graph, const GraphTask& task) {
  return {task.kernel, task.priority, graph.tasks.accesses_of(task)};
}

constexpr char kPivots = 'P';  // its blocks hold no elements

// Zeroes are right for kernels that are timed: rows exchanged with themselves, reflectors that change nothing.
bool is_best_zero(const MatrixBlock& block) {
  return block.matrix == kPivots || block.matrix == 'T' || block.matrix == 'S';
}

std::vector<TileShape> operand_shapes(const Application& application, const Task& task) {
  std::vector<TileShape> shapes;
  for (const graph::Graph::Access& access : task.accesses) {
    shapes.push_back(application.shape(access.datum));
  }
  return shapes;
}

std::size_t indices(const DenseGraph& graph, std::size_t kernel) {
  const std::string& name = graph.tasks.kernels()[kernel].name;
  if (name == "getrf") return 1;
  constexpr std::array kOfTwo{"trsm", "gessm", "tstrf", "geqrt", "tsqrt", "ttqrt"};
  return std::ranges::find(kOfTwo, name) != kOfTwo.end() ? 2 : 3;
}

// Its first task and its last: the first trsm of LU solves from the left, the last from the right.
std::vector<KernelCall> calls(const Application& application, const DenseGraph& graph,
                              std::size_t kernel) {
  const auto tasks = graph.tasks.tasks();
  const auto is_of_kernel = [&](const GraphTask& task) { return task.kernel == kernel; };
  const auto call = [&](const GraphTask& of_graph) {
    const Task task = task_of(graph, of_graph);
    KernelCall of_task{operand_shapes(application, task), application.index(task)};
    for (const graph::Graph::Access& access : task.accesses) {
      of_task.is_zero.push_back(is_best_zero(graph.blocks[access.datum]));
    }
    return of_task;
  };
  const auto first = std::find_if(tasks.begin(), tasks.end(), is_of_kernel);
  if (first == tasks.end()) return {};
  return {call(*first), call(*std::find_if(tasks.rbegin(), tasks.rend(), is_of_kernel))};
}

void set_largest_task(Application& application, const DenseGraph& graph) {
  Bytes most;
  for (const GraphTask& of_graph : graph.tasks.tasks()) {
    Bytes bytes;
    for (const graph::Graph::Access& access : graph.tasks.accesses_of(of_graph)) {
      bytes += graph.tasks.data()[access.datum].bytes;
    }
    if (bytes <= most) continue;
    most = bytes;
    const Task task = task_of(graph, of_graph);
    application.largest_task = operand_shapes(application, task);
    application.largest_task_name = "the operands of " + application.task_name(task);
  }
}

reports::RunBounds bounds(const DenseGraph& graph, const MachineDescription& machine,
                          std::span<const double> seconds, const Statistics& before) {
  std::vector<std::array<double, kProcessorKinds>> kinds(seconds.size());
  for (std::size_t k = 0; k < seconds.size(); ++k) {
    // Emulated accelerators run the kernels of the cores.
    kinds[k][static_cast<std::size_t>(ProcessorKind::cpu)] = seconds[k];
    kinds[k][static_cast<std::size_t>(ProcessorKind::emulated)] = seconds[k];
  }
  return reports::bounds_of_filled(graph.tasks, machine, kinds, before);
}

// What the graph says.
Application described(const SharedGraph& graph) {
  const graph::Graph& tasks = graph->tasks;
  Application application;
  application.name = tasks.application().name;
  application.grid = {
      .size = graph->order(), .tile = graph->tiles.tile, .precision = graph->tiles.precision};
  application.inner = tasks.application().dense->k;
  application.tasks = tasks.tasks().size();
  application.flops = tasks.flops();
  for (std::size_t d = 0; d < tasks.data().size(); ++d) {
    application.data.push_back(
        {std::string(tasks.data_name(d)), graph->blocks[d], tasks.data()[d].home.has_value()});
  }
  for (std::size_t k = 0; k < tasks.kernels().size(); ++k) {
    const graph::Graph::Kernel& kernel = tasks.kernels()[k];
    application.kernels.push_back({.name = kernel.name,
                                   .indices = indices(*graph, k),
                                   .codelet = codelet_of(application.name, kernel.name,
                                                         application.grid.precision, kernel.flops),
                                   .calls = calls(application, *graph, k)});
  }
  set_largest_task(application, *graph);
  application.visit_tasks = [graph](const TaskVisitor& visitor) {
    for (const GraphTask& task : graph->tasks.tasks()) visitor(task_of(*graph, task));
  };
  application.bounds = [graph](const MachineDescription& machine, std::span<const double> seconds,
                               const Statistics& before) {
    return bounds(*graph, machine, seconds, before);
  };
  return application;
}

// --- LU ------------------------------------------------------------------------------------------

// y = A x against z = L (w = U x), row of tiles by row of tiles: w_i needs the row from the diagonal on, and z_i
// the row up to the diagonal with the w_j so far. So every tile is loaded once, one on the diagonal perhaps
// twice.
//
// K = b + n roundings per element, as for Cholesky, and the model of cholesky.cpp: roundings independent with
// mean 0, K u^2 of the square of what is rounded, signs of x independent of them. L U = A + D, D_ij gathering the
// roundings of the partial results that go from a_ij to u_ij or l_ij u_jj. They are elements of Schur complements
// (or differences of two), which here may grow: for A = 3 I + E of generator.hpp, e = |E|_2 = 1.155, a Schur
// complement is A_22 - E_21 (3 I + E_11)^-1 E_12, so its norm is at most
// ||A||_F + e / (3 - e) ||E||_F <= g ||A||_F with g = 1.63. The check's own sums double the residual, and another
// 2 is for roundings that are not quite independent: 4 g sqrt(K) u.
//
// Measured, in units of g sqrt(K) u, N from 8 to 4096, tiles from 1 to 1000: 0.03 to 0.19 (float) and 0.24 to
// 0.26 (double).
//
// A wrong tile. If every element of one tile changes by e, b rows of the product change by e times a sum of b
// random signs (times the size of w, 3, for L): in the norm e b. ||A||_F = 3.05 sqrt(N): the residual becomes
// some e b / (3 sqrt(N)). For e = 1e-3, N = 2000, b = 250 that is 1.9e-3, where the tolerance is 6.2e-6 in float.
Check check_factors(const TileGrid& grid) {
  using enum CheckVector;
  const std::uint64_t n = grid.tiles();
  const auto roundings = static_cast<double>(grid.tile + n);
  Check check{.products = {},
              .inner = grid,
              .tolerance = 4 * 1.63 * std::sqrt(roundings) * roundoff(grid.precision)};
  for (std::size_t d = 0; d < n * n; ++d)
    check.products.push_back({.datum = d, .is_result = false});
  for (std::uint64_t i = 0; i < n; ++i) {
    const std::size_t row = i * n;  // data are numbered by rows
    for (std::uint64_t j = n; j-- > i;) {
      check.products.push_back(
          {.datum = row + j, .part = j == i ? Part::upper : Part::whole, .from = x, .to = w});
    }
    for (std::uint64_t j = i + 1; j-- > 0;) {
      check.products.push_back(
          {.datum = row + j, .part = j == i ? Part::unit_lower : Part::whole, .from = w, .to = z});
    }
  }
  return check;
}

// y = A x as A was at the start, z = U x with the upper triangle that is left in its place.
void add_upper_products(Check& check, std::uint64_t n) {
  for (std::size_t d = 0; d < n * n; ++d) {
    check.products.push_back({.datum = d, .is_result = false});
  }
  for (std::uint64_t i = 0; i < n; ++i) {
    for (std::uint64_t j = i; j < n; ++j) {
      check.products.push_back({.datum = i * n + j,
                                .part = j == i ? Part::upper : Part::whole,
                                .from = CheckVector::x,
                                .to = CheckVector::z});
    }
  }
}

// --- LU with incremental pivoting ----------------------------------------------------------------

// y = A x against z = T^-1 U x, where T is what getrf and tstrf do to a column of tiles, one after the other.
//
// The roundings are those of LU, and K as there. What is rounded are elements of partial results, which grow: pivoting
// among the rows of two tiles keeps multipliers at 1 or less, and no more. ||A^(k)||_F, the largest, is g ||A||_F. For
// elements at random pairwise pivoting has a growth of the order of N (Trefethen, Schreiber, Average-case stability of
// Gaussian elimination, SIAM J. Matrix Anal. Appl. 11, 1990); here it rises with the steps of tiles, too. Measured in
// double, residuals in units of sqrt(K) u, N n / 128 beside them: 4.4 and 4 (N = 64, n = 8), 22 and 20 (500, 5), 28 and
// 31 (1000, 4), 56 and 64 (1024, 8), 264 and 256 (4096, 8), 532 and 512 (2048, 32); in float half as much. So g is
// 1 + N n / 128, and the tolerance 4 g sqrt(K) u.
//
// A wrong tile, as for LU: the residual becomes some e b / ||A||_F, with ||A||_F = sqrt(N / 3). For e = 1e-3, N = 400 and
// b = 100 that is 8.7e-3, where the tolerance in float is 4e-5.
Check check_incremental(const DenseGraph& graph, const TileGrid& grid) {
  const std::uint64_t n = grid.tiles();
  const auto roundings = static_cast<double>(grid.tile + n);
  const double growth = 1 + static_cast<double>(grid.size) * static_cast<double>(n) / 128;
  Check check{.products = {},
              .inner = grid,
              .tolerance = 4 * growth * std::sqrt(roundings) * roundoff(grid.precision)};
  add_upper_products(check, n);
  const auto tasks = graph.tasks.tasks();
  for (auto task = tasks.rbegin(); task != tasks.rend(); ++task) {
    const std::string& name = graph.tasks.kernels()[task->kernel].name;
    const auto accesses = graph.tasks.accesses_of(*task);
    if (name == "getrf") {
      check.undone.push_back(
          {.factor = accesses[0].datum, .inner = accesses[0].datum, .pivots = accesses[1].datum});
    } else if (name == "tstrf") {
      check.undone.push_back({.factor = accesses[3].datum,
                              .inner = accesses[1].datum,
                              .pivots = accesses[2].datum,
                              .is_tstrf = true});
    }
  }
  return check;
}

// Of a matrix of one tile there is no L below the diagonal.
std::uint64_t incremental_panel(const DenseGraph& graph) {
  const auto below = std::ranges::find_if(graph.blocks, [](const MatrixBlock& block) {
    return block.matrix == 'L' && block.first_row != block.first_column;
  });
  return below == graph.blocks.end() ? 0 : below->rows;
}

// --- QR ------------------------------------------------------------------------------------------

// y = A x against z = Q R x, and x against Q^T Q x.
//
// Orthogonal transformations keep norms: nothing grows. N reflectors meet an element of A, and then one of R x and, twice,
// of x, one after the other in the check; each rounds it once for its product and once for itself. With roundings
// independent with mean 0, as in cholesky.cpp, that is up to sqrt(4 * 2 N) u, about 3 sqrt(N) u. Another 2 is for those
// that are not quite independent: 6 sqrt(N) u.
//
// Measured, in units of sqrt(N) u, N from 1 to 2048, tiles from 1 to 512, both trees: up to 1.9 for N of 64 and less,
// then 0.3 to 0.8 (float) and 0.9 to 1.2 (double).
//
// A wrong tile, as for LU with incremental pivoting: for e = 1e-3, N = 400 and b = 100 the residual becomes some 8.7e-3,
// where the tolerance in float is 7.2e-6.
Check check_reflectors(const DenseGraph& graph, const TileGrid& grid) {
  const std::uint64_t n = grid.tiles();
  Check check{
      .products = {},
      .inner = grid,
      .tolerance = 6 * std::sqrt(static_cast<double>(grid.size)) * roundoff(grid.precision)};
  add_upper_products(check, n);
  for (const GraphTask& task : graph.tasks.tasks()) {
    const std::string& name = graph.tasks.kernels()[task.kernel].name;
    const auto accesses = graph.tasks.accesses_of(task);
    if (name == "geqrt") {
      check.reflections.push_back({.v = accesses[0].datum, .t = accesses[1].datum});
    } else if (name == "tsqrt" || name == "ttqrt") {
      check.reflections.push_back(
          {.of = name == "tsqrt" ? Reflectors::of_square : Reflectors::of_two_triangles,
           .v = accesses[2].datum,
           .t = accesses[1].datum,
           .above = accesses[0].datum});
    }
  }
  return check;
}

std::uint64_t reflector_panel(const DenseGraph& graph) {
  return std::ranges::find(graph.blocks, 'T', &MatrixBlock::matrix)->rows;
}

// --- products ------------------------------------------------------------------------------------

// y = C x against z = A (w = B x).
//
// An element of C is a sum of products whose partial sums are no larger than it in the mean (the elements of A
// and B being independent). Kernels sum over an inner block of p elements, and the q sums of an element follow
// each other: p + q roundings. The check sums in double over a tile and then over tiles: b + n roundings for C x,
// p + q for A w. K is the larger of both; each product of the check adds at most as much as a result in double
// has, in all 2, and another 2 is for roundings that are not quite independent: 4 sqrt(K) u.
//
// Measured, in units of sqrt(K) u, N from 8 to 4096, tiles from 1 to 1000: 0.1 to 0.35 (float) and 0.29 to 0.74
// (double).
//
// A wrong tile, as for LU: ||C||_F = N / 3, the residual becomes some 3 e b / N. For e = 1e-3, N = 2000, b = 250
// that is 3.8e-4, where the tolerance is at most 7.5e-6 in float.
Check check_product(const DenseGraph& graph, const TileGrid& grid) {
  using enum CheckVector;
  const auto block = std::ranges::find(graph.blocks, 'A', &MatrixBlock::matrix)->columns;
  const std::uint64_t inner = graph.tasks.application().dense->k;
  const std::uint64_t roundings = std::max(grid.tile + grid.tiles(), block + inner / block);
  Check check{
      .products = {},
      .inner = {.size = inner, .tile = block, .precision = grid.precision},
      .tolerance = 4 * std::sqrt(static_cast<double>(roundings)) * roundoff(grid.precision)};
  const auto multiply = [&](char matrix, bool is_result, CheckVector from, CheckVector to) {
    for (std::size_t d = 0; d < graph.blocks.size(); ++d) {
      if (graph.blocks[d].matrix != matrix) continue;
      check.products.push_back({.datum = d, .is_result = is_result, .from = from, .to = to});
    }
  };
  multiply('C', true, x, y);
  multiply('B', false, x, w);
  multiply('A', false, w, z);
  return check;
}

// A with elements of size 1 / sqrt(K), K the inner dimension, B with elements of size 1, so that C has elements
// of size 1/3; C is 0 where it has content at the start.
Generator factor_content(char matrix, std::uint64_t inner, std::uint64_t seed) {
  if (matrix == 'A') return Generator::random(1 / std::sqrt(static_cast<double>(inner)), seed);
  if (matrix == 'B') return Generator::random(1, seed + 1);
  return Generator::random(0, seed);
}

}  // namespace

Application application_of(DenseGraph graph) {
  const auto shared = std::make_shared<const DenseGraph>(std::move(graph));
  Application application = described(shared);
  const TileGrid grid = application.grid;
  if (application.name == "lu") {
    application.action = "factorise";
    application.content = [grid](char, std::uint64_t seed) {
      return Generator::dominant(grid.size, seed);
    };
    application.check = [grid] { return check_factors(grid); };
  } else if (application.name == "lu-incpiv") {
    application.action = "factorise";
    application.panel = incremental_panel(*shared);
    application.content = [grid](char, std::uint64_t seed) {
      return Generator::random(1 / std::sqrt(static_cast<double>(grid.size)), seed);
    };
    application.check = [shared, grid] { return check_incremental(*shared, grid); };
  } else if (application.name == "qr") {
    application.action = "factorise";
    application.panel = reflector_panel(*shared);
    application.panel_tree = to_string(*graphs::panel_tree(shared->tasks));
    application.content = [grid](char, std::uint64_t seed) {
      return Generator::random(1 / std::sqrt(static_cast<double>(grid.size)), seed);
    };
    application.check = [shared, grid] { return check_reflectors(*shared, grid); };
  } else {
    application.action = "multiply";
    application.content = [inner = application.inner](char matrix, std::uint64_t seed) {
      return factor_content(matrix, inner, seed);
    };
    application.check = [shared, grid] { return check_product(*shared, grid); };
  }
  return application;
}

}  // namespace vicinal::linalg
