// Tutorial, step 2: each product of tiles is a task.
//
//   tutorial_2_tasks [ORDER]      prints the order and the seconds that the tasks took

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
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

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t tiles = 8;  // a side
  const std::uint64_t order = argc > 1 ? std::strtoull(argv[1], nullptr, 10) / tiles * tiles : 256;
  const std::uint64_t tile = order / tiles;
  std::vector<double> a(order * order, 1.0);
  std::vector<double> b(order * order, 2.0);
  std::vector<double> c(order * order, 0.0);
  std::chrono::duration<double> seconds{};
  {
    Runtime runtime;
    const auto in_tiles = [&](std::vector<double>& matrix, const char* name) {
      return TiledMatrix<double>(runtime, Tile<double>(matrix.data(), order, order, order), tile,
                                 tile, name);
    };
    const auto A = in_tiles(a, "A");
    const auto B = in_tiles(b, "B");
    const auto C = in_tiles(c, "C");

    const auto begin = std::chrono::steady_clock::now();
    for (const TilePlace at : C) {
      for (std::uint64_t k = 0; k < tiles; ++k) {
        runtime.task("multiply", multiply, in(A(at.row, k)), in(B(k, at.column)), inout(C(at)),
                     priority(static_cast<int>(k)));
      }
    }
    runtime.wait();
    seconds = std::chrono::steady_clock::now() - begin;
  }  // C is in `c` when the runtime has ended

  std::printf("%llu,%.4f\n", static_cast<unsigned long long>(order), seconds.count());
  const double expected = 2.0 * static_cast<double>(order);
  return std::ranges::all_of(c, [&](double x) { return x == expected; }) ? 0 : 1;
}
