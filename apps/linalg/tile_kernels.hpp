// The four operations of the tile Cholesky factorisation on column-major blocks; sequential.
// prepare_openblas() comes first.
#pragma once

#include <cstdint>
#include <string>

#include "linalg/block.hpp"

namespace vicinal::linalg {

// Who multiplies.
enum class Products : std::uint8_t {
  own,       // tile_gemm.hpp
  openblas,  // on every processor
};

// `own` where the processor has what they take: they are faster for tiles of all sizes there.
Products fastest_products();

// For reports: "own AVX-512, OpenBLAS 0.3.21 SkylakeX", or OpenBLAS alone.
std::string kernels_description();

// C (m x n) <- C - A B^T, A (m x k), B (n x k)
template <typename T>
void gemm_transposed(const Block<T>& a, const Block<T>& b, const Block<T>& c,
                     Products by = fastest_products());

// C (n x n, lower) <- C - A A^T, A (n x k)
template <typename T>
void syrk_lower(const Block<T>& a, const Block<T>& c, Products by = fastest_products());

// B (m x n) <- B L^-T, L (n x n, lower)
template <typename T>
void trsm_right_lower_transposed(const Block<T>& l, const Block<T>& b,
                                 Products by = fastest_products());

// A (n x n, lower) <- L with L L^T = A. Gives 0, or the order, from 1, of the first leading minor that
// is not positive.
template <typename T>
int potrf_lower(const Block<T>& a, Products by = fastest_products());

}  // namespace vicinal::linalg
