// The kernels of the tile LU factorisation with incremental pivoting on column-major blocks; sequential. A tile row k is
// factored alone (getrf), then against each tile below it in turn (tstrf); whichever of two rows has the larger element
// is the pivot. So a pivot is the largest of its column in two tiles, not in the whole column.
// Source: Buttari, Langou, Kurzak, Dongarra, A class of parallel tiled linear algebra algorithms for multicore
// architectures, Parallel Computing 35 (2009), section 4.3; Quintana-Orti, van de Geijn, Updating an LU factorization
// with pivoting, ACM Trans. Math. Softw. 35 (2008).
//
// Tiles have b x b elements. tstrf and ssssm go in blocks of s columns, the rows of `l`, the last perhaps fewer: what is
// eliminated inside a block and what follows it is a product.
//
// Nothing fails: where all candidates are 0, U has a 0 on its diagonal. It stays there only if the matrix is singular:
// a tile below may bring a pivot.
#pragma once

#include <cstdint>

#include "linalg/block.hpp"

namespace vicinal::linalg {

// A (n x n) <- U on and above the diagonal, L without its diagonal of ones below, L U = P A, where P exchanges row j and
// row pivots[j] >= j for j = 0, 1, ... 2/3 b^3 operations.
template <typename T>
void getrf_pivoting(const Block<T>& a, std::int32_t* pivots);

// C <- L^-1 P C, of getrf. b^3 operations.
template <typename T>
void gessm(const Block<T>& l, const std::int32_t* pivots, const Block<T>& c);

// U (upper triangle) and A <- the factors of U above A, U' and L2; L (s x b) <- for each block of columns its L1, lower
// with ones on the diagonal, s x s. What is below the diagonal of U is neither read nor written.
// pivots[j]: 0, or 1 more than the row of A that row j of U is exchanged with. b^3 + s b^2 operations, of which b^3
// are counted.
template <typename T>
void tstrf(const Block<T>& u, const Block<T>& a, const Block<T>& l, std::int32_t* pivots);

// C above D <- what tstrf has done to U above A, whose factors these are. 2 b^3 + s b^2 operations, of which 2 b^3 are
// counted.
template <typename T>
void ssssm(const Block<T>& a, const Block<T>& l, const std::int32_t* pivots, const Block<T>& c,
           const Block<T>& d);

// The inverse of gessm for a vector, and that of ssssm.
template <typename T>
void undo_gessm(const Block<T>& l, const std::int32_t* pivots, double* c);
template <typename T>
void undo_ssssm(const Block<T>& a, const Block<T>& l, const std::int32_t* pivots, double* c,
                double* d);

}  // namespace vicinal::linalg
