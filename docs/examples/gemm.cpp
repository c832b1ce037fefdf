// C = A B in tiles, in a fourth of the memory that the three take.

#include <algorithm>
#include <cstdint>
#include <vicinal/runtime.hpp>
#include <vicinal/tiled_matrix.hpp>

using namespace vicinal;

namespace {

constexpr MatrixShape kShape{.rows = 256, .columns = 256, .tile_rows = 64};

void fill(Tile<double> tile, double value) {
  for (std::uint64_t j = 0; j < tile.columns(); ++j) std::ranges::fill(tile.column(j), value);
}

void gemm(Tile<const double> a, Tile<const double> b, Tile<double> c) {
  for (std::uint64_t j = 0; j < c.columns(); ++j)
    for (std::uint64_t l = 0; l < a.columns(); ++l)
      for (std::uint64_t i = 0; i < c.rows(); ++i) c(i, j) += a(i, l) * b(l, j);
}

}  // namespace

int main() {
  Runtime runtime({.memory = Bytes{64 * 64 * sizeof(double)} * 12, .disk = "."});
  const TiledMatrix<double> a(runtime, kShape, "A");
  const TiledMatrix<double> b(runtime, kShape, "B");
  const TiledMatrix<double> c(runtime, kShape, "C");
  for (const TilePlace at : c) {
    runtime.task("fill", fill, out(a(at)), 1.0);
    runtime.task("fill", fill, out(b(at)), 2.0);
    runtime.task("fill", fill, out(c(at)), 0.0);
  }
  for (const auto [i, j] : c)
    for (std::uint64_t k = 0; k < a.tile_columns(); ++k)
      runtime.task("gemm", gemm, in(a(i, k)), in(b(k, j)), inout(c(i, j)));
  return runtime.read(c(3, 2))(63, 63) == 2 * 256 ? 0 : 1;  // a sum of 256 products
}
