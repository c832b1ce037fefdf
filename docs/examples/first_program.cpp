// The sum of a matrix of 32 MiB in 8 MiB of memory, on all cores: what does not fit waits on the disk.

#include <algorithm>
#include <cstdint>
#include <cstdio>
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
  Runtime runtime({.memory = 8_MiB, .disk = "."});
  // 4 x 4 tiles of 2 MiB.
  TiledMatrix<double> a(runtime, {.rows = 2048, .columns = 2048, .tile_rows = 512}, "A");
  for (TilePlace at : a) runtime.task("fill", fill, out(a(at)), double(at.row + 1));

  std::vector<Result<double>> sums;
  for (TilePlace at : a) sums.push_back(runtime.task("sum", sum, in(a(at))));

  double total = 0;
  for (const Result<double>& each : sums) total += each.get();

  const double expected = 512.0 * 2048 * (1 + 2 + 3 + 4);
  const Statistics statistics = runtime.statistics();
  const double peak = static_cast<double>(statistics.nodes[kRam.value].peak.value) / (1 << 20);
  std::printf("the sum is %.0f and must be %.0f\n", total, expected);
  std::printf("memory held at most 8 of 32 MiB: %s\n", peak <= 8 ? "yes" : "no");
  return total == expected ? 0 : 1;
}
