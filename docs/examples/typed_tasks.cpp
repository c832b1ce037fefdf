// Typed tasks: functions of the application whose parameters say what they read and write.

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>
#include <vicinal/runtime.hpp>
#include <vicinal/tiled_matrix.hpp>

namespace {

using namespace vicinal;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("does not hold: ") + what);
}

void adds_vectors() {
  std::vector<double> values(1000, 1.0);
  Runtime runtime;
  const auto x = runtime.data(values, "x");
  const auto y = runtime.data<double>(1000, "y");  // nobody has written it
  runtime.task(
      "fill", [](std::span<double> to) { std::ranges::fill(to, 2.0); }, out(y));
  runtime.task(
      "axpy",
      [](double a, std::span<const double> from, std::span<double> to) {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] += a * from[i];
      },
      3.0, in(x), inout(y), priority(1));
  require(runtime.read(y)[999] == 5, "y = 2 + 3 x");
}

void returns_results() {
  Runtime runtime;
  const auto x = runtime.data<int>(100, "x");
  runtime.task(
      "count", [](std::span<int> to) { std::iota(to.begin(), to.end(), 1); }, out(x));
  const auto sum = runtime.task(
      "sum", [](std::span<const int> from) { return std::accumulate(from.begin(), from.end(), 0); },
      in(x));
  const auto twice = runtime.task(
      "twice", [](std::span<const int> value) { return 2 * value[0]; }, in(sum.data()));
  require(twice.get() == 2 * 5050, "results are data for other tasks");
}

// C = A B in tiles, in a fourth of the memory that the three take.
void multiplies_more_than_fits() {
  Options options;
  options.memory = Bytes{64 * 64 * sizeof(double)} * 12;
  options.disk = ".";
  Runtime runtime(options);
  const MatrixShape shape{.rows = 256, .columns = 256, .tile_rows = 64};
  const TiledMatrix<double> a(runtime, shape, "A");
  const TiledMatrix<double> b(runtime, shape, "B");
  const TiledMatrix<double> c(runtime, shape, "C");

  const auto fill = [](Tile<double> tile, double value) {
    for (std::uint64_t j = 0; j < tile.columns(); ++j) std::ranges::fill(tile.column(j), value);
  };
  for (const TilePlace at : c) {
    runtime.task("fill", fill, out(a(at)), 1.0);
    runtime.task("fill", fill, out(b(at)), 2.0);
    runtime.task("fill", fill, out(c(at)), 0.0);
  }
  for (const TilePlace at : c) {
    for (std::uint64_t k = 0; k < a.tile_columns(); ++k) {
      runtime.task(
          "gemm",
          [](Tile<const double> left, Tile<const double> right, Tile<double> to) {
            for (std::uint64_t j = 0; j < to.columns(); ++j) {
              for (std::uint64_t l = 0; l < left.columns(); ++l) {
                for (std::uint64_t i = 0; i < to.rows(); ++i) to(i, j) += left(i, l) * right(l, j);
              }
            }
          },
          in(a(at.row, k)), in(b(k, at.column)), inout(c(at)));
    }
  }
  require(runtime.read(c(3, 2))(63, 63) == 2 * 256, "each element is a sum of 256 products");
}

}  // namespace

int main() {
  adds_vectors();
  returns_results();
  multiplies_more_than_fits();
  return 0;
}
