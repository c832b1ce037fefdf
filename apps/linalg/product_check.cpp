#include "linalg/product_check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "vicinal/codelet.hpp"

namespace vicinal::linalg {

// --- vectors -------------------------------------------------------------------------------------
Segments::Segments(Runtime& runtime, const TileGrid& grid) : runtime_(runtime), grid_(grid) {
  values_.resize(grid.size + grid.tiles());
  handles_.reserve(grid.tiles());
  for (std::uint64_t i = 0; i < grid.tiles(); ++i) {
    handles_.push_back(runtime.register_buffer(
        segment(i), Bytes{(grid.extent(i) + 1) * sizeof(double)}, "check vector"));
  }
}

Segments::~Segments() {
  try {
    release();
  } catch (...) {  // NOLINT(bugprone-empty-catch): the error has been, or will be, thrown by wait
  }
}

void Segments::release() {
  while (!handles_.empty()) {
    const Handle handle = handles_.back();
    handles_.pop_back();
    runtime_.unregister(handle, WriteBack::yes);
  }
}

void set_random_signs(Segments& x) {
  std::uint64_t element = 0;
  for (std::uint64_t i = 0; i < x.count(); ++i) {
    for (std::uint64_t r = 0; r < x.extent(i); ++r, ++element) {
      constexpr std::uint64_t kKey = 0x5851f42d4c957f2dULL;  // any: not that of the matrix
      const std::uint64_t h = scatter(kKey + (element + 1) * 0x9e3779b97f4a7c15ULL);
      x.segment(i)[r] = (h >> 63) != 0 ? 1 : -1;
    }
  }
}

double relative_difference(Segments& y, Segments& z) {
  double difference = 0;
  double norm = 0;
  for (std::uint64_t i = 0; i < y.count(); ++i) {
    for (std::uint64_t r = 0; r < y.extent(i); ++r) {
      const double d = y.segment(i)[r] - z.segment(i)[r];
      difference += d * d;
    }
    norm += y.segment(i)[y.extent(i)];
  }
  return std::sqrt(difference / norm);
}

template <typename T>
double dot(const T* a, const double* x, std::uint64_t n) {
  std::array<double, 8> sums{};
  std::uint64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::uint64_t lane = 0; lane < 8; ++lane) {
      sums[lane] += static_cast<double>(a[i + lane]) * x[i + lane];
    }
  }
  for (; i < n; ++i) sums[0] += static_cast<double>(a[i]) * x[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}
template double dot(const float*, const double*, std::uint64_t);
template double dot(const double*, const double*, std::uint64_t);

// --- tiles times segments ------------------------------------------------------------------------
namespace {

// Rows [first, second) of column j that are there.
std::pair<std::uint64_t, std::uint64_t> rows_of(Part part, std::uint64_t j, std::uint64_t rows) {
  switch (part) {
    case Part::lower:
      return {std::min(j, rows), rows};
    case Part::unit_lower:
      return {std::min(j + 1, rows), rows};
    case Part::upper:
      return {0, std::min(j + 1, rows)};
    case Part::whole:
      break;
  }
  return {0, rows};
}

// Operands `x` (R) and x + 1 (RW) are the segments; column(j) gives the elements of a column.
template <typename Column>
void multiply(KernelContext& context, std::size_t x_operand, Part part, Column&& column) {
  const double* x = context.data<double>(x_operand);
  double* y = context.data<double>(x_operand + 1);
  const std::uint64_t columns = context.count<double>(x_operand) - 1;
  const std::uint64_t rows = context.count<double>(x_operand + 1) - 1;
  std::vector<double> sums(rows);
  double squares = 0;
  for (std::uint64_t j = 0; j < columns; ++j) {
    const auto* a = column(j);
    const auto [first, last] = rows_of(part, j, rows);
    if (part == Part::unit_lower) sums[j] += x[j];
    add_scaled(sums.data() + first, x[j], a + first, last - first);
    for (std::uint64_t i = first; i < last; ++i) {
      squares += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    }
  }
  for (std::uint64_t i = 0; i < rows; ++i) y[i] += sums[i];
  y[rows] += squares;
}

// Operand 0 is the tile.
template <typename T>
void stored_kernel(KernelContext& context) {
  const T* tile = context.data<T>(0);
  const std::uint64_t ld = context.leading_dimension(0);
  multiply(context, 1, context.parameter<Part>(), [&](std::uint64_t j) { return tile + j * ld; });
}

template <typename T>
void generated_kernel(KernelContext& context) {
  const auto part = context.parameter<GeneratedPart>();
  std::vector<T> values(context.count<double>(1) - 1);
  multiply(context, 0, Part::whole, [&](std::uint64_t j) {
    for (std::uint64_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<T>(part.generator.element(part.first_row + i, part.first_column + j));
    }
    return values.data();
  });
}

struct MultiplyCodelets {
  Codelet stored;
  Codelet generated;
};

template <typename T>
const MultiplyCodelets& multiply_codelets() {
  static const MultiplyCodelets codelets{
      .stored = {.name = "check A x", .cpu = stored_kernel<T>},
      .generated = {.name = "check A x", .cpu = generated_kernel<T>},
  };
  return codelets;
}

const MultiplyCodelets& multiply_codelets(Precision precision) {
  return precision == Precision::f32 ? multiply_codelets<float>() : multiply_codelets<double>();
}

}  // namespace

void submit_multiply(Runtime& runtime, Precision precision, Handle tile, Part part, Handle x,
                     Handle y) {
  runtime.submit({.codelet = &multiply_codelets(precision).stored,
                  .operands = {R(tile), R(x), RW(y)},
                  .parameters = part});
}

void submit_multiply(Runtime& runtime, Precision precision, const GeneratedPart& tile, Handle x,
                     Handle y) {
  runtime.submit({.codelet = &multiply_codelets(precision).generated,
                  .operands = {R(x), RW(y)},
                  .parameters = tile});
}

}  // namespace vicinal::linalg
