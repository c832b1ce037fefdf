// What checks by products with a random vector share: vectors in registered segments, tiles times segments
// as tasks under the run's own memory limit, and the comparison of two results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "linalg/tile_grid.hpp"
#include "linalg/tiled_matrix.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

struct Residual {
  double value = 0;      // of a check; its header says of what
  double tolerance = 0;  // how large that of a right result may be
  // Also false for NaN.
  bool passed() const { return value <= tolerance; }
};

// A vector in one registered segment per tile row. Segment i has extent(i) elements and one more,
// for a sum that goes with it.
class Segments {
 public:
  // Cut as one dimension of the grid; all zeroes.
  Segments(Runtime& runtime, const TileGrid& grid);
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;
  // Before the values go: also when a task has failed.
  ~Segments();
  // Waits for the tasks that use the vector, after which segment() may be read.
  void release();
  Handle operator[](std::uint64_t i) const { return handles_[i]; }
  // The segment that begins with this element of the vector.
  Handle from(std::uint64_t element) const { return handles_[element / grid_.tile]; }
  double* segment(std::uint64_t i) { return values_.data() + grid_.first(i) + i; }
  std::uint64_t extent(std::uint64_t i) const { return grid_.extent(i); }
  std::uint64_t count() const { return grid_.tiles(); }

 private:
  Runtime& runtime_;
  TileGrid grid_;
  std::vector<double> values_;
  std::vector<Handle> handles_;
};

// x <- 1 or -1 each, always the same ones. No task may use it yet.
void set_random_signs(Segments& x);

// ||y - z||_2 over the square root of the sums that go with y. For x of signs, y = A x and z what A x
// should be it is the residual: ||x||_2 = sqrt(N), and the sums are those of the squares of A.
double relative_difference(Segments& y, Segments& z);

// Which elements of a tile there are; unit_lower: those below the diagonal, and ones on it.
enum class Part : std::uint8_t { whole, lower, upper, unit_lower };

// Submits y += A x for one tile A and segments x and y; the squares of the elements of A are added to the
// sum that goes with y. The sums over the tile are made apart, so an element of y suffers one rounding
// per element of the tile's row and one per tile.
void submit_multiply(Runtime& runtime, Precision precision, Handle tile, Part part, Handle x,
                     Handle y);
// The same with a tile that is generated anew.
void submit_multiply(Runtime& runtime, Precision precision, const GeneratedPart& tile, Handle x,
                     Handle y);

// Eight partial sums: the additions of one need not wait for those of another.
template <typename T>
double dot(const T* a, const double* x, std::uint64_t n);

// y += alpha a
template <typename T>
void add_scaled(double* y, double alpha, const T* a, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) y[i] += alpha * static_cast<double>(a[i]);
}

}  // namespace vicinal::linalg
