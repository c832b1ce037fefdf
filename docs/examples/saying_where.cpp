// A product of matrices of which the application says where it is computed: C is dealt to two accelerators.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>
#include <vicinal/block_cyclic.hpp>
#include <vicinal/runtime.hpp>
#include <vicinal/tiled_matrix.hpp>

namespace {

using namespace vicinal;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("does not hold: ") + what);
}

// What it computes makes no difference here.
void gemm(Tile<double> /*c*/) {}

// How many tasks ran on each accelerator.
std::vector<std::uint64_t> run() {
  Options options;
  options.workers = 1;
  options.accelerators = 2;
  options.accelerator_memory = 1_MiB;
  options.policy = "directed";
  Runtime runtime(options);
  const std::vector<NodeId> devices{NodeId{1}, NodeId{2}};
  const TiledMatrix<double> c(runtime, {.rows = 32, .columns = 32, .tile_rows = 8}, "C");
  const BlockCyclic mapping{.devices = 2};
  for (const TilePlace at : c) {
    runtime.advise(c(at).handle(), devices[mapping.device(at.row, at.column)]);
    runtime.task("gemm", gemm, out(c(at)));
  }
  // Once more, elsewhere: what the task says counts before what its data are advised.
  runtime.task("gemm", gemm, inout(c(0, 0)), on(devices[1]));
  runtime.wait();
  const Statistics statistics = runtime.statistics();
  return {statistics.workers[1].tasks, statistics.workers[2].tasks};
}

}  // namespace

int main() {
  // Two accelerators are a grid of 2 x 1: rows 0 and 2 of C on the first, 1 and 3 on the second.
  const std::vector<std::uint64_t> tasks = run();
  require(tasks[0] == 8, "half of the tiles on the first accelerator");
  require(tasks[1] == 9, "the others, and the task that says so, on the second");
  return 0;
}
