// The inverse of a matrix in tiles, in its place, by the steps of Gauss and Jordan. No rows are exchanged: the matrix must
// not need it. Here it is I + u v^T, whose inverse is known; the exit status is 1 if an element is wrong.
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vicinal/tiled_matrix.hpp>

using namespace vicinal;
namespace {
constexpr std::uint64_t kTiles = 6, kTile = 40;  // a side
// Of I + scale u v^T, in the tile at this place.
double element(double scale, TilePlace at, std::uint64_t i, std::uint64_t j) {
  const std::uint64_t row = at.row * kTile + i, column = at.column * kTile + j;
  const double u = 1 / static_cast<double>(row + 1), v = static_cast<double>(column % 3 + 1);
  return scale * u * v + (row == column ? 1 : 0);
}

template <typename Value>
void set(Tile<double> c, Value value) {
  for (std::uint64_t j = 0; j < c.columns(); ++j)
    for (std::uint64_t i = 0; i < c.rows(); ++i) c(i, j) = value(i, j);
}
double dot(Tile<const double> a, std::uint64_t i, Tile<const double> b, std::uint64_t j) {
  double sum = 0;
  for (std::uint64_t k = 0; k < a.columns(); ++k) sum += a(i, k) * b(k, j);
  return sum;
}
void fill(Tile<double> a, TilePlace at) {
  set(a, [&](auto i, auto j) { return element(1, at, i, j); });
}
void invert(Tile<double> a) {
  for (std::uint64_t k = 0; k < a.rows(); ++k) {
    const double pivot = std::exchange(a(k, k), 1);
    for (std::uint64_t j = 0; j < a.columns(); ++j) a(k, j) /= pivot;
    for (std::uint64_t i = 0; i < a.rows(); ++i) {
      const double factor = i == k ? 0 : std::exchange(a(i, k), 0);
      for (std::uint64_t j = 0; j < a.columns(); ++j) a(i, j) -= factor * a(k, j);
    }
  }
}
void update(Tile<const double> a, Tile<const double> b, Tile<double> c) {
  set(c, [&](auto i, auto j) { return c(i, j) - dot(a, i, b, j); });
}
// c = p c in the row of the pivot, c = -c p in its column; `room` keeps what c was.
void replace(bool in_row, Tile<const double> p, Tile<double> c, std::span<double> room) {
  const Tile<double> old(room.data(), c.rows(), c.columns());
  set(old, c);
  set(c, [&](auto i, auto j) { return in_row ? dot(p, i, old, j) : -dot(old, i, p, j); });
}
}  // namespace
int main() {
  const auto room = scratch<double>(kTile * kTile);
  const auto work = flops(2.0 * kTile * kTile * kTile);
  Runtime runtime;
  const TiledMatrix<double> A(runtime, {kTiles * kTile, kTiles * kTile, kTile}, "A");
  for (const TilePlace at : A) runtime.task("fill", fill, out(A(at)), at);
  for (std::uint64_t k = 0; k < kTiles; ++k) {
    runtime.task("invert", invert, inout(A(k, k)), work, priority(1));
    for (std::uint64_t j = 0; j < kTiles; ++j)
      if (j != k) runtime.task("replace", replace, true, in(A(k, k)), inout(A(k, j)), room, work);
    for (const TilePlace at : A)
      if (at.row != k && at.column != k)
        runtime.task("update", update, in(A(at.row, k)), in(A(k, at.column)), inout(A(at)), work);
    for (std::uint64_t i = 0; i < kTiles; ++i)
      if (i != k) runtime.task("replace", replace, false, in(A(k, k)), inout(A(i, k)), room, work);
  }
  runtime.wait();
  if (runtime.simulated()) return 0;
  double sum = 1;  // (I + u v^T)^-1 = I - u v^T / (1 + v^T u)
  for (std::uint64_t i = 0; i < kTiles * kTile; ++i) sum += element(1, {}, i, i) - 1;
  for (const TilePlace at : A) {
    const auto inverse = runtime.read(A(at));
    for (std::uint64_t n = 0; n < kTile * kTile; ++n) {
      const std::uint64_t i = n % kTile, j = n / kTile;
      if (!(std::abs(inverse(i, j) - element(-1 / sum, at, i, j)) < 1e-12)) return 1;
    }
  }
  return 0;
}
