// Matrices in the exchange format of Matrix Market: Boisvert, Pozo, Remington, "The Matrix Market Exchange Formats: Initial
// Design", NISTIR 5935, 1996.
#pragma once

#include <string>
#include <string_view>

#include "sparse/sparse_matrix.hpp"

namespace vicinal::sparse {

// A symmetric matrix: a coordinate file, real, integer or pattern (whose entries are ones), general or symmetric; entries at
// the same place are added. Throws UsageError that begins with `origin` and names the line.
SparseMatrix parse_matrix_market(std::string_view text, std::string_view origin);
// Of a file. Throws UsageError also if it cannot be read.
SparseMatrix read_matrix_market(const std::string& path);

}  // namespace vicinal::sparse
