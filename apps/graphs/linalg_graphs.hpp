// The graphs of dense linear algebra by tiles, as data: the same tasks in the same order as an application
// would submit them. They need no BLAS: nothing is computed.
//
// The kernels carry operations and no times: a machine file says what they take. All data lie in RAM at
// the start, but those that a task overwrites first. Tiles are square, tile x tile elements. What is out of
// range is refused with UsageError, see limits.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "linalg/tile_grid.hpp"

namespace vicinal::graphs {

struct Tiles {
  std::uint64_t tiles = 0;  // in a row of the matrix
  std::uint64_t tile = 0;   // elements
  linalg::Precision precision = linalg::Precision::f32;
};

// Right-looking Cholesky factorisation of the lower tiles A{m}_{n}, n <= m, operations b^3 times 1/3, 1, 1,
// 2; for each k, for m > n > k:
//   potrf(k)      RW A_kk                     priority 2N - 2k
//   trsm(m,k)     R A_kk, RW A_mk             2N - 2k - m
//   syrk(n,k)     R A_nk, RW A_nn             2N - 2k - n
//   gemm(m,n,k)   R A_mk, R A_nk, RW A_mn     2N - 2k - m - n
// After the trsms the order is by columns: syrk(n,k), then gemm(.,n,k). Order and priorities are those of
// StarPU's example, with which simulated runs are compared: the priorities are not bottom levels, which
// graph::set_bottom_level_priorities or linalg::BottomLevels give.
graph::Graph cholesky(const Tiles& tiles);

// The same tasks as linalg::cholesky has them submitted: in the order of cholesky_order.hpp, with bottom
// levels as priorities, on tiles that are registered, and filled, column by column.
graph::Graph cholesky_as_run(const Tiles& tiles);

// As `cholesky`, on two levels: in place of each potrf(k) the factorisation of A_kk by m x m tiles of `panel` elements,
// m = tile / panel, in the order of cholesky_order.hpp and with the priority of potrf(k). They work on the lower ones of
// the parts of A_kk, A{k}_{k}.{i}_{j}, on cores alone. Throws UsageError if the panel does not divide the tile.
// Source: section 5.1 of the paper that linalg/two_level.hpp names.
graph::Graph cholesky_two_level(const Tiles& tiles, std::uint64_t panel);

// Which part of which matrix a datum is, in elements.
struct MatrixBlock {
  char matrix = 'A';
  std::uint64_t first_row = 0;
  std::uint64_t first_column = 0;
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
};

// A graph whose kernels can be given code: apps/linalg/application.hpp.
struct DenseGraph {
  graph::Graph tasks;
  std::vector<MatrixBlock> blocks;  // one per datum of `tasks`
  Tiles tiles;

