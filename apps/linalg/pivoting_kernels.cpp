#include "linalg/pivoting_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "linalg/tile_kernels.hpp"

namespace vicinal::linalg {

namespace {

// Row j and row pivots[j], for j = 0, 1, ...
template <typename T>
void exchange_inside(const Block<T>& a, const std::int32_t* pivots, int count) {
  for (int column = 0; column < a.columns; ++column) {
    T* const of = a.at(0, column);
    for (int j = 0; j < count; ++j) std::swap(of[j], of[pivots[j]]);
  }
}

// Row j of `above` and row pivots[j] - 1 of `below`, for j = 0, 1, ...
template <typename T>
void exchange_between(const Block<T>& above, const Block<T>& below, const std::int32_t* pivots) {
  for (int column = 0; column < above.columns; ++column) {
    T* const top = above.at(0, column);
    T* const bottom = below.at(0, column);
    for (int j = 0; j < above.rows; ++j) {
      if (pivots[j] > 0) std::swap(top[j], bottom[pivots[j] - 1]);
    }
  }
}

// The row of the largest element of a column, from `first` on.
template <typename T>
int largest(const Block<T>& a, int first, int column) {
  const T* const of = a.at(0, column);
  int row = first;
  for (int i = first + 1; i < a.rows; ++i) {
    if (std::abs(of[i]) > std::abs(of[row])) row = i;
  }
  return row;
}

// Rows from `first` on: their multipliers in this column, and what they change in the columns behind it, to which
// the pivot's row has the elements pivot_row(j).
template <typename T, typename PivotRow>
void eliminate(const Block<T>& a, int first, int column, T pivot, const PivotRow& pivot_row) {
  if (pivot == T{0}) return;  // the largest of all: there is nothing to eliminate
  T* const factors = a.at(0, column);
  for (int i = first; i < a.rows; ++i) factors[i] /= pivot;
  for (int j = column + 1; j < a.columns; ++j) {
    const T factor = pivot_row(j);
    T* const of = a.at(0, j);
    for (int i = first; i < a.rows; ++i) of[i] -= factors[i] * factor;
  }
}

template <typename T>
void getrf_column_by_column(const Block<T>& a, std::int32_t* pivots) {
  for (int k = 0; k < a.columns; ++k) {
    pivots[k] = largest(a, k, k);
    for (int j = 0; j < a.columns; ++j) std::swap(*a.at(k, j), *a.at(pivots[k], j));
    eliminate(a, k + 1, k, *a.at(k, k), [&](int j) { return *a.at(k, j); });
  }
}

// At least as many rows as columns. Halves of the columns.
template <typename T>
void getrf_of_columns(const Block<T>& a, std::int32_t* pivots) {
  constexpr int kMostUnblocked = 8;
  if (a.columns <= kMostUnblocked) return getrf_column_by_column(a, pivots);
  const int left = a.columns / 2;
  const int right = a.columns - left;
  const int rest = a.rows - left;
  getrf_of_columns(a.part(0, 0, a.rows, left), pivots);
  exchange_inside(a.part(0, left, a.rows, right), pivots, left);
  const Block<T> above = a.part(0, left, left, right);
  const Block<T> below = a.part(left, left, rest, right);
  trsm_left_lower_unit(a.part(0, 0, left, left), above);
  gemm(Update::subtract, a.part(left, 0, rest, left), above, below);
  getrf_of_columns(below, pivots + left);
  exchange_inside(a.part(left, 0, rest, left), pivots + left, right);
  for (int j = left; j < a.columns; ++j) pivots[j] += left;
}

// One block of columns: U (s x s, upper triangle) above A (b x s). A row of U that has come from A has multipliers to its
// left: they are the L1. One that has always been there has none, since there U is 0.
template <typename T>
void tstrf_of_block(const Block<T>& u, const Block<T>& a, const Block<T>& l, std::int32_t* pivots) {
  for (int j = 0; j < l.columns; ++j) std::fill_n(l.at(0, j), l.rows, T{0});
  for (int k = 0; k < a.columns; ++k) {
    const int row = largest(a, 0, k);
    pivots[k] = 0;
    if (std::abs(*a.at(row, k)) > std::abs(*u.at(k, k))) {
      pivots[k] = row + 1;
      for (int j = 0; j < k; ++j) std::swap(*l.at(k, j), *a.at(row, j));
      for (int j = k; j < a.columns; ++j) std::swap(*u.at(k, j), *a.at(row, j));
    }
    eliminate(a, 0, k, *u.at(k, k), [&](int j) { return *u.at(k, j); });
  }
}

// The parts that belong to one block of columns.
template <typename T>
struct Columns {
  Columns(const Block<T>& a, const Block<T>& l, int column)
      : first(column),
        count(std::min(l.rows, a.columns - column)),
        below(a.part(0, first, a.rows, count)),
        inside(l.part(0, first, count, count)) {}
  int first;
  int count;
  Block<T> below;   // L2
  Block<T> inside;  // L1
};

template <typename T>
void apply(const Columns<T>& by, const std::int32_t* pivots, const Block<T>& c, const Block<T>& d) {
  const Block<T> rows = c.part(by.first, 0, by.count, c.columns);
  exchange_between(rows, d, pivots + by.first);
  trsm_left_lower_unit(by.inside, rows);
  gemm(Update::subtract, by.below, rows, d);
}

// c <- L c, L with ones on its diagonal; from the last row on, since a row needs those above it as they were.
template <typename T>
void multiply_unit_lower(const Block<T>& l, double* c) {
  for (int j = l.columns - 1; j >= 0; --j) {
    for (int i = j + 1; i < l.rows; ++i) c[i] += static_cast<double>(*l.at(i, j)) * c[j];
  }
}

}  // namespace

template <typename T>
void getrf_pivoting(const Block<T>& a, std::int32_t* pivots) {
  getrf_of_columns(a, pivots);
}

template <typename T>
void gessm(const Block<T>& l, const std::int32_t* pivots, const Block<T>& c) {
  exchange_inside(c, pivots, l.columns);
  trsm_left_lower_unit(l, c);
}

template <typename T>
void tstrf(const Block<T>& u, const Block<T>& a, const Block<T>& l, std::int32_t* pivots) {
  for (int column = 0; column < a.columns; column += l.rows) {
    const Columns<T> block(a, l, column);
    const int behind = column + block.count;
    tstrf_of_block(u.part(column, column, block.count, block.count), block.below, block.inside,
                   pivots + column);
    if (behind == a.columns) break;
    apply(block, pivots, u.part(0, behind, u.rows, u.columns - behind),
          a.part(0, behind, a.rows, a.columns - behind));
  }
}

template <typename T>
void ssssm(const Block<T>& a, const Block<T>& l, const std::int32_t* pivots, const Block<T>& c,
           const Block<T>& d) {
  for (int column = 0; column < a.columns; column += l.rows) {
    apply(Columns<T>(a, l, column), pivots, c, d);
  }
}

template <typename T>
void undo_gessm(const Block<T>& l, const std::int32_t* pivots, double* c) {
  multiply_unit_lower(l, c);
  for (int j = l.columns - 1; j >= 0; --j) std::swap(c[j], c[pivots[j]]);
}

template <typename T>
void undo_ssssm(const Block<T>& a, const Block<T>& l, const std::int32_t* pivots, double* c,
                double* d) {
  for (int column = (a.columns - 1) / l.rows * l.rows; column >= 0; column -= l.rows) {
    const Columns<T> block(a, l, column);
    for (int j = 0; j < block.count; ++j) {
      const T* const factors = block.below.at(0, j);
      for (int i = 0; i < a.rows; ++i) d[i] += static_cast<double>(factors[i]) * c[column + j];
    }
    multiply_unit_lower(block.inside, c + column);
    for (int j = column + block.count - 1; j >= column; --j) {
      if (pivots[j] > 0) std::swap(c[j], d[pivots[j] - 1]);
    }
  }
}

#define VICINAL_PIVOTING_KERNELS(T)                                                           \
  template void getrf_pivoting(const Block<T>&, std::int32_t*);                               \
  template void gessm(const Block<T>&, const std::int32_t*, const Block<T>&);                 \
  template void tstrf(const Block<T>&, const Block<T>&, const Block<T>&, std::int32_t*);      \
  template void ssssm(const Block<T>&, const Block<T>&, const std::int32_t*, const Block<T>&, \
                      const Block<T>&);                                                       \
  template void undo_gessm(const Block<T>&, const std::int32_t*, double*);                    \
  template void undo_ssssm(const Block<T>&, const Block<T>&, const std::int32_t*, double*, double*);
VICINAL_PIVOTING_KERNELS(float)
VICINAL_PIVOTING_KERNELS(double)
#undef VICINAL_PIVOTING_KERNELS

}  // namespace vicinal::linalg
