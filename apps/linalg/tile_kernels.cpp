#include "linalg/tile_kernels.hpp"

#include <cmath>

#include <cblas.h>

#include "linalg/openblas.hpp"

// The serial OpenBLAS holds LAPACK's Fortran routines but not LAPACKE.
extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
}

namespace vicinal::linalg {

namespace {

// One name for float and double.
template <typename T>
struct OpenBlas;

template <>
struct OpenBlas<float> {
  static constexpr auto gemm = cblas_sgemm;
  static constexpr auto syrk = cblas_ssyrk;
  static constexpr auto trsm = cblas_strsm;
  static constexpr auto potrf = spotrf_;
};

template <>
struct OpenBlas<double> {
  static constexpr auto gemm = cblas_dgemm;
  static constexpr auto syrk = cblas_dsyrk;
  static constexpr auto trsm = cblas_dtrsm;
  static constexpr auto potrf = dpotrf_;
};

template <typename T>
void blas_gemm(Update update, CBLAS_TRANSPOSE form_of_b, const Block<T>& a, const Block<T>& b,
               const Block<T>& c) {
  const T alpha = update == Update::subtract ? T{-1} : T{1};
  const T beta = update == Update::assign ? T{0} : T{1};
  require_work_buffer();
  OpenBlas<T>::gemm(CblasColMajor, CblasNoTrans, form_of_b, c.rows, c.columns, a.columns, alpha,
                    a.data, a.ld, b.data, b.ld, beta, c.data, c.ld);
}

// The triangle of a factor F and what it is for.
enum class Solve : std::uint8_t { right_lower_transposed, right_upper, left_lower_unit };

template <typename T>
void blas_solve(Solve solve, const Block<T>& f, const Block<T>& b) {
  const bool left = solve == Solve::left_lower_unit;
  require_work_buffer();
  OpenBlas<T>::trsm(CblasColMajor, left ? CblasLeft : CblasRight,
                    solve == Solve::right_upper ? CblasUpper : CblasLower,
                    solve == Solve::right_lower_transposed ? CblasTrans : CblasNoTrans,
                    left ? CblasUnit : CblasNonUnit, b.rows, b.columns, T{1}, f.data, f.ld, b.data,
                    b.ld);
}

// Below, OpenBLAS's own; above, halves and products: on the machine of the CHANGELOG OpenBLAS 0.3.21 solves
// for 512 columns at 34 GFlop/s, and at 55 in this way. 8 to 64 differ by less than the noise.
constexpr int kMostByOpenblas = 32;

template <typename T>
void solve_right(Solve solve, const Block<T>& f, const Block<T>& b, Products by) {
  const bool is_lower = solve == Solve::right_lower_transposed;
  if (by == Products::own && f.columns <= kMostSolved) {
    return is_lower ? tile_solve_lower(f, b) : tile_solve_upper(f, b);
  }
  if (f.columns <= kMostByOpenblas) return blas_solve(solve, f, b);
  const int left = f.columns / 2;
  const int right = f.columns - left;
  const Block<T> first = b.part(0, 0, b.rows, left);
  const Block<T> second = b.part(0, left, b.rows, right);
  solve_right(solve, f.part(0, 0, left, left), first, by);
  if (is_lower) {
    gemm_transposed(first, f.part(left, 0, right, left), second, by);
  } else {
    gemm(Update::subtract, first, f.part(0, left, left, right), second, by);
  }
  solve_right(solve, f.part(left, left, right, right), second, by);
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

// The quarters of a square block.
template <typename T>
struct Quarters {
  explicit Quarters(const Block<T>& a)
      : half(a.columns / 2),
        rest(a.columns - half),
        first(a.part(0, 0, half, half)),
        above(a.part(0, half, half, rest)),
        below(a.part(half, 0, rest, half)),
        second(a.part(half, half, rest, rest)) {}
  int half;
  int rest;
  Block<T> first;
  Block<T> above;
  Block<T> below;
  Block<T> second;
};

}  // namespace

Products fastest_products() {
  static const Products products = has_tile_gemm() ? Products::own : Products::openblas;
  return products;
}

std::string kernels_description() {
  return (fastest_products() == Products::own ? "own AVX-512, " : "") + openblas_description();
}

template <typename T>
void gemm(Update update, const Block<T>& a, const Block<T>& b, const Block<T>& c, Products by) {
  by == Products::own ? tile_gemm(update, a, b, c) : blas_gemm(update, CblasNoTrans, a, b, c);
}

template <typename T>
void gemm_transposed(const Block<T>& a, const Block<T>& b, const Block<T>& c, Products by) {
  by == Products::own ? tile_gemm_transposed(a, b, c)
                      : blas_gemm(Update::subtract, CblasTrans, a, b, c);
}

template <typename T>
void syrk_lower(const Block<T>& a, const Block<T>& c, Products by) {
  if (by == Products::own) return tile_syrk(a, c);
  require_work_buffer();
  OpenBlas<T>::syrk(CblasColMajor, CblasLower, CblasNoTrans, c.rows, a.columns, T{-1}, a.data, a.ld,
                    T{1}, c.data, c.ld);
}

template <typename T>
void trsm_right_lower_transposed(const Block<T>& l, const Block<T>& b, Products by) {
  solve_right(Solve::right_lower_transposed, l, b, by);
}

template <typename T>
void trsm_right_upper(const Block<T>& u, const Block<T>& b, Products by) {
  solve_right(Solve::right_upper, u, b, by);
}

template <typename T>
void trsm_left_lower_unit(const Block<T>& l, const Block<T>& b, Products by) {
  if (l.columns <= kMostByOpenblas) return blas_solve(Solve::left_lower_unit, l, b);
  const Quarters<T> factor(l);
  const Block<T> top = b.part(0, 0, factor.half, b.columns);
  const Block<T> bottom = b.part(factor.half, 0, factor.rest, b.columns);
  trsm_left_lower_unit(factor.first, top, by);
  gemm(Update::subtract, factor.below, top, bottom, by);
  trsm_left_lower_unit(factor.second, bottom, by);
}

// Recursive if that makes the products our own; LAPACK's of OpenBLAS recurses by itself.
template <typename T>
int potrf_lower(const Block<T>& a, Products by) {
  constexpr int kMostByLapack = 32;
  if (by == Products::openblas || a.columns <= kMostByLapack) {
    int info = 0;
    require_work_buffer();
    OpenBlas<T>::potrf("L", &a.rows, a.data, &a.ld, &info);
    return info;
  }
  const Quarters<T> quarters(a);
  if (const int minor = potrf_lower(quarters.first, by); minor != 0) return minor;
  trsm_right_lower_transposed(quarters.first, quarters.below, by);
  syrk_lower(quarters.below, quarters.second, by);
  const int minor = potrf_lower(quarters.second, by);
  return minor == 0 ? 0 : quarters.half + minor;
}

template <typename T>
int getrf_without_pivoting(const Block<T>& a, Products by) {
  constexpr int kMostUnblocked = 16;
  if (a.columns <= kMostUnblocked) return getrf_unblocked(a);
  const Quarters<T> quarters(a);
  if (const int minor = getrf_without_pivoting(quarters.first, by); minor != 0) return minor;
  trsm_left_lower_unit(quarters.first, quarters.above, by);
  trsm_right_upper(quarters.first, quarters.below, by);
  gemm(Update::subtract, quarters.below, quarters.above, quarters.second, by);
  const int minor = getrf_without_pivoting(quarters.second, by);
  return minor == 0 ? 0 : quarters.half + minor;
}

#define VICINAL_TILE_KERNELS(T)                                                               \
  template void gemm(Update, const Block<T>&, const Block<T>&, const Block<T>&, Products);    \
  template void gemm_transposed(const Block<T>&, const Block<T>&, const Block<T>&, Products); \
  template void syrk_lower(const Block<T>&, const Block<T>&, Products);                       \
  template void trsm_right_lower_transposed(const Block<T>&, const Block<T>&, Products);      \
  template void trsm_right_upper(const Block<T>&, const Block<T>&, Products);                 \
  template void trsm_left_lower_unit(const Block<T>&, const Block<T>&, Products);             \
  template int potrf_lower(const Block<T>&, Products);                                        \
  template int getrf_without_pivoting(const Block<T>&, Products);
VICINAL_TILE_KERNELS(float)
VICINAL_TILE_KERNELS(double)
#undef VICINAL_TILE_KERNELS

}  // namespace vicinal::linalg
