// The order in which the tile Cholesky factorisation is submitted for real, here so that it can be
// simulated without the code of its kernels.
#pragma once

#include <cstdint>

namespace vicinal::graphs {

// For n x n tiles: potrf(k), trsm(.,k), then syrk(i,k) and gemm(i,.,k) row by row.
template <typename Visitor>
void visit_cholesky_by_rows(std::uint32_t n, Visitor& visitor) {
  for (std::uint32_t k = 0; k < n; ++k) {
    visitor.potrf(k);
    for (std::uint32_t i = k + 1; i < n; ++i) visitor.trsm(i, k);
    for (std::uint32_t i = k + 1; i < n; ++i) {
      visitor.syrk(i, k);
      for (std::uint32_t j = k + 1; j < i; ++j) visitor.gemm(i, j, k);
    }
  }
}

}  // namespace vicinal::graphs
