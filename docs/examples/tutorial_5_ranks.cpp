// Tutorial, step 5: the product of step 2 on several nodes.
//
//   mpirun -n 4 tutorial_5_ranks [ORDER]    prints the order, the ranks, the seconds, and what rank 0 has sent

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
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

int run(std::uint64_t tiles, std::uint64_t order) {
  const Options options = Options::from_environment();
  const Ranks ranks = Ranks::launched(options);
  Runtime runtime(options, ranks);

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

  if (ranks.rank() == RankId{0}) {
    std::printf("order %llu, %u ranks, %.4f s, %llu bytes sent\n",
                static_cast<unsigned long long>(order), ranks.count(), seconds.count(),
                static_cast<unsigned long long>(runtime.statistics().sent.value));
  }
  const auto corner = runtime.read(c(0, 0));  // each rank gets a copy
  return corner(0, 0) == 2.0 * static_cast<double>(order) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t tiles = 8;  // a side
  const std::uint64_t order = argc > 1 ? std::strtoull(argv[1], nullptr, 10) / tiles * tiles : 256;
  try {
    return run(tiles, order);
  } catch (const std::exception& error) {  // the same on every rank
    std::fprintf(stderr, "tutorial_5_ranks: %s\n", error.what());
    return 1;
  }
}
