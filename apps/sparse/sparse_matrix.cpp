#include "sparse/sparse_matrix.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::sparse {

namespace {

double value_at(const SparseMatrix& matrix, std::uint64_t row, std::uint32_t column) {
  const auto first = matrix.columns.begin() + static_cast<std::ptrdiff_t>(matrix.starts[row]);
  const auto last = matrix.columns.begin() + static_cast<std::ptrdiff_t>(matrix.starts[row + 1]);
  const auto found = std::lower_bound(first, last, column);
  if (found == last || *found != column) return 0;
  return matrix.values[static_cast<std::size_t>(found - matrix.columns.begin())];
}

}  // namespace

SparseMatrix from_entries(std::uint64_t rows, std::span<const Entry> entries) {
  // By rows: where each one's begin.
  std::vector<std::uint64_t> ends(rows + 1);
  for (const Entry& entry : entries) ++ends[entry.row + 1];
  for (std::uint64_t row = 0; row < rows; ++row) ends[row + 1] += ends[row];
  std::vector<Entry> sorted(entries.size());
  for (const Entry& entry : entries) sorted[ends[entry.row]++] = entry;
  SparseMatrix matrix;
  matrix.starts.reserve(rows + 1);
  matrix.columns.reserve(entries.size());
  matrix.values.reserve(entries.size());
  auto first = sorted.begin();
  for (std::uint64_t row = 0; row < rows; ++row) {
    const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(ends[row]);
    std::stable_sort(first, last,
                     [](const Entry& a, const Entry& b) { return a.column < b.column; });
    for (; first != last; ++first) {
      if (matrix.columns.size() > matrix.starts.back() && matrix.columns.back() == first->column) {
        matrix.values.back() += first->value;
      } else {
        matrix.columns.push_back(first->column);
        matrix.values.push_back(first->value);
      }
    }
    matrix.starts.push_back(matrix.columns.size());
  }
  return matrix;
}

void require_symmetric(const SparseMatrix& matrix, std::string_view origin) {
  for (std::uint64_t row = 0; row < matrix.rows(); ++row) {
    matrix.visit_row(row, [&](std::uint64_t column, double value) {
      const double opposite = value_at(matrix, column, static_cast<std::uint32_t>(row));
      if (value == opposite) return;
      throw UsageError(fmt::format(
          "{}: the matrix is not symmetric: row {}, column {} is {}, and row {}, column {} is {}; "
          "conjugate gradients need a symmetric positive definite one",
          origin, row + 1, column + 1, value, column + 1, row + 1, opposite));
    });
  }
}

}  // namespace vicinal::sparse
