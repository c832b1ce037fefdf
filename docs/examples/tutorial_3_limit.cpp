// Tutorial, step 3: the same tasks in a quarter of the memory that the matrices take.
//
//   tutorial_3_limit [ORDER]      prints the order, the seconds, and the bytes that were loaded from the disk

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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
  const Bytes matrices{3 * order * order * sizeof(double)};
  const Bytes limit{matrices.value / 4};

  Options options = Options::from_environment();
  options.memory = limit;
  options.disk = ".";
  Runtime runtime(options);
  const MatrixShape shape{.rows = order, .columns = order, .tile_rows = order / tiles};
  const TiledMatrix<double> a(runtime, shape, "A");
  const TiledMatrix<double> b(runtime, shape, "B");
  const TiledMatrix<double> c(runtime, shape, "C");
  for (const TilePlace at : c) {
    runtime.task("fill", fill, out(a(at)), 1.0);
    runtime.task("fill", fill, out(b(at)), 2.0);
    runtime.task("fill", fill, out(c(at)), 0.0);
  }

  const auto begin = std::chrono::steady_clock::now();
  for (const TilePlace at : c) {
    for (std::uint64_t k = 0; k < tiles; ++k) {
      runtime.task("multiply", multiply, in(a(at.row, k)), in(b(k, at.column)), inout(c(at)),
                   priority(static_cast<int>(k)));
    }
  }
  runtime.wait();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;

  const NodeStatistics ram = runtime.statistics().nodes[kRam.value];
  std::printf("%llu,%.4f,%llu\n", static_cast<unsigned long long>(order), seconds.count(),
              static_cast<unsigned long long>(ram.bytes_in.value));
  if (ram.peak > limit) return 1;
  for (const TilePlace at : c) {
    const auto result = runtime.read(c(at));
    if (result(0, 0) != 2.0 * static_cast<double>(order)) return 1;
  }
  return 0;
}
