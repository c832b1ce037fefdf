#include "linalg/qr_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include <cblas.h>

#include "linalg/openblas.hpp"
#include "linalg/tile_kernels.hpp"

namespace vicinal::linalg {

namespace {

template <typename T>
struct MatrixVector;

template <>
struct MatrixVector<float> {
  static constexpr auto gemv = cblas_sgemv;
  static constexpr auto ger = cblas_sger;
};

template <>
struct MatrixVector<double> {
  static constexpr auto gemv = cblas_dgemv;
  static constexpr auto ger = cblas_dger;
};

// y <- A^T x
template <typename T>
void multiply_transposed(const Block<T>& a, const T* x, T* y) {
  if (a.columns == 0) return;
  std::fill_n(y, a.columns, T{0});
  if (a.rows == 0) return;
  require_work_buffer();
  MatrixVector<T>::gemv(CblasColMajor, CblasTrans, a.rows, a.columns, T{1}, a.data, a.ld, x, 1,
                        T{0}, y, 1);
}

// A <- A - x y^T
template <typename T>
void subtract_outer(const T* x, const T* y, const Block<T>& a) {
  if (a.rows == 0 || a.columns == 0) return;
  require_work_buffer();
  MatrixVector<T>::ger(CblasColMajor, a.rows, a.columns, T{-1}, x, 1, y, 1, a.data, a.ld);
}

// ||(head, x)||_2. Scaled only where squares would not do.
template <typename T>
T norm(T head, const T* x, int n) {
  constexpr T kLeast = std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
  T squares = head * head;
  for (int i = 0; i < n; ++i) squares += x[i] * x[i];
  if (squares >= kLeast && squares <= std::numeric_limits<T>::max()) return std::sqrt(squares);
  T largest = std::abs(head);
  for (int i = 0; i < n; ++i) largest = std::max(largest, std::abs(x[i]));
  if (!(largest > 0) || !std::isfinite(largest)) return largest;
  T sum = (head / largest) * (head / largest);
  for (int i = 0; i < n; ++i) sum += (x[i] / largest) * (x[i] / largest);
  return largest * std::sqrt(sum);
}

// (head, x) <- (beta, v) with H (head, x) = (beta, 0), H = I - tau (1, v) (1, v)^T. Gives tau; 0: H is I.
template <typename T>
T make_reflector(T& head, T* x, int n) {
  if (std::all_of(x, x + n, [](T element) { return element == T{0}; })) return T{0};
  const T beta = -std::copysign(norm(head, x, n), head);
  const T tau = (beta - head) / beta;
  const T scale = head - beta;
  for (int i = 0; i < n; ++i) x[i] /= scale;
  head = beta;
  return tau;
}

template <typename T>
int count_of(Reflectors of, const Block<T>& a) {
  return of == Reflectors::of_tile ? std::min(a.rows, a.columns) : a.columns;
}

// A block of reflectors: columns of a tile, and the rows from `row` on where they have elements.
struct ReflectorBlock {
  template <typename T>
  ReflectorBlock(Reflectors of_which, const Block<T>& a, int column, int most)
      : of(of_which),
        first(column),
        count(std::min(most, count_of(of_which, a) - column)),
        row(of == Reflectors::of_tile ? column : 0),
        rows(of == Reflectors::of_two_triangles ? std::min(column + count, a.rows) : a.rows - row) {
  }

  // The elements of column j, from which row on, counted from `row`, and how many. Of a tile a one stands above them.
  int begin(int j) const { return of == Reflectors::of_tile ? j + 1 : 0; }
  int length(int j) const {
    return of == Reflectors::of_two_triangles ? std::min(first + j + 1, rows) : rows - begin(j);
  }

  Reflectors of;
  int first;
  int count;
  int row;
  int rows;
};

// Room for a block of reflectors and for what is computed with it; blocks take turns.
template <typename T>
class ReflectorSpace {
 public:
  // For tiles of so many rows, blocks of `most` reflectors, applied to so many columns.
  ReflectorSpace(int rows, int most, int columns)
      : of_v_(area(most, rows)),
        of_w_(area(most, columns)),
        memory_(new T[2 * of_v_ + 2 * of_w_ + area(most, most)]) {}

  Block<T> v(const ReflectorBlock& of) const { return at(0, of.rows, of.count); }
  Block<T> v_transposed(const ReflectorBlock& of) const { return at(of_v_, of.count, of.rows); }
  Block<T> w(int rows, int columns) const { return at(2 * of_v_, rows, columns); }
  Block<T> product(int rows, int columns) const { return at(2 * of_v_ + of_w_, rows, columns); }
  Block<T> t_transposed(int count) const { return at(2 * of_v_ + 2 * of_w_, count, count); }

 private:
  static std::size_t area(int rows, int columns) {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  }
  Block<T> at(std::size_t offset, int rows, int columns) const {
    return {memory_.get() + offset, rows, columns, rows};
  }

