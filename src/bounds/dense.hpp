// Lower bounds on the bytes that dense kernels load into a limited memory, whatever the order of
// their operations and whatever the tiles. They hold for the classical operations (three nested
// loops, no Strassen) with all matrices outside at the start.
//
// With S elements of memory, each is the larger of
//   the compulsory loads: what is read, once; and
//   the leading term minus lower-order terms that make it hold at every size, derived in dense.cpp.
// Tiles of b x b elements change nothing: N = b Nt and S = b^2 St give the same term in tiles.
//
// kernel            leading term, in elements   source
// C += A B          2 m n k / sqrt(S)           Smith, Lowery, Langou, van de Geijn, arXiv 1702.02017
// C += A A^T, N x M N^2 M / (sqrt(2) sqrt(S))   Beaumont, Eyraud-Dubois, Verite, Langou, arXiv 2202.10217
// Cholesky          N^3 / (3 sqrt(2) sqrt(S))   the same
// LU                2 N^3 / (3 sqrt(S))         Olivry et al., arXiv 1911.06664
// QR                2 N^3 / (3 sqrt(S))         as LU, see qr_loads
#pragma once

#include <cstdint>

#include "bounds/bounds.hpp"
#include "vicinal/access.hpp"
#include "vicinal/units.hpp"

namespace vicinal::bounds {

// `count` memories of `each`, say one per accelerator. A load counts wherever it comes from, a peer
// included. The bound uses the size of one: data in one memory do not help a task in another.
struct LimitedMemory {
  Bytes each;
  std::uint32_t count = 1;
};

// C is m x n, A is m x k, B is k x n. `c` is RW for C += A B, and W for C = A B, which reads no C.
struct GemmShape {
  std::uint64_t m = 0;
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  AccessMode c = AccessMode::RW;
};
BytesBound gemm_loads(const GemmShape& shape, Bytes element, LimitedMemory memory);

// C is the lower triangle of n x n, A is n x k.
struct SyrkShape {
  std::uint64_t n = 0;
  std::uint64_t k = 0;
  AccessMode c = AccessMode::RW;
};
BytesBound syrk_loads(const SyrkShape& shape, Bytes element, LimitedMemory memory);

// Of the lower triangle of an n x n matrix, in place.
BytesBound cholesky_loads(std::uint64_t n, Bytes element, LimitedMemory memory);

// Of an n x n matrix, in place, without pivoting.
BytesBound lu_loads(std::uint64_t n, Bytes element, LimitedMemory memory);

// Of an n x n matrix, in place, by Householder reflectors. The value is the compulsory loads: the tasks on tiles decide
// what more there must be (tiles.hpp). The leading term is LU's: reflector k meets the elements (i, j), i, j > k, of which LU
// updates as many. One column after the other, as LAPACK's geqr2 has them, an "hourglass" of reductions and broadcasts demands
// more (Eyraud-Dubois, Iooss, Langou, Rastello, arXiv 2404.16443), which no factorisation by tiles does: its reductions
// end at a tile.
BytesBound qr_loads(std::uint64_t n, Bytes element, LimitedMemory memory);

// n x n tasks; task (i, j) reads row datum i and column datum j, all 2n of `datum` bytes. (A product
// of which each task computes one tile of C, from a block row of A and a block column of B.)
BytesBound grid_loads(std::uint64_t n, Bytes datum, LimitedMemory memory);

}  // namespace vicinal::bounds
