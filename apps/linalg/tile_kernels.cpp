#include "linalg/tile_kernels.hpp"

#include <cblas.h>

#include "linalg/openblas.hpp"
#include "linalg/tile_gemm.hpp"

// The serial OpenBLAS holds LAPACK's Fortran routines but not LAPACKE.
extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
}

namespace vicinal::linalg {

namespace {

// --- OpenBLAS: one name for float and double -----------------------------------------------------
void blas_gemm(const Block<float>& a, const Block<float>& b, const Block<float>& c) {
  cblas_sgemm(CblasColMajor, CblasNoTrans, CblasTrans, c.rows, c.columns, a.columns, -1.0F, a.data,
              a.ld, b.data, b.ld, 1.0F, c.data, c.ld);
}
void blas_gemm(const Block<double>& a, const Block<double>& b, const Block<double>& c) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, c.rows, c.columns, a.columns, -1.0, a.data,
              a.ld, b.data, b.ld, 1.0, c.data, c.ld);
}

void blas_syrk(const Block<float>& a, const Block<float>& c) {
  cblas_ssyrk(CblasColMajor, CblasLower, CblasNoTrans, c.rows, a.columns, -1.0F, a.data, a.ld, 1.0F,
              c.data, c.ld);
}
void blas_syrk(const Block<double>& a, const Block<double>& c) {
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, c.rows, a.columns, -1.0, a.data, a.ld, 1.0,
              c.data, c.ld);
}

void blas_trsm(const Block<float>& l, const Block<float>& b) {
  cblas_strsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, b.rows, b.columns,
              1.0F, l.data, l.ld, b.data, b.ld);
}
void blas_trsm(const Block<double>& l, const Block<double>& b) {
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, b.rows, b.columns,
              1.0, l.data, l.ld, b.data, b.ld);
}

int blas_potrf(const Block<float>& a) {
  int info = 0;
  spotrf_("L", &a.rows, a.data, &a.ld, &info);
  return info;
}
int blas_potrf(const Block<double>& a) {
  int info = 0;
  dpotrf_("L", &a.rows, a.data, &a.ld, &info);
  return info;
}

}  // namespace

Products fastest_products() {
  static const Products products = has_tile_gemm() ? Products::own : Products::openblas;
  return products;
}

std::string kernels_description() {
  return (fastest_products() == Products::own ? "own AVX-512, " : "") + openblas_description();
}

template <typename T>
void gemm_transposed(const Block<T>& a, const Block<T>& b, const Block<T>& c, Products by) {
  by == Products::own ? tile_gemm(a, b, c) : blas_gemm(a, b, c);
}

template <typename T>
void syrk_lower(const Block<T>& a, const Block<T>& c, Products by) {
  by == Products::own ? tile_syrk(a, c) : blas_syrk(a, c);
}

// Recursive, so that all but the diagonal blocks of L is gemm: on the machine of the CHANGELOG
// OpenBLAS 0.3.21 solves for 512 columns at 34 GFlop/s, and at 55 in this way.
template <typename T>
void trsm_right_lower_transposed(const Block<T>& l, const Block<T>& b, Products by) {
  constexpr int kMostByOpenblas = 32;  // 8 to 64 differ by less than the noise
  const bool own = by == Products::own;
  if (l.columns <= (own ? kMostSolved : kMostByOpenblas)) {
    own ? tile_solve(l, b) : blas_trsm(l, b);
    return;
  }
  const int left = l.columns / 2;
  const int right = l.columns - left;
  const Block<T> first = b.part(0, 0, b.rows, left);
  const Block<T> second = b.part(0, left, b.rows, right);
  trsm_right_lower_transposed(l.part(0, 0, left, left), first, by);
  gemm_transposed(first, l.part(left, 0, right, left), second, by);
  trsm_right_lower_transposed(l.part(left, left, right, right), second, by);
}

// Recursive if that makes the products our own; LAPACK's of OpenBLAS recurses by itself.
template <typename T>
int potrf_lower(const Block<T>& a, Products by) {
  constexpr int kMostByLapack = 32;
  if (by == Products::openblas || a.columns <= kMostByLapack) return blas_potrf(a);
  const int left = a.columns / 2;
  const int right = a.columns - left;
  const Block<T> first = a.part(0, 0, left, left);
  const Block<T> below = a.part(left, 0, right, left);
  const Block<T> second = a.part(left, left, right, right);
  if (const int minor = potrf_lower(first, by); minor != 0) return minor;
  trsm_right_lower_transposed(first, below, by);
  syrk_lower(below, second, by);
  const int minor = potrf_lower(second, by);
  return minor == 0 ? 0 : left + minor;
}

template void gemm_transposed(const Block<float>&, const Block<float>&, const Block<float>&,
                              Products);
template void gemm_transposed(const Block<double>&, const Block<double>&, const Block<double>&,
                              Products);
template void syrk_lower(const Block<float>&, const Block<float>&, Products);
template void syrk_lower(const Block<double>&, const Block<double>&, Products);
template void trsm_right_lower_transposed(const Block<float>&, const Block<float>&, Products);
template void trsm_right_lower_transposed(const Block<double>&, const Block<double>&, Products);
template int potrf_lower(const Block<float>&, Products);
template int potrf_lower(const Block<double>&, Products);

}  // namespace vicinal::linalg
