// Checks a factorisation, A = L L^T, without assembling a matrix: A x against L (L^T x) for a
// random x, tile by tile, in tasks under the run's own memory limit. Beside the tiles it takes four
// vectors of doubles.
#pragma once

#include <cstdint>

#include "linalg/product_check.hpp"
#include "linalg/tiled_matrix.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

// The residual is ||A x - L (L^T x)||_2 / (||A||_F ||x||_2 / sqrt(N)). How large that of a right factorisation may be: 4 sqrt(b + n) u, for n x n tiles of b x b
// elements and a unit roundoff u = 2^-24 (float) or 2^-53 (double).
//
// Derivation. The computed L satisfies L L^T = A + D, where D_ij gathers the rounding errors made
// while the partial results s_ijk of element (i,j) went from a_ij down to 0: D_ij = sum over k of
// s_ijk d_ijk with |d_ijk| <= u. The number of roundings per element is not N but K = b + n: a tile
// kernel sums at most b products (the factorisation inside a tile, b too), and at most n such sums
// are subtracted one after the other (blocked summation: Higham, Accuracy and Stability of
// Numerical Algorithms, 2nd ed., section 3.1).
// The s_ijk of one k are the elements of A^(k), the Schur complement after k steps, or, inside a
// tile's sum, of the difference of two of them. With 0 <= A^(k) <= A in the order of symmetric
// matrices, tr(A^(k) A^(k)) <= tr(A A): ||A^(k)||_F <= ||A||_F, and the same holds for differences.
// Take the d_ijk as independent with mean 0 (the model of Higham and Mary, SIAM J. Sci. Comput.
// 41(5), 2019; that of the worst case, K u ||L||_F^2, would hide a wrong tile in float). Then
// E ||D||_F^2 <= u^2 K ||A||_F^2. As the signs of x are random and independent of D,
// E ||D x||_2^2 = ||D||_F^2 ||x||_2^2 / N. So the residual is about sqrt(K) u or less.
// The check itself sums in double, in K steps too, three times (A x, L^T x, L w): for a
// factorisation in double each adds as much again, in all sqrt(4) = 2. Another 2 is left for
// rounding errors that are not quite independent.
//
// Measured, in units of sqrt(K) u: up to 1.1 for N = 1 and 2; 0.5 or less for N from 7 to 64; 0.03
// to 0.1 (float) and 0.13 to 0.25 (double) for N from 500 to 8000 and tiles from 100 to 2000.
//
// A wrong tile. A change by e of every element of one off-diagonal tile of L changes L (L^T x) in b
// rows by e times the sum of b elements of L^T x. For the matrix of generator.hpp these are about
// sqrt(3) each and ||A||_F is 3.05 sqrt(N): the residual becomes e b sqrt(3) / (3.05 sqrt(N)) times
// the size of a standard normal number. For e = 1e-3, N = 2000, b = 250: 3.2e-3, where the
// tolerance is 3.8e-6 in float and 7.2e-15 in double.
double cholesky_tolerance(const TileGrid& grid);

// `factor` holds L in its lower tiles (what lies above the diagonal is not read); `source` is the A
// that was factorised. Submits tasks and waits for them; may throw what they throw.
Residual check_cholesky(Runtime& runtime, const TiledMatrix& factor, const Content& source);

// Tasks that check_cholesky submits: one per tile for A x, one for L^T x, one for L w.
constexpr std::uint64_t check_tasks(const TileGrid& grid) {
  return 3 * grid.lower_tiles();
}

}  // namespace vicinal::linalg
