// A dense application by tiles, described: its data, its tasks in the order of their submission, the code of
// its kernels, its operations, and how its result is checked. run.hpp runs any of them.
//
//   const linalg::Application lu = linalg::application_of(graphs::dense_lu({.tiles = 8, .tile = 512}));
//   linalg::RunOutcome outcome = linalg::run(runtime, {.application = &lu, .check = true});
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.hpp"
#include "graphs/linalg_graphs.hpp"
#include "linalg/generator.hpp"
#include "linalg/kernel_operands.hpp"
#include "linalg/qr_kernels.hpp"
#include "linalg/tile_grid.hpp"
#include "reports/report.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/data.hpp"
#include "vicinal/distribution.hpp"
#include "vicinal/task.hpp"

namespace vicinal::linalg {

struct Datum {
  std::string name;
  graphs::MatrixBlock block;
  bool has_content = true;  // at the start; else a task writes it first
};

// What is needed to run a task's kernel outside a runtime.
struct KernelCall {
  std::vector<TileShape> operands;  // the last is written
  TaskIndex index;
  std::vector<bool> is_zero = {};  // of each operand: it holds zeroes; none: of all, it does not
};

struct TaskKernel {
  std::string name;  // of its tasks: "gemm"
  // Of its tasks' names, see graphs::task_name.
  std::size_t indices = 0;
  Codelet codelet;  // with the operations of one task on whole tiles
  // If its codelet is recursive: whether its tasks are divided. `automatic`: all, on a machine of cores alone.
  Recursive division = Recursive::never;
  // Of a task on whole tiles. Several: its tasks run different code, as many of each. None: it has no task.
  std::vector<KernelCall> calls;
};

struct Task {
  std::uint32_t kernel = 0;  // of Application::kernels
  int priority = 0;
  std::span<const graph::Graph::Access> accesses;  // valid while the task is visited
};
using TaskVisitor = std::function<void(const Task&)>;

// Which elements of a tile there are; unit_lower: those below the diagonal, and ones on it; mirrored: the tile
// and what lies opposite in a symmetric matrix, of a tile on the diagonal its lower triangle and that.
enum class Part : std::uint8_t { whole, lower, upper, unit_lower, mirrored };

// The vectors of a check: x is random, the others are 0 at the start.
enum class CheckVector : std::uint8_t { x, y, w, z };

// to += block from, or its transpose times from.
struct CheckProduct {
  std::size_t datum = 0;
  bool is_result = true;  // the block as the tasks have left it; false: as it was at the start
  Part part = Part::whole;
  bool transposed = false;
  CheckVector from = CheckVector::x;
  CheckVector to = CheckVector::y;
};

// z <- z without what getrf or tstrf (codelets.hpp) has done to it, whose factors these data hold: L_kk and p_k, or A_ik,
// L_ik and p_ik.
struct CheckUndo {
  std::size_t factor = 0;
  std::size_t inner = 0;
  std::size_t pivots = 0;
  bool is_tstrf = false;
};

// What geqrt, tsqrt or ttqrt (codelets.hpp) has done to a column of tiles: data with reflectors and with their T, at the
// place of the tile below.
struct CheckReflection {
  Reflectors of = Reflectors::of_tile;
  std::size_t v = 0;
  std::size_t t = 0;
  std::size_t above = 0;  // a datum in the row of the tile above
};

// Right if y = z after all products, which are computed in this order, and what is undone after them; of reflections,
// with Q the product of them in their order, if y = Q z and x = Q^T Q x.
struct Check {
  std::vector<CheckProduct> products;
  std::vector<CheckUndo> undone = {};
  std::vector<CheckReflection> reflections = {};
  TileGrid inner;        // how w is cut; x, y and z as a dimension of the result
  double tolerance = 0;  // of check.hpp's residual
};

struct Application {
  std::string name;                  // "cholesky"
  std::string_view action;           // what its tasks do: "factorise"
  TileGrid grid;                     // of the result
  Triangle triangle{};               // of its tiles, those that there are
  std::uint64_t inner = 0;           // elements between the factors of a product; 0: it is none
  std::uint64_t panel = 0;           // elements of the blocks inside a tile, where that is a choice
  std::string_view panel_tree = {};  // of QR, "flat" or "binary"
  std::vector<Datum> data;
  std::vector<TaskKernel> kernels;
  std::uint64_t tasks = 0;
  double flops = 0;
  // The operands of the largest task, and their name in messages: "3 tiles of 512 x 512 doubles".
  std::vector<TileShape> largest_task;
  std::string largest_task_name;

  std::function<void(const TaskVisitor&)> visit_tasks;
  // What a block holds at the start; `seed`: of the generator.
  std::function<Generator(char matrix, std::uint64_t seed)> content;
  std::function<Check()> check;
  // `seconds`: of one task per kernel, 0 if not known; `before`: when the first task was submitted.
  std::function<reports::RunBounds(const MachineDescription&, std::span<const double> seconds,
                                   const Statistics& before)>
      bounds;

  TileShape shape(std::size_t datum) const {
    return {data[datum].block.rows, data[datum].block.columns, 0, element_bytes(grid.precision)};
  }
  // The rank that owns the datum, if the tiles of the result are distributed so: that of the tile at its place.
  RankId owner(std::size_t datum, const Distribution& distribution) const {
    const auto [row, column] = place(datum);
    return distribution.owner(row, column);
  }
  // Row and column of that tile.
  std::pair<std::uint64_t, std::uint64_t> place(std::size_t datum) const {
    const graphs::MatrixBlock& block = data[datum].block;
    return {block.first_row / grid.tile, block.first_column / grid.tile};
  }
  // From the blocks of its first and last operand.
  TaskIndex index(const Task& task) const;
  // "getrf(2)", "trsm(3,2)", "syrk(3,2)", "gemm(3,4,2)"
  std::string task_name(const Task& task) const;
};

// Cholesky factorisation, A = L L^T, in place of the lower tiles of A. `panel`: on two levels, see two_level.hpp; it
// divides the tile; 0: on one.
Application cholesky(const TileGrid& grid, std::uint64_t panel = 0);
// What makes a graph: LU without pivoting or with incremental pivoting, or QR, in place of all tiles, or a product,
// C = A B.
Application application_of(graphs::DenseGraph graph);

}  // namespace vicinal::linalg
