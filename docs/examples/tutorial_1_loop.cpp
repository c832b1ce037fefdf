// Tutorial, step 1: a matrix product, tile by tile, in a loop.
//
//   tutorial_1_loop [ORDER]      prints the order and the seconds that the loop took

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <vicinal/typed_data.hpp>

using vicinal::Tile;

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
  const auto at = [&](std::vector<double>& matrix, std::uint64_t row, std::uint64_t column) {
    return Tile<double>(&matrix[row * tile + column * tile * order], tile, tile, order);
  };

  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t j = 0; j < tiles; ++j) {
    for (std::uint64_t i = 0; i < tiles; ++i) {
      for (std::uint64_t k = 0; k < tiles; ++k) multiply(at(a, i, k), at(b, k, j), at(c, i, j));
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;

  std::printf("%llu,%.4f\n", static_cast<unsigned long long>(order), seconds.count());
  const double expected = 2.0 * static_cast<double>(order);
  return std::ranges::all_of(c, [&](double x) { return x == expected; }) ? 0 : 1;
}
