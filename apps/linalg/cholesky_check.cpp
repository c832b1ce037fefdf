#include "linalg/cholesky_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "linalg/product_check.hpp"
#include "vicinal/codelet.hpp"

namespace vicinal::linalg {

namespace {

// --- y = A x, A symmetric, tile by tile ----------------------------------------------------------
struct TileRange {
  std::uint64_t first_row;
  std::uint64_t first_column;
  std::uint64_t rows;
  std::uint64_t columns;
  bool diagonal() const { return first_row == first_column; }
};

struct SymmetricVectors {
  const double* x_column;  // x_j
  double* y_row;           // y_i, then the sum of squares of the elements of A met in tile row i
  const double* x_row;     // x_i
  double* y_column;        // y_j; the same as y_row on the diagonal
};

// One column of tile (i, j): y_i += a x_j and, for the mirror image, y_j += a^T x_i.
template <typename T>
void add_column(const TileRange& range, std::uint64_t column, const T* a,
                const SymmetricVectors& v) {
  // On the diagonal only what lies below element (column, column) has a mirror image.
  const std::uint64_t from = range.diagonal() ? column + 1 : 0;
  const std::uint64_t n = range.rows - from;
  double& squares = v.y_row[range.rows];
  if (range.diagonal()) {
    const auto pivot = static_cast<double>(a[column]);
    v.y_row[column] += pivot * v.x_column[column];
    squares += pivot * pivot;
  }
  add_scaled(v.y_row + from, v.x_column[column], a + from, n);
  v.y_column[column] += dot(a + from, v.x_row + from, n);
  for (std::uint64_t i = from; i < range.rows; ++i) {
    squares += 2 * static_cast<double>(a[i]) * static_cast<double>(a[i]);
  }
}

// Operands from `first` on: R x_j, RW y_i and, off the diagonal, R x_i, RW y_j.
SymmetricVectors symmetric_vectors(const KernelContext& context, std::size_t first) {
  const double* x_column = context.data<double>(first);
  double* y_row = context.data<double>(first + 1);
  if (context.operands() == first + 2) return {x_column, y_row, x_column, y_row};
  return {x_column, y_row, context.data<double>(first + 2), context.data<double>(first + 3)};
}

struct GeneratedTile {
  Generator generator;
  TileRange range;
};

template <typename T>
void multiply_generated_kernel(KernelContext& context) {
  const auto tile = context.parameter<GeneratedTile>();
  const TileRange& range = tile.range;
  const SymmetricVectors vectors = symmetric_vectors(context, 0);
  std::vector<T> column(range.rows);
  for (std::uint64_t j = 0; j < range.columns; ++j) {
    for (std::uint64_t i = 0; i < range.rows; ++i) {
      column[i] =
          static_cast<T>(tile.generator.element(range.first_row + i, range.first_column + j));
    }
    add_column(range, j, column.data(), vectors);
  }
}

// Operand 0 is the tile.
template <typename T>
void multiply_stored_kernel(KernelContext& context) {
  const auto range = context.parameter<TileRange>();
  const SymmetricVectors vectors = symmetric_vectors(context, 1);
  for (std::uint64_t j = 0; j < range.columns; ++j) {
    add_column(range, j, context.data<T>(0) + j * context.leading_dimension(0), vectors);
  }
}

// --- w = L^T x -------------------------------------------------------------------------------
// Operands: R L_ij, R x_i, RW w_j. Parameter: whether i = j.
template <typename T>
void multiply_transposed_kernel(KernelContext& context) {
  const bool diagonal = context.parameter<bool>();
  const Layout& layout = context.operand(0).layout;
  for (std::uint64_t j = 0; j < layout.columns; ++j) {
    const T* column = context.data<T>(0) + j * layout.leading_dimension();
    const std::uint64_t from = diagonal ? j : 0;
    context.data<double>(2)[j] +=
        dot(column + from, context.data<double>(1) + from, layout.rows() - from);
  }
}

struct CheckCodelets {
  Codelet multiply_generated;
  Codelet multiply_stored;
  Codelet multiply_transposed;
};

template <typename T>
const CheckCodelets& check_codelets() {
  static const CheckCodelets codelets{
      {.name = "check A x", .cpu = multiply_generated_kernel<T>},
      {.name = "check A x", .cpu = multiply_stored_kernel<T>},
      {.name = "check L^T x", .cpu = multiply_transposed_kernel<T>},
  };
  return codelets;
}

const CheckCodelets& check_codelets(Precision precision) {
  return precision == Precision::f32 ? check_codelets<float>() : check_codelets<double>();
}

// --- submission ----------------------------------------------------------------------------------
void submit_symmetric_product(Runtime& runtime, const TileGrid& grid, const Content& source,
                              const Segments& x, const Segments& y) {
  const CheckCodelets& codelets = check_codelets(grid.precision);
  std::vector<Operand> operands;
  for (std::uint64_t j = 0; j < grid.tiles(); ++j) {
    for (std::uint64_t i = j; i < grid.tiles(); ++i) {
      const TileRange range{grid.first(i), grid.first(j), grid.extent(i), grid.extent(j)};
      const auto* generator = std::get_if<Generator>(&source);
      operands.clear();
      if (generator == nullptr) {
        operands.push_back(R(std::get<const TiledMatrix*>(source)->tile(i, j)));
      }
      operands.insert(operands.end(), {R(x[j]), RW(y[i])});
      if (i != j) operands.insert(operands.end(), {R(x[i]), RW(y[j])});
      TaskSpec spec{
          .codelet = &codelets.multiply_stored, .operands = operands, .parameters = range};
      if (generator != nullptr) {
        spec.codelet = &codelets.multiply_generated;
        spec.parameters = GeneratedTile{*generator, range};
      }
      runtime.submit(spec);
    }
  }
}

// Column by column; the second pass over a column goes backwards, so that with little memory it
// begins with the tiles that the first one read last.
void submit_factor_product(Runtime& runtime, const TiledMatrix& factor, const Segments& x,
                           const Segments& w, const Segments& z) {
  const CheckCodelets& codelets = check_codelets(factor.grid().precision);
  const std::uint64_t n = factor.grid().tiles();
  for (std::uint64_t j = 0; j < n; ++j) {
    for (std::uint64_t i = j; i < n; ++i) {
      runtime.submit({.codelet = &codelets.multiply_transposed,
                      .operands = {R(factor.tile(i, j)), R(x[i]), RW(w[j])},
                      .parameters = i == j});
    }
    for (std::uint64_t i = n; i-- > j;) {
      submit_multiply(runtime, factor.grid().precision, factor.tile(i, j),
                      i == j ? Part::lower : Part::whole, w[j], z[i]);
    }
  }
}

}  // namespace

double cholesky_tolerance(const TileGrid& grid) {
  const double u = roundoff(grid.precision);
  return 4 * std::sqrt(static_cast<double>(std::min(grid.tile, grid.size) + grid.tiles())) * u;
}

Residual check_cholesky(Runtime& runtime, const TiledMatrix& factor, const Content& source) {
  const TileGrid& grid = factor.grid();
  Segments x(runtime, grid);
  Segments y(runtime, grid);
  Segments w(runtime, grid);
  Segments z(runtime, grid);
  set_random_signs(x);  // no task uses it yet
  submit_symmetric_product(runtime, grid, source, x, y);
  submit_factor_product(runtime, factor, x, w, z);
  runtime.wait();
  y.release();
  z.release();
  return {relative_difference(y, z), cholesky_tolerance(grid)};
}

}  // namespace vicinal::linalg
