// The kernels of the tile QR factorisation on column-major blocks; sequential. Reflectors are kept as compact WY: of each
// block of s columns, H_1 H_2 ... H_s = I - V T V^T with T upper triangular, and Q is the product of the blocks.
// Source: Schreiber, Van Loan, A storage-efficient WY representation for products of Householder transformations, SIAM J.
// Sci. Stat. Comput. 10 (1989); Buttari, Langou, Kurzak, Dongarra, A class of parallel tiled linear algebra algorithms for
// multicore architectures, Parallel Computing 35 (2009), section 4.2; of two triangles: Hadri, Ltaief, Agullo, Dongarra,
// Tile QR factorization with parallel panel processing for multicore architectures, IPDPS 2010.
//
// Tiles have b x b elements; `t` is (s x b) and holds the T of the blocks by by by, the last perhaps smaller, zeroes
// below their diagonals. Operations on 2 s b^2 elements or so, inside a block, come beside those that are counted.
// Nothing fails: of a matrix of lower rank R has a 0 on its diagonal.
#pragma once

#include <cstdint>

#include "linalg/block.hpp"

namespace vicinal::linalg {

// What the reflectors mix.
enum class Reflectors : std::uint8_t {
  of_tile,          // the rows of a tile; V is what is below its diagonal, with ones on it
  of_square,        // a triangle above a whole tile, which V overwrites
  of_two_triangles  // a triangle above the upper triangle of a tile, which V overwrites
};

// A (m x n) <- R on and above the diagonal, V below it. 4/3 b^3 operations.
template <typename T>
void geqrt(const Block<T>& a, const Block<T>& t);

// C (m x l) <- Q^T C, of geqrt. 2 b^3 operations.
template <typename T>
void ormqr(const Block<T>& v, const Block<T>& t, const Block<T>& c);

// R (n x n, upper triangle) and A (m x n) below it <- R', V. `of`: not a tile. What is below the diagonal of R, and of A
// for two triangles, is neither read nor written. 2 b^3 operations, of two triangles 2/3 b^3.
template <typename T>
void tpqrt(Reflectors of, const Block<T>& r, const Block<T>& a, const Block<T>& t);

// C (n x l) above D (m x l) <- Q^T (C above D), of tpqrt. 4 b^3 operations, of two triangles 2 b^3.
template <typename T>
void tpmqrt(Reflectors of, const Block<T>& v, const Block<T>& t, const Block<T>& c,
            const Block<T>& d);

// Which way a vector goes.
enum class Factor : std::uint8_t { q, q_transposed };

// A vector c, for reflectors of a tile, or c above d <- Q or Q^T times it.
template <typename T>
void reflect(Reflectors of, Factor by, const Block<T>& v, const Block<T>& t, double* c, double* d);

}  // namespace vicinal::linalg
