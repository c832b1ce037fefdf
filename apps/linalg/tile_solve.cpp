#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "linalg/micro_tile.hpp"
#include "linalg/tile_gemm.hpp"

namespace vicinal::linalg {

#if defined(__x86_64__)

namespace {

static_assert(kMostSolved % kColumns == 0);

// L, or the transpose of U, eight rows at a time as the micro-tile reads them: element (j + q, p), j a multiple
// of 8 and p <= j + q, is number j (j + 8) / 2 + 8 p + q. On the diagonal are reciprocals.
template <typename T>
class PackedFactor {
 public:
  PackedFactor(const Block<T>& factor, bool is_lower) {
    T* to = elements_;
    for (int j = 0; j < factor.columns; j += kColumns) {
      const int rows = std::min(kColumns, factor.columns - j);
      is_lower ? pack_rows(factor.part(j, 0, rows, j + rows), to)
               : pack_columns(factor.part(0, j, j + rows, rows), to);
      to += kColumns * j;
      for (int q = 0; q < rows; ++q) to[q * kColumns + q] = 1 / to[q * kColumns + q];
      to += kColumns * kColumns;
    }
  }
  const T* elements() const { return elements_; }

 private:
  // 8 + 16 + ... + kMostSolved columns of 8; what pack_columns writes behind one block the next overwrites.
  alignas(kLine) T elements_[kMostSolved * (kMostSolved + kColumns) / 2];
};

// Columns j, ..., j + 7 of X, from what is before them in the sum: x_q = (b_q - sum_i<q x_i l_qi) /
// l_qq. `l`: the packed 8 x 8 block on the diagonal.
template <typename T, int kHeight>
VICINAL_AVX512_INLINE void solve_diagonal(MicroTile<T, kHeight>& tile, const T* l,
                                          const Block<T>& b, typename Vector<T>::Mask last, T* x) {
  using V = Vector<T>;
#pragma GCC unroll 8
  for (int q = 0; q < kColumns; ++q) {
    if (q >= b.columns) continue;
    T* const from = b.data + static_cast<std::ptrdiff_t>(q) * b.ld;
    Column<T, kHeight> column(from, last);
#pragma GCC unroll 3
    for (int r = 0; r < kHeight; ++r) {
      column.row[r] = V::minus(column.row[r], tile.sum[q][r]);
#pragma GCC unroll 8
      for (int i = 0; i < q; ++i) {
        column.row[r] =
            V::minus_product(column.row[r], tile.sum[i][r], V::broadcast(l[i * kColumns + q]));
      }
      column.row[r] = V::times(column.row[r], V::broadcast(l[q * kColumns + q]));
      tile.sum[q][r] = column.row[r];
    }
    column.store(from, last);
    column.store(x + q * kHeight * V::kLanes);
  }
}

// One panel of B. `x`: kHeight vectors for each column, packed as they become known.
template <typename T, int kHeight>
VICINAL_AVX512 void solve_panel(const T* l, const Block<T>& b, T* x, Lines& next) {
  using V = Vector<T>;
  const auto last = first_lanes<T>(b.rows - (kHeight - 1) * V::kLanes);
  for (int j = 0; j < b.columns; j += kColumns) {
    MicroTile<T, kHeight> tile;
    const T* a = x;
#pragma GCC unroll 4
    for (int p = 0; p < j; ++p) {
      tile.add_product(Column<T, kHeight>(a), l);
      a += kHeight * V::kLanes;
      l += kColumns;
    }
    for (int q = 0; q < kColumns && !next.empty(); ++q) {
      const char* const line = next.take(kHeight);
#pragma GCC unroll 3
      for (int r = 0; r < kHeight; ++r) fetch(line + r * kLine);
    }
    const int columns = std::min(kColumns, b.columns - j);
    solve_diagonal(tile, l, b.part(0, j, b.rows, columns), last, x + j * kHeight * V::kLanes);
    l += kColumns * kColumns;
  }
}

template <typename T>
void solve(const PackedFactor<T>& packed, const Block<T>& b) {
  constexpr int kLanes = Vector<T>::kLanes;
  alignas(kLine) T x[kVectors * kLanes * kMostSolved];
  const int vectors = vectors_of<T>(b.rows);
  for (int panel = 0; panel < vectors;) {
    const int height = panel_height(vectors - panel);
    const int row = panel * kLanes;
    const Block<T> rows = b.part(row, 0, std::min(height * kLanes, b.rows - row), b.columns);
    panel += height;
    const int behind = std::min(height * kLanes, b.rows - panel * kLanes);
    Lines next;
    if (behind > 0) next = Lines(b.part(panel * kLanes, 0, behind, b.columns));
    with_height(height, [&](auto h) { solve_panel<T, h>(packed.elements(), rows, x, next); });
  }
}

void require_room(int columns) {
  if (columns > kMostSolved) throw std::logic_error("tile_solve: more columns than kMostSolved");
}

}  // namespace

template <typename T>
void tile_solve_lower(const Block<T>& l, const Block<T>& b) {
  require_room(l.columns);
  solve(PackedFactor<T>(l, true), b);
}

template <typename T>
void tile_solve_upper(const Block<T>& u, const Block<T>& b) {
  require_room(u.columns);
  solve(PackedFactor<T>(u, false), b);
}

#else

template <typename T>
void tile_solve_lower(const Block<T>& /*l*/, const Block<T>& /*b*/) {
  throw std::logic_error("tile_solve_lower needs AVX-512");
}

template <typename T>
void tile_solve_upper(const Block<T>& /*u*/, const Block<T>& /*b*/) {
  throw std::logic_error("tile_solve_upper needs AVX-512");
}

#endif

template void tile_solve_lower(const Block<float>& l, const Block<float>& b);
template void tile_solve_lower(const Block<double>& l, const Block<double>& b);
template void tile_solve_upper(const Block<float>& u, const Block<float>& b);
template void tile_solve_upper(const Block<double>& u, const Block<double>& b);

}  // namespace vicinal::linalg