  std::uint64_t order() const { return tiles.tiles * tiles.tile; }  // of the result
};

// Right-looking LU factorisation without pivoting of all tiles A{i}_{j}; operations b^3 times 2/3, 1, 2;
// for each k, for i, j > k: getrf(k), trsm(k,j) of the row, trsm(i,k) of the column, gemm(i,j,k) by rows.
// Priorities are the bottom levels, in units of b^3/3 operations (getrf 2, trsm 3, gemm 6). With
// m = N - 1 the last step, l = min(i,j) and h = max(i,j):
//   getrf(k)      11 (m - k) + 2              getrf, trsm and gemm of each step follow each other
//   trsm(h,k)     11 (m - k) - 2 (h - k - 1)  for row and column alike
//   gemm(i,j,k)   6 (l - k) + (i = j ? getrf(l) : trsm(h,l))
DenseGraph dense_lu(const Tiles& tiles);
inline graph::Graph lu(const Tiles& tiles) {
  return dense_lu(tiles).tasks;
}

// Tile LU factorisation with incremental pivoting: right-looking, of all tiles A{i}_{j}. Beside them there are, without
// content at the start, of what exchanges rows and eliminates in step k: tiles L{k}_{k}, (tile x tile), L{i}_{k} of
// (panel x tile) elements below them, and vectors P{i}_{k} of `tile` pivots, each in the room of an element. Operations
// b^3 times 2/3, 1, 1, 2, those of LU; panels take panel / b^3 of them more in tstrf and ssssm. For each k, for i, j > k:
//   getrf(k)      W L_kk, W P_kk, RW A_kk
//   gessm(k,j)    R L_kk, R P_kk, RW A_kj                       for all j
//   tstrf(i,k)    RW A_kk, W L_ik, W P_ik, RW A_ik              then, for all j,
//   ssssm(i,j,k)  R A_ik, R L_ik, R P_ik, RW A_kj, RW A_ij
// N getrf, N (N - 1) / 2 gessm and as many tstrf, (N - 1) N (2 N - 1) / 6 ssssm. gessm reads a copy of L_kk, so that tstrf
// need not wait for it. Priorities are bottom levels. `panel` 0: 32, or the tile if that is smaller.
// Source: section 5.1 of the paper that two_level.hpp names, which takes it from PLASMA.
DenseGraph dense_lu_incremental(const Tiles& tiles, std::uint64_t panel = 0);
inline graph::Graph lu_incremental(const Tiles& tiles, std::uint64_t panel = 0) {
  return dense_lu_incremental(tiles, panel).tasks;
}

// How the tiles of a column are reduced to one triangle.
enum class PanelTree : std::uint8_t {
  flat,   // the triangle of the diagonal takes in the tiles below it, one after the other
  binary  // each tile becomes a triangle, and triangles become one in pairs
};
// "flat", "binary"; of another name throws UsageError that names the option --panel-tree.
PanelTree panel_tree_of(std::string_view name);
std::string_view to_string(PanelTree tree);
// Of a graph that dense_qr has made; none: of another.
std::optional<PanelTree> panel_tree(const graph::Graph& graph);

// Tile QR factorisation by Householder reflectors, right-looking, in place of all tiles A{i}_{j}: R on and above the
// diagonal. Beside them there are, without content at the start, (panel x tile) blocks T{i}_{k}, and copies V{i}_{k} of
// reflectors, so that what overwrites the triangle above them need not wait for those who read them. Operations b^3
// times 4/3, 2, 2, 4, in all 4/3 of the cube of the order. For each k, for i, j > k:
//   geqrt(k,k)     W V_kk, W T_kk, RW A_kk
//   ormqr(k,j,k)   R V_kk, R T_kk, RW A_kj                     for all j
//   tsqrt(i,k)     RW A_kk, W T_ik, RW A_ik                    then, for all j,
//   tsmqr(i,j,k)   R A_ik, R T_ik, RW A_kj, RW A_ij
// N geqrt, N (N - 1) / 2 ormqr and as many tsqrt, (N - 1) N (2 N - 1) / 6 tsmqr. Of a binary tree geqrt and ormqr are done
// for each row i >= k, then for distances d = 1, 2, 4, ... and rows p = k, k + 2 d, ..., i = p + d, with blocks S{i}_{k}
// like T and b^3 times 2/3 and 2 operations,
//   ttqrt(i,k)     RW A_pk, W S_ik, RW A_ik
//   ttmqr(i,j,k)   R A_ik, R S_ik, RW A_pj, RW A_ij
// which is more tasks of fewer operations, in all as many, and log2(N - k) of them one after the other instead of N - k.
// Priorities are bottom levels. `panel`: columns inside a tile that are eliminated at once; 0: 32, or the tile if that is
// smaller. Source: of qr_kernels.hpp. `columns` of tiles, of a matrix that is wider or narrower than high; 0: of a square.
DenseGraph dense_qr(const Tiles& tiles, PanelTree tree = PanelTree::flat, std::uint64_t panel = 0,
                    std::uint64_t columns = 0);
inline graph::Graph qr(const Tiles& tiles, PanelTree tree = PanelTree::flat,
                       std::uint64_t panel = 0, std::uint64_t columns = 0) {
  return dense_qr(tiles, tree, panel, columns).tasks;
}

// C = A B where A is one column of N tiles A{i} of (tile x inner) elements, B one row of N of (inner x
// tile): N^2 independent tasks "gemm2d", for each x for each y: R A{y}, R B{x}, W C{x}_{y}, of
// 2 tile^2 inner operations. `inner` 0: 4 tiles.
DenseGraph dense_gemm2d(const Tiles& tiles, std::uint64_t inner = 0);
inline graph::Graph gemm2d(const Tiles& tiles, std::uint64_t inner = 0) {
  return dense_gemm2d(tiles, inner).tasks;
}

// C += A B by tiles, N x N of C, K of the inner dimension: for each i, j, k: R A{i}_{k}, R B{k}_{j},
// RW C{i}_{j}, "gemm" of 2 tile^3 operations. `inner` is in elements, a multiple of the tile; 0: N tiles.
DenseGraph dense_gemm3d(const Tiles& tiles, std::uint64_t inner = 0);
inline graph::Graph gemm3d(const Tiles& tiles, std::uint64_t inner = 0) {
  return dense_gemm3d(tiles, inner).tasks;
}

// "lu", "lu-incpiv", "qr", "gemm2d" or "gemm3d".
DenseGraph dense_graph(std::string_view name, const Tiles& tiles, std::uint64_t inner = 0,
                       std::uint64_t panel = 0, PanelTree tree = PanelTree::flat);

}  // namespace vicinal::graphs
