// The operations of the dense applications on column-major blocks; sequential. prepare_openblas() comes
// first. `by`: who multiplies; what is not a product is OpenBLAS's, or a loop, on blocks of a few columns.
#pragma once

#include <cstdint>
#include <string>

#include "linalg/block.hpp"
#include "linalg/tile_gemm.hpp"

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

// C (m x n) with P = A B, A (m x k), B (k x n), k > 0
template <typename T>
void gemm(Update update, const Block<T>& a, const Block<T>& b, const Block<T>& c,
          Products by = fastest_products());

// C (m x n) <- C - A B^T, A (m x k), B (n x k)
template <typename T>
void gemm_transposed(const Block<T>& a, const Block<T>& b, const Block<T>& c,
                     Products by = fastest_products());

// C (n x n, lower) <- C - A A^T, A (n x k)
template <typename T>
void syrk_lower(const Block<T>& a, const Block<T>& c, Products by = fastest_products());

// Of the factor of a triangular solve nothing is read but its triangle, and no diagonal of ones.

// B (m x n) <- B L^-T, L (n x n, lower)
template <typename T>
void trsm_right_lower_transposed(const Block<T>& l, const Block<T>& b,
                                 Products by = fastest_products());

// B (m x n) <- B U^-1, U (n x n, upper)
template <typename T>
void trsm_right_upper(const Block<T>& u, const Block<T>& b, Products by = fastest_products());

// B (m x n) <- L^-1 B, L (m x m, lower with a diagonal of ones)
template <typename T>
void trsm_left_lower_unit(const Block<T>& l, const Block<T>& b, Products by = fastest_products());

// A (n x n, lower) <- L with L L^T = A. Gives 0, or the order, from 1, of the first leading minor that
// is not positive.
template <typename T>
int potrf_lower(const Block<T>& a, Products by = fastest_products());

// A (n x n) <- U on and above the diagonal, L without its diagonal of ones below, L U = A. Gives 0, or the
// order, from 1, of the first leading minor that is singular: its last pivot is 0 or NaN.
template <typename T>
int getrf_without_pivoting(const Block<T>& a, Products by = fastest_products());

}  // namespace vicinal::linalg
