// A sparse matrix in compressed rows, in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace vicinal::sparse {

struct Entry {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  double value = 0;
};

// Square. The entries of row i have the numbers from starts[i] to starts[i + 1], columns in rising order.
struct SparseMatrix {
  std::vector<std::uint64_t> starts{0};
  std::vector<std::uint32_t> columns;
  std::vector<double> values;

  std::uint64_t rows() const { return starts.size() - 1; }
  // visit(column, value) in rising order of the columns.
  template <typename Visit>
  void visit_row(std::uint64_t row, const Visit& visit) const {
    for (std::uint64_t e = starts[row]; e < starts[row + 1]; ++e) {
      visit(std::uint64_t{columns[e]}, values[e]);
    }
  }
};

// Entries at the same place are added. Rows and columns are below `rows`.
SparseMatrix from_entries(std::uint64_t rows, std::span<const Entry> entries);

// Throws UsageError that begins with `origin` and names the first place where the matrix differs from its transpose.
void require_symmetric(const SparseMatrix& matrix, std::string_view origin);

}  // namespace vicinal::sparse
