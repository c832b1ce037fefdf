// Checks LU factors and products without assembling a matrix: by a product with a vector x of random signs,
// in tasks under the run's own memory limit. Beside the blocks it takes four vectors of doubles.
#pragma once

#include <cstdint>

#include "linalg/dense_data.hpp"
#include "linalg/product_check.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::linalg {

// The residual of a right result is at most 4 g sqrt(K) u, with a unit roundoff u = 2^-24 (float) or 2^-53
// (double) and K roundings per element. The model is that of cholesky_check.hpp: roundings independent with
// mean 0, K u^2 of the square of what is rounded, signs of x independent of them.
//
// LU: ||A x - L (U x)||_2 / (||A||_F ||x||_2 / sqrt(N)). L U = A + D, D_ij gathering the roundings of the
// partial results that go from a_ij to u_ij or l_ij u_jj: K = b + n for n x n tiles of b x b elements, as
// for Cholesky. They are elements of Schur complements (or differences of two), which here may grow: for
// A = 3 I + E of generator.hpp, e = |E|_2 = 1.155, a Schur complement is A_22 - E_21 (3 I + E_11)^-1 E_12,
// so its norm is at most ||A||_F + e / (3 - e) ||E||_F <= g ||A||_F with g = 1.63.
//
// Products: ||C x - A (B x)||_2 / (||C||_F ||x||_2 / sqrt(N)). An element of C is a sum of products whose
// partial sums are no larger than it in the mean (the elements of A and B being independent): g = 1. Kernels
// sum over an inner block of p elements, and the q sums of an element follow each other: p + q roundings.
//
// The check sums in double over a tile and then over tiles: b + n roundings for A x, U x, L w and C x, p + q
// for A w. K is the larger of b + n and p + q. Of its three products each adds at most as much as a result in
// double has, in all sqrt(4) = 2; another 2 is for roundings that are not quite independent.
//
// Measured, in units of g sqrt(K) u, N from 8 to 4096, tiles from 1 to 1000: LU 0.03 to 0.19 (float) and 0.24 to
// 0.26 (double); products 0.1 to 0.35 and 0.29 to 0.74.
//
// A wrong tile. If every element of one tile changes by e, b rows of the product change by e times a sum of
// b random signs (times the size of w, 3, for L): in the norm e b. ||A||_F = 3.05 sqrt(N) for LU, ||C||_F =
// N / 3 for products: the residual becomes some e b / (3 sqrt(N)) or 3 e b / N. For e = 1e-3, N = 2000,
// b = 250 that is 1.9e-3 and 3.8e-4, where the tolerance is 6.2e-6 and at most 7.5e-6 in float.
double dense_tolerance(const graphs::DenseGraph& graph);

// Of the result that the tasks of the graph have left in the data. Submits tasks and waits for them; may throw
// what they throw.
Residual check_dense(Runtime& runtime, const DenseData& data);

// Tasks that check_dense submits.
std::uint64_t check_tasks(const graphs::DenseGraph& graph);

}  // namespace vicinal::linalg
