// Tutorial, steps 2 and 4: each product of tiles is a task.
//
//   tutorial_2_tasks [ORDER]      prints the order and the seconds that the tasks took
//
// VICINAL_MACHINE=v100,gpus=4 tutorial_2_tasks 16384 simulates it on that machine: the seconds are simulated.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <vicinal/tiled_matrix.hpp>

using namespace vicinal;

namespace {

// C += A B
void multiply(Tile<const double> a, Tile<const double> b, Tile<double> c) {
  for (std::uint64_t j = 0; j < c.columns(); ++j) {
    for (std::uint64_t k = 0; k < a.columns(); ++k) {
      const double factor = b(k, j);
      for (std::uint64_t i = 0; i < c.rows(); ++i) c(i, j) += a(i, k) * factor;
    }
  }
}

void fill(Tile<double> tile, double value) {
  for (std::uint64_t j = 0; j < tile.columns(); ++j) std::ranges::fill(tile.column(j), value);
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t tiles = 8;  // a side
  const std::uint64_t order = argc > 1 ? std::strtoull(argv[1], nullptr, 10) / tiles * tiles : 256;
  const std::uint64_t tile = order / tiles;
  const double operations = 2.0 * static_cast<double>(tile * tile * tile);  // of one task
  // Nobody has written them: the pages of memory come with the first task that does.
  const auto a = std::make_unique_for_overwrite<double[]>(order * order);
  const auto b = std::make_unique_for_overwrite<double[]>(order * order);
  const auto c = std::make_unique_for_overwrite<double[]>(order * order);
  Time time;
  bool simulated = false;
  {
    Runtime runtime;
    const auto in_tiles = [&](double* matrix, const char* name) {
      return TiledMatrix<double>(runtime, Tile<double>(matrix, order, order), tile, tile, name);
    };
    const auto A = in_tiles(a.get(), "A");
    const auto B = in_tiles(b.get(), "B");
    const auto C = in_tiles(c.get(), "C");
    for (const TilePlace at : C) {
      runtime.task("fill", fill, out(A(at)), 1.0);
      runtime.task("fill", fill, out(B(at)), 2.0);
      runtime.task("fill", fill, out(C(at)), 0.0);
    }
    runtime.wait();

    const Time begin = runtime.statistics().now;
    for (const TilePlace at : C) {
      for (std::uint64_t k = 0; k < tiles; ++k) {
        runtime.task("multiply", multiply, in(A(at.row, k)), in(B(k, at.column)), inout(C(at)),
                     priority(static_cast<int>(k)), flops(operations));
      }
    }
    runtime.wait();
    time = runtime.statistics().now - begin;
    simulated = runtime.simulated();
  }  // C is in `c` when the runtime has ended

  std::printf("%llu,%.4f\n", static_cast<unsigned long long>(order), time.seconds());
  if (simulated) return 0;  // no kernel was called
  const double expected = 2.0 * static_cast<double>(order);
  const std::span<const double> result(c.get(), order * order);
  return std::ranges::all_of(result, [&](double x) { return x == expected; }) ? 0 : 1;
}
