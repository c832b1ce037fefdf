// The application says where tasks run by a function of the codelet: tile (i, j) of a matrix is dealt to accelerators
// by row and column, and the function finds the tile in the task's parameter.

#include <stdexcept>
#include <string>
#include <vicinal/block_cyclic.hpp>
#include <vicinal/placement.hpp>
#include <vicinal/runtime.hpp>
#include <vicinal/tiled_matrix.hpp>

namespace {

using namespace vicinal;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("does not hold: ") + what);
}

// What it computes makes no difference here.
const BlockCyclic mapping{.devices = 2};
const Codelet gemm{.name = "gemm",
                   .cpu = [](KernelContext&) {},
                   .place =
                       [](const Placement& p) {
                         const auto [row, column] = p.parameter<TilePlace>();
                         // Memory node 0 is RAM, the accelerators follow.
                         return NodeId{1 + mapping.device(row, column)};
                       }};

}  // namespace

int main() {
  Options options;
  options.workers = 1;
  options.accelerators = 2;
  options.accelerator_memory = 1_MiB;
  options.policy = "directed";
  Runtime runtime(options);
  const TiledMatrix<double> c(runtime, {.rows = 32, .columns = 32, .tile_rows = 8}, "C");
  for (const TilePlace at : c) {
    runtime.submit({.codelet = &gemm, .operands = {W(c(at).handle())}, .parameters = at});
  }
  runtime.wait();
  // Two accelerators are a grid of 2 x 1: rows 0 and 2 on the first, 1 and 3 on the second.
  const Statistics statistics = runtime.statistics();
  require(statistics.workers[1].tasks == 8, "half of the tasks on the first accelerator");
  require(statistics.workers[2].tasks == 8, "the others on the second");
  return 0;
}
