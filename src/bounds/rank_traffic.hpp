// What ranks send each other in dense kernels whose tiles are distributed: exact, not a bound. A task runs on the owner
// of the tile that it writes, and a version of a tile goes once from its owner to each other rank that reads it.
//
// Which versions are read elsewhere, and by the owners of which tiles:
//   Cholesky, lower tiles, i > k   A(k,k) after potrf(k): A(i,k), i > k
//                                  A(i,k) after trsm(i,k): A(i,j), k < j <= i, and A(j,i), j > i
//   LU without pivoting            A(k,k) after getrf(k): A(i,k), A(k,i), i > k
//                                  A(i,k), i > k, after trsm: A(i,j), j > k
//                                  A(k,j), j > k, after trsm: A(i,j), i > k
//   C = A B                        A(i,k), as it is at the start: C(i,j), all j
//                                  B(k,j), as it is at the start: C(i,j), all i
// Versions between are the owner's alone. With N tiles per side and P ranks, in tiles, leading terms:
//   Cholesky  2D block-cyclic on a square grid  (sqrt(P) - 1) N^2
//             symmetric block-cyclic            (r - 2) N^2 / 2 extended, (r - 1) N^2 / 2 basic; sqrt(P / 2) N^2 if r is large
//             generalized 2D block-cyclic       (a + (b^2 (a - c) + (b - 1)^2 c) / P - 2) N^2 / 2, see distribution.hpp
//   LU, C=AB  2D block-cyclic, p x q            (p + q - 2) N^2 / 2 and, of as many inner tiles, (p + q - 2) N^2
#pragma once

#include <cstdint>
#include <vector>

#include "vicinal/distribution.hpp"
#include "vicinal/units.hpp"

namespace vicinal::bounds {

// A dimension of a matrix, cut in tiles; the last one may be shorter.
struct TiledLength {
  std::uint64_t elements = 0;
  std::uint64_t tile = 1;  // elements; at least 1
  std::uint64_t tiles() const { return elements / tile + (elements % tile != 0 ? 1 : 0); }
  // Elements of tile i, which is one of them.
  std::uint64_t of(std::uint64_t i) const { return i < elements / tile ? tile : elements % tile; }
};

struct Sent {
  std::uint64_t tiles = 0;  // one per receiver
  Bytes bytes;
  friend bool operator==(const Sent&, const Sent&) = default;
};

struct RankTraffic {
  std::vector<Sent> sent;      // by rank
  std::vector<Sent> received;  // by rank
  // Of all ranks.
  Sent total() const;
};

// Each takes time of the tiles times the ranks that read one. Throws UsageError, as Distribution::owner, for tiles of
// other ranks than those `ranks`.
RankTraffic cholesky_traffic(TiledLength n, Bytes element, const Distribution& owners,
                             std::uint32_t ranks);
RankTraffic lu_traffic(TiledLength n, Bytes element, const Distribution& owners,
                       std::uint32_t ranks);

// C is rows x columns, A rows x inner, B inner x columns.
struct ProductLengths {
  TiledLength rows;
  TiledLength columns;
  TiledLength inner;
};
struct ProductOwners {
  Distribution a;
  Distribution b;
  Distribution c;
};
RankTraffic product_traffic(const ProductLengths& lengths, Bytes element,
                            const ProductOwners& owners, std::uint32_t ranks);

}  // namespace vicinal::bounds
