#include "linalg/lu_kernels.hpp"

#include <cmath>

#include <cblas.h>

namespace vicinal::linalg {

namespace {

// Below, one step at a time (getrf) or OpenBLAS's own (trsm); above, halves and products, which are
// faster: as in tile_kernels.cpp.
constexpr int kMostUnblocked = 16;
constexpr int kMostByOpenblas = 32;

// --- OpenBLAS: one name for float and double -----------------------------------------------------
void blas_gemm(float alpha, const Block<float>& a, const Block<float>& b, float beta,
               const Block<float>& c) {
  cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, c.rows, c.columns, a.columns, alpha,
              a.data, a.ld, b.data, b.ld, beta, c.data, c.ld);
}
void blas_gemm(double alpha, const Block<double>& a, const Block<double>& b, double beta,
               const Block<double>& c) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, c.rows, c.columns, a.columns, alpha,
              a.data, a.ld, b.data, b.ld, beta, c.data, c.ld);
}

void blas_left(const Block<float>& l, const Block<float>& b) {
  cblas_strsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, b.rows, b.columns,
              1.0F, l.data, l.ld, b.data, b.ld);
}
void blas_left(const Block<double>& l, const Block<double>& b) {
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, b.rows, b.columns, 1.0,
              l.data, l.ld, b.data, b.ld);
}

void blas_right(const Block<float>& u, const Block<float>& b) {
  cblas_strsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, b.rows, b.columns,
              1.0F, u.data, u.ld, b.data, b.ld);
}
void blas_right(const Block<double>& u, const Block<double>& b) {
  cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, b.rows, b.columns,
              1.0, u.data, u.ld, b.data, b.ld);
}

template <typename T>
int getrf_unblocked(const Block<T>& a) {
  for (int k = 0; k < a.columns; ++k) {
    const T pivot = *a.at(k, k);
    if (!(std::abs(pivot) > 0)) return k + 1;  // also NaN
    for (int i = k + 1; i < a.rows; ++i) *a.at(i, k) /= pivot;
    for (int j = k + 1; j < a.columns; ++j) {
      const T factor = *a.at(k, j);
      for (int i = k + 1; i < a.rows; ++i) *a.at(i, j) -= *a.at(i, k) * factor;
    }
  }
  return 0;
}

}  // namespace

template <typename T>
void gemm(T alpha, const Block<T>& a, const Block<T>& b, T beta, const Block<T>& c) {
  blas_gemm(alpha, a, b, beta, c);
}

template <typename T>
void trsm_left_lower_unit(const Block<T>& l, const Block<T>& b) {
  if (l.columns <= kMostByOpenblas) return blas_left(l, b);
  const int top = l.columns / 2;
  const int bottom = l.columns - top;
  const Block<T> first = b.part(0, 0, top, b.columns);
  const Block<T> second = b.part(top, 0, bottom, b.columns);
  trsm_left_lower_unit(l.part(0, 0, top, top), first);
  gemm(T{-1}, l.part(top, 0, bottom, top), first, T{1}, second);
  trsm_left_lower_unit(l.part(top, top, bottom, bottom), second);
}

template <typename T>
void trsm_right_upper(const Block<T>& u, const Block<T>& b) {
  if (u.columns <= kMostByOpenblas) return blas_right(u, b);
  const int left = u.columns / 2;
  const int right = u.columns - left;
  const Block<T> first = b.part(0, 0, b.rows, left);
  const Block<T> second = b.part(0, left, b.rows, right);
  trsm_right_upper(u.part(0, 0, left, left), first);
  gemm(T{-1}, first, u.part(0, left, left, right), T{1}, second);
  trsm_right_upper(u.part(left, left, right, right), second);
}

template <typename T>
int getrf_without_pivoting(const Block<T>& a) {
  if (a.columns <= kMostUnblocked) return getrf_unblocked(a);
  const int left = a.columns / 2;
  const int right = a.columns - left;
  const Block<T> first = a.part(0, 0, left, left);
  const Block<T> above = a.part(0, left, left, right);
  const Block<T> below = a.part(left, 0, right, left);
  const Block<T> second = a.part(left, left, right, right);
  if (const int minor = getrf_without_pivoting(first); minor != 0) return minor;
  trsm_left_lower_unit(first, above);
  trsm_right_upper(first, below);
  gemm(T{-1}, below, above, T{1}, second);
  const int minor = getrf_without_pivoting(second);
  return minor == 0 ? 0 : left + minor;
}

template void gemm(float, const Block<float>&, const Block<float>&, float, const Block<float>&);
template void gemm(double, const Block<double>&, const Block<double>&, double,
                   const Block<double>&);
template void trsm_left_lower_unit(const Block<float>&, const Block<float>&);
template void trsm_left_lower_unit(const Block<double>&, const Block<double>&);
template void trsm_right_upper(const Block<float>&, const Block<float>&);
template void trsm_right_upper(const Block<double>&, const Block<double>&);
template int getrf_without_pivoting(const Block<float>&);
template int getrf_without_pivoting(const Block<double>&);

}  // namespace vicinal::linalg
