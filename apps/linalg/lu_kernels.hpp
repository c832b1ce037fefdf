// The operations of LU without pivoting and of the product by tiles, on column-major blocks; sequential,
// all by OpenBLAS. prepare_openblas() comes first.
#pragma once

#include "linalg/block.hpp"

namespace vicinal::linalg {

// C (m x n) <- beta C + alpha A B, A (m x k), B (k x n). With beta = 0, C is not read: it may be NaN.
template <typename T>
void gemm(T alpha, const Block<T>& a, const Block<T>& b, T beta, const Block<T>& c);

// B (m x n) <- L^-1 B, L (m x m) lower with a diagonal of ones, of which nothing else is read.
template <typename T>
void trsm_left_lower_unit(const Block<T>& l, const Block<T>& b);

// B (m x n) <- B U^-1, U (n x n) upper, of which nothing else is read.
template <typename T>
void trsm_right_upper(const Block<T>& u, const Block<T>& b);

// A (n x n) <- U on and above the diagonal, L without its diagonal of ones below, L U = A. Gives 0, or the
// order, from 1, of the first leading minor that is singular: its last pivot is 0 or NaN.
template <typename T>
int getrf_without_pivoting(const Block<T>& a);

}  // namespace vicinal::linalg
