#include "linalg/check_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "linalg/kernel_operands.hpp"
#include "linalg/pivoting_kernels.hpp"

namespace vicinal::linalg {

namespace {

// Eight partial sums: the additions of one need not wait for those of another.
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

// Rows [first, second) of column j that are multiplied as they are. Of a mirrored tile on the diagonal what lies
// below it, which has a mirror image.
std::pair<std::uint64_t, std::uint64_t> rows_of(const TileForm& form, std::uint64_t j,
                                                std::uint64_t rows) {
  switch (form.part) {
    case Part::lower:
      return {std::min(j, rows), rows};
    case Part::unit_lower:
      return {std::min(j + 1, rows), rows};
    case Part::upper:
      return {0, std::min(j + 1, rows)};
    case Part::mirrored:
      return {form.diagonal ? std::min(j + 1, rows) : 0, rows};
    case Part::whole:
      break;
  }
  return {0, rows};
}

// One tile, column by column.
class TileProduct {
 public:
  // The segments are the operands from `first` on.
  TileProduct(const KernelContext& context, std::size_t first, const TileForm& form)
      : form_(form), x_(context.data<double>(first)), y_(context.data<double>(first + 1)) {
    const std::uint64_t of_x = context.count<double>(first) - 1;
    const std::uint64_t of_y = context.count<double>(first + 1) - 1;
    rows_ = form.transposed ? of_x : of_y;
    columns_ = form.transposed ? of_y : of_x;
    if (form.part == Part::mirrored) {
      const std::size_t mirror = form.diagonal ? first : first + 2;
      x_mirror_ = context.data<double>(mirror);
      y_mirror_ = context.data<double>(mirror + 1);
    }
    sums_.resize(rows_);
  }

  std::uint64_t rows() const { return rows_; }

  // column(j) gives the elements of a column.
  template <typename Column>
  void multiply(Column&& column) {
    for (std::uint64_t j = 0; j < columns_; ++j) {
      const auto* a = column(j);
      form_.transposed ? add_transposed(j, a, x_, y_) : add(j, a);
      if (form_.part == Part::mirrored) add_transposed(j, a, x_mirror_, y_mirror_);
    }
    if (form_.transposed) return;
    for (std::uint64_t i = 0; i < rows_; ++i) y_[i] += sums_[i];
    y_[rows_] += squares_;
  }

 private:
  template <typename T>
  void add(std::uint64_t j, const T* a) {
    const auto [first, last] = rows_of(form_, j, rows_);
    if (form_.part == Part::unit_lower) sums_[j] += x_[j];
    if (form_.part == Part::mirrored && form_.diagonal) {
      const auto pivot = static_cast<double>(a[j]);
      sums_[j] += pivot * x_[j];
      squares_ += pivot * pivot;
    }
    double squares = 0;
    for (std::uint64_t i = first; i < last; ++i) {
      const auto element = static_cast<double>(a[i]);
      sums_[i] += x_[j] * element;
      squares += element * element;
    }
    squares_ += form_.part == Part::mirrored ? 2 * squares : squares;
  }

  template <typename T>
  void add_transposed(std::uint64_t j, const T* a, const double* x, double* y) const {
    const auto [first, last] = rows_of(form_, j, rows_);
    y[j] += dot(a + first, x + first, last - first);
  }

  const TileForm form_;
  const double* x_;
  double* y_;
  const double* x_mirror_ = nullptr;
  double* y_mirror_ = nullptr;
  std::uint64_t rows_ = 0;
  std::uint64_t columns_ = 0;
  std::vector<double> sums_;
  double squares_ = 0;
};

template <typename T>
void stored_kernel(KernelContext& context) {
  const T* tile = context.data<T>(0);
  const std::uint64_t ld = context.leading_dimension(0);
  TileProduct(context, 1, context.parameter<TileForm>()).multiply([&](std::uint64_t j) {
    return tile + j * ld;
  });
}

template <typename T>
void generated_kernel(KernelContext& context) {
  const auto [part, form] = context.parameter<GeneratedTile>();
  TileProduct product(context, 0, form);
  std::vector<T> values(product.rows());
  product.multiply([&values, &part = part](std::uint64_t j) {
    for (std::uint64_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<T>(part.generator.element(part.first_row + i, part.first_column + j));
    }
    return values.data();
  });
}

template <typename T>
void undone_kernel(KernelContext& context) {
  const Block<T> factor = operand_block<T>(context, 0);
  const auto* pivots = context.data<std::int32_t>(2);
  if (context.operands() == 4) return undo_gessm(factor, pivots, context.data<double>(3));
  undo_ssssm(factor, operand_block<T>(context, 1), pivots, context.data<double>(3),
             context.data<double>(4));
}

template <typename T>
void reflected_kernel(KernelContext& context) {
  const auto [of, by] = context.parameter<TileReflection>();
  auto* const below = of == Reflectors::of_tile ? nullptr : context.data<double>(3);
  reflect(of, by, operand_block<T>(context, 0), operand_block<T>(context, 1),
          context.data<double>(2), below);
}

template <typename T>
const CheckCodelets& codelets() {
  static const CheckCodelets all{
      .stored = {.name = "check A x", .cpu = stored_kernel<T>},
      .generated = {.name = "check A x", .cpu = generated_kernel<T>},
      .reflected = {.name = "check Q z", .cpu = reflected_kernel<T>},
      .undone = {.name = "check T z", .cpu = undone_kernel<T>},
  };
  return all;
}

}  // namespace

const CheckCodelets& check_codelets(Precision precision) {
  return precision == Precision::f32 ? codelets<float>() : codelets<double>();
}

}  // namespace vicinal::linalg