  std::size_t of_v_;
  std::size_t of_w_;
  std::unique_ptr<T[]> memory_;  // without content: it is written before it is read
};

// Column j of V as it multiplies, with ones and zeroes.
template <typename T>
void write_out(const ReflectorBlock& columns, const Block<T>& a, int j, const Block<T>& v) {
  const int begin = columns.begin(j);
  const int length = columns.length(j);
  T* const to = v.at(0, j);
  std::fill_n(to, begin, T{0});
  if (begin > 0) to[begin - 1] = T{1};
  std::copy_n(a.at(columns.row + begin, columns.first + j), length, to + begin);
  std::fill(to + begin + length, to + v.rows, T{0});
}

// By pieces of rows, so that both are read and written line by line.
template <typename T>
void transpose(const Block<T>& from, const Block<T>& to) {
  constexpr int kRows = 8;
  for (int row = 0; row < from.rows; row += kRows) {
    const int end = std::min(row + kRows, from.rows);
    for (int j = 0; j < from.columns; ++j) {
      const T* const column = from.at(0, j);
      for (int i = row; i < end; ++i) *to.at(j, i) = column[i];
    }
  }
}

// (top above body) <- (I - V T^T V^T) (top above body), V being ones on the diagonal above `v`; no top: V is `v` alone.
template <typename T>
void apply_block(const ReflectorSpace<T>& space, const ReflectorBlock& columns, const Block<T>& v,
                 const Block<T>& t, const Block<T>* top, const Block<T>& body) {
  if (body.columns == 0) return;
  const Block<T> v_transposed = space.v_transposed(columns);
  const Block<T> t_transposed = space.t_transposed(columns.count);
  const Block<T> w = space.w(columns.count, body.columns);
  const Block<T> product = space.product(columns.count, body.columns);
  transpose(v, v_transposed);
  transpose(t, t_transposed);
  if (top != nullptr) {
    for (int j = 0; j < w.columns; ++j) std::copy_n(top->at(0, j), w.rows, w.at(0, j));
  }
  gemm(top == nullptr ? Update::assign : Update::add, v_transposed, body, w);
  gemm(Update::assign, t_transposed, w, product);
  if (top != nullptr) {
    for (int j = 0; j < w.columns; ++j) {
      for (int i = 0; i < w.rows; ++i) *top->at(i, j) -= *product.at(i, j);
    }
  }
  gemm(Update::subtract, v, product, body);
}

// Makes the reflectors of these columns of A, below `r` or, of a tile, in A itself. V is left in `v`.
template <typename T>
void factor_block(const ReflectorBlock& columns, const Block<T>& r, const Block<T>& a,
                  const Block<T>& t, const Block<T>& v) {
  std::vector<T> products(static_cast<std::size_t>(columns.count));
  T* const of_columns = products.data();
  for (int j = 0; j < columns.count; ++j) {
    const int column = columns.first + j;
    T* const x = a.at(columns.row + columns.begin(j), column);
    const int length = columns.length(j);
    const T tau = make_reflector(*r.at(column, column), x, length);
    write_out(columns, a, j, v);
    const Block<T> behind{x + a.ld, length, columns.count - j - 1, a.ld};
    multiply_transposed(behind, x, of_columns);
    for (int i = 0; i < behind.columns; ++i) {
      T& head = *r.at(column, column + 1 + i);
      of_columns[i] = tau * (head + of_columns[i]);
      head -= of_columns[i];
    }
    subtract_outer(x, of_columns, behind);
    // T(.,j) = -tau T V^T v_j
    multiply_transposed(v.part(0, 0, v.rows, j), v.at(0, j), of_columns);
    T* const of_t = t.at(0, column);
    for (int i = 0; i < j; ++i) {
      T sum{0};
      for (int l = i; l < j; ++l) sum += *t.at(i, columns.first + l) * of_columns[l];
      of_t[i] = -tau * sum;
    }
    of_t[j] = tau;
    std::fill(of_t + j + 1, of_t + t.rows, T{0});
  }
}

template <typename T>
void factor_all(Reflectors of, const Block<T>& r, const Block<T>& a, const Block<T>& t) {
  const ReflectorSpace<T> space(a.rows, t.rows, a.columns);
  for (int column = 0; column < count_of(of, a); column += t.rows) {
    const ReflectorBlock columns(of, a, column, t.rows);
    const Block<T> v = space.v(columns);
    factor_block(columns, r, a, t, v);
    const int behind = column + columns.count;
    const int rest = a.columns - behind;
    const Block<T> body = a.part(columns.row, behind, columns.rows, rest);
    const Block<T> triangle = t.part(0, column, columns.count, columns.count);
    if (of == Reflectors::of_tile) {
      apply_block<T>(space, columns, v, triangle, nullptr, body);
    } else {
      const Block<T> top = r.part(column, behind, columns.count, rest);
      apply_block(space, columns, v, triangle, &top, body);
    }
  }
}

// `d`: of a tile the same as `c`.
template <typename T>
void apply_all(Reflectors of, const Block<T>& a, const Block<T>& t, const Block<T>& c,
               const Block<T>& d) {
  const ReflectorSpace<T> space(a.rows, t.rows, c.columns);
  for (int column = 0; column < count_of(of, a); column += t.rows) {
    const ReflectorBlock columns(of, a, column, t.rows);
    Block<T> v = a.part(columns.row, column, columns.rows, columns.count);
    if (of != Reflectors::of_square) {
      v = space.v(columns);
      for (int j = 0; j < columns.count; ++j) write_out(columns, a, j, v);
    }
    const Block<T> top = c.part(column, 0, columns.count, c.columns);
    const Block<T> body = d.part(columns.row, 0, columns.rows, d.columns);
    apply_block(space, columns, v, t.part(0, column, columns.count, columns.count),
                of == Reflectors::of_tile ? nullptr : &top, body);
  }
}

// w <- T w or T^T w
template <typename T>
void multiply_triangle(const Block<T>& t, Factor by, std::vector<double>& w) {
  const std::vector<double> old = w;
  for (int i = 0; i < t.columns; ++i) {
    double sum = 0;
    for (int l = 0; l < t.columns; ++l) {
      const T element = by == Factor::q ? *t.at(i, l) : *t.at(l, i);
      sum += static_cast<double>(element) * old[static_cast<std::size_t>(l)];
    }
    w[static_cast<std::size_t>(i)] = sum;
  }
}

// The vector's elements `top`, one per column, and `body`, one per row.
template <typename T>
void reflect_block(const ReflectorBlock& columns, Factor by, const Block<T>& v, const Block<T>& t,
                   double* top, double* body) {
  std::vector<double> w(static_cast<std::size_t>(columns.count));
  const auto elements = [&](int j) {
    return v.at(columns.row + columns.begin(j), columns.first + j);
  };
  for (int j = 0; j < columns.count; ++j) {
    double sum = top[j];
    const T* const of_v = elements(j);
    for (int i = 0; i < columns.length(j); ++i) {
      sum += static_cast<double>(of_v[i]) * body[columns.begin(j) + i];
    }
    w[static_cast<std::size_t>(j)] = sum;
  }
  multiply_triangle(t.part(0, columns.first, columns.count, columns.count), by, w);
  for (int j = 0; j < columns.count; ++j) {
    const double factor = w[static_cast<std::size_t>(j)];
    top[j] -= factor;
    const T* const of_v = elements(j);
    for (int i = 0; i < columns.length(j); ++i) {
      body[columns.begin(j) + i] -= static_cast<double>(of_v[i]) * factor;
    }
  }
}

}  // namespace

template <typename T>
void geqrt(const Block<T>& a, const Block<T>& t) {
  factor_all(Reflectors::of_tile, a, a, t);
}

template <typename T>
void ormqr(const Block<T>& v, const Block<T>& t, const Block<T>& c) {
  apply_all(Reflectors::of_tile, v, t, c, c);
}

template <typename T>
void tpqrt(Reflectors of, const Block<T>& r, const Block<T>& a, const Block<T>& t) {
  factor_all(of, r, a, t);
}

template <typename T>
void tpmqrt(Reflectors of, const Block<T>& v, const Block<T>& t, const Block<T>& c,
            const Block<T>& d) {
  apply_all(of, v, t, c, d);
}

template <typename T>
void reflect(Reflectors of, Factor by, const Block<T>& v, const Block<T>& t, double* c, double* d) {
  const int count = count_of(of, v);
  const int blocks = (count + t.rows - 1) / t.rows;
  for (int n = 0; n < blocks; ++n) {
    const int column = (by == Factor::q ? blocks - 1 - n : n) * t.rows;
    const ReflectorBlock columns(of, v, column, t.rows);
    reflect_block(columns, by, v, t, c + column, of == Reflectors::of_tile ? c + column : d);
  }
}

#define VICINAL_QR_KERNELS(T)                                                         \
  template void geqrt(const Block<T>&, const Block<T>&);                              \
  template void ormqr(const Block<T>&, const Block<T>&, const Block<T>&);             \
  template void tpqrt(Reflectors, const Block<T>&, const Block<T>&, const Block<T>&); \
  template void tpmqrt(Reflectors, const Block<T>&, const Block<T>&, const Block<T>&, \
                       const Block<T>&);                                              \
  template void reflect(Reflectors, Factor, const Block<T>&, const Block<T>&, double*, double*);
VICINAL_QR_KERNELS(float)
VICINAL_QR_KERNELS(double)
#undef VICINAL_QR_KERNELS

}  // namespace vicinal::linalg
