// Products and triangular solves of tiles with AVX-512, for tiles that a general BLAS is slow on.
//
// A task finds its tiles in memory rather than in the cache, and OpenBLAS first copies both factors
// into its own order, then computes. Here the copy is a by-product of the first use, and while 64
// columns of the factors are multiplied the next 64 are on their way into the cache. On the machine
// of the CHANGELOG, double, one thread, tiles drawn at random from 200 MB, GFlop/s of OpenBLAS
// 0.3.21 and of this:
//
//            tile 256    512        1024
//   gemm     55   72     68   78    73   76
//   syrk     48   67     64   75    73   76
//   trsm     38   69     53   75    63   74      (OpenBLAS: recursive, with its gemm)
//   potrf    26   52     35   66    39   71      (this: recursive, LAPACK up to 32)
//
// gemm is that of Cholesky, C - A B^T; where B is not transposed it is packed by columns, and the rate is the same
// within 2 % (cores of an AMD EPYC, double and float, tiles of 512). tile_kernels.hpp chooses between the two.
#pragma once

#include <cstdint>

#include "linalg/block.hpp"

namespace vicinal::linalg {

// Whether this processor can run the functions below; whoever calls them has asked.
bool has_tile_gemm();

// What becomes of C when it meets a product P.
enum class Update : std::uint8_t {
  subtract,  // C - P
  add,       // C + P
  assign,    // P; C is not read and may be NaN
};

// C (m x n) with P = A B, A (m x k), B (k x n), k > 0
template <typename T>
void tile_gemm(Update update, const Block<T>& a, const Block<T>& b, const Block<T>& c);

// C (m x n) <- C - A B^T, A (m x k), B (n x k)
template <typename T>
void tile_gemm_transposed(const Block<T>& a, const Block<T>& b, const Block<T>& c);

// C (n x n) <- C - A A^T, A (n x k); only the lower triangle of C is read and written.
template <typename T>
void tile_syrk(const Block<T>& a, const Block<T>& c);

// B (m x n) <- B L^-T, L (n x n) lower, or B U^-1, U (n x n) upper, of which only that triangle is read;
// n <= kMostSolved. Both divide by the diagonal by multiplying with reciprocals.
inline constexpr int kMostSolved = 128;
template <typename T>
void tile_solve_lower(const Block<T>& l, const Block<T>& b);
template <typename T>
void tile_solve_upper(const Block<T>& u, const Block<T>& b);

}  // namespace vicinal::linalg
