// What Vicinal is for, in ten lines: a matrix four times as large as its limit, on cores and an accelerator.

#include <algorithm>
#include <numeric>
#include <vector>
#include <vicinal/tiled_matrix.hpp>

using namespace vicinal;

int main() {
  Runtime runtime({.memory = 8_MiB, .disk = ".", .accelerators = 1});
  TiledMatrix<double> a(runtime, {.rows = 2048, .columns = 2048, .tile_rows = 512}, "A");  // 32 MiB
  for (TilePlace at : a) {
    runtime.task(
        "fill",
        [](Tile<double> t, double value) {
          for (std::uint64_t j = 0; j < t.columns(); ++j) std::ranges::fill(t.column(j), value);
        },
        out(a(at)), double(at.row + 1));
  }
  std::vector<Result<double>> sums;
  for (TilePlace at : a) {
    sums.push_back(runtime.task(
        "sum",
        [](Tile<const double> t) {
          double sum = 0;
          for (std::uint64_t j = 0; j < t.columns(); ++j)
            for (double x : t.column(j)) sum += x;
          return sum;
        },
        in(a(at))));
  }
  double sum = 0;
  for (const Result<double>& each : sums) sum += each.get();
  return sum == 512.0 * 2048 * (1 + 2 + 3 + 4) ? 0 : 1;
}
