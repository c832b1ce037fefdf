// What Vicinal is for, in ten lines: a matrix four times as large as its limit, on cores and an accelerator.

#include <algorithm>
#include <cstdint>
#include <vector>
#include <vicinal/tiled_matrix.hpp>

using namespace vicinal;

namespace {

void fill(Tile<double> tile, double value) {
  for (std::uint64_t j = 0; j < tile.columns(); ++j) std::ranges::fill(tile.column(j), value);
}

double sum(Tile<const double> tile) {
  double total = 0;
  for (std::uint64_t j = 0; j < tile.columns(); ++j) {
    for (double x : tile.column(j)) total += x;
  }
  return total;
}

}  // namespace

int main() {
  Runtime runtime({.memory = 8_MiB, .disk = ".", .accelerators = 1});
  TiledMatrix<double> a(runtime, {.rows = 2048, .columns = 2048, .tile_rows = 512}, "A");  // 32 MiB
  for (TilePlace at : a) runtime.task("fill", fill, out(a(at)), double(at.row + 1));

  std::vector<Result<double>> sums;
  for (TilePlace at : a) sums.push_back(runtime.task("sum", sum, in(a(at))));

  double total = 0;
  for (const Result<double>& each : sums) total += each.get();
  return total == 512.0 * 2048 * (1 + 2 + 3 + 4) ? 0 : 1;
}
