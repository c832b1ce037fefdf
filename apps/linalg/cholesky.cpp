#include "linalg/cholesky.hpp"

#include <algorithm>
#include <string>

#include <cblas.h>
#include <fmt/format.h>

#include "linalg/openblas.hpp"
#include "vicinal/error.hpp"

// The serial OpenBLAS holds LAPACK's Fortran routines but not LAPACKE.
extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
}

namespace vicinal::linalg {

namespace {

// --- one name for float and double; all matrices column-major ------------------------------------
int potrf_lower(int n, float* a, int lda) {
  int info = 0;
  spotrf_("L", &n, a, &lda, &info);
  return info;
}
int potrf_lower(int n, double* a, int lda) {
  int info = 0;
  dpotrf_("L", &n, a, &lda, &info);
  return info;
}

// B (m x n) <- B L^-T
void solve_transposed(int m, int n, const float* l, int ldl, float* b, int ldb) {
  cblas_strsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, m, n, 1.0F, l, ldl,
              b, ldb);
}
void solve_transposed(int m, int n, const double* l, int ldl, double* b, int ldb) {
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, m, n, 1.0, l, ldl, b,
              ldb);
}

// C (n x n, lower) <- C - A A^T, A (n x k)
void syrk_lower(int n, int k, const float* a, int lda, float* c, int ldc) {
  cblas_ssyrk(CblasColMajor, CblasLower, CblasNoTrans, n, k, -1.0F, a, lda, 1.0F, c, ldc);
}
void syrk_lower(int n, int k, const double* a, int lda, double* c, int ldc) {
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, n, k, -1.0, a, lda, 1.0, c, ldc);
}

// One operand as a matrix.
template <typename T>
struct Block {
  T* data;
  int rows;
  int columns;
  int ld;

  Block part(int row, int column, int height, int width) const {
    return {data + row + static_cast<std::ptrdiff_t>(column) * ld, height, width, ld};
  }
};

template <typename T>
Block<T> block(const KernelContext& context, std::size_t operand) {
  const Layout& layout = context.operand(operand).layout;
  return {context.data<T>(operand), static_cast<int>(layout.rows()),
          static_cast<int>(layout.columns), static_cast<int>(layout.leading_dimension())};
}

// C <- C - A B^T
void gemm_transposed(const Block<float>& a, const Block<float>& b, const Block<float>& c) {
  cblas_sgemm(CblasColMajor, CblasNoTrans, CblasTrans, c.rows, c.columns, a.columns, -1.0F, a.data,
              a.ld, b.data, b.ld, 1.0F, c.data, c.ld);
}
void gemm_transposed(const Block<double>& a, const Block<double>& b, const Block<double>& c) {
  cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, c.rows, c.columns, a.columns, -1.0, a.data,
              a.ld, b.data, b.ld, 1.0, c.data, c.ld);
}

// Recursive, so that all but the diagonal blocks of L is gemm: on the machine of the CHANGELOG
// OpenBLAS 0.3.21 solves for 512 columns at 34 GFlop/s, this at 55, its dgemm runs at 74.
template <typename T>
void trsm_right_lower_transposed(const Block<T>& l, const Block<T>& b) {
  constexpr int kDirect = 32;  // 8 to 64 differ by less than the noise
  if (l.columns <= kDirect) {
    solve_transposed(b.rows, b.columns, l.data, l.ld, b.data, b.ld);
    return;
  }
  const int left = l.columns / 2;
  const Block<T> first = b.part(0, 0, b.rows, left);
  const Block<T> second = b.part(0, left, b.rows, b.columns - left);
  trsm_right_lower_transposed(l.part(0, 0, left, left), first);
  gemm_transposed(first, l.part(left, 0, l.rows - left, left), second);
  trsm_right_lower_transposed(l.part(left, left, l.rows - left, l.columns - left), second);
}

// --- the kernels ---------------------------------------------------------------------------------
template <typename T>
void potrf_kernel(KernelContext& context) {
  const Block<T> a = block<T>(context, 0);
  const int info = potrf_lower(a.rows, a.data, a.ld);
  if (info != 0) {
    // info > 0: the leading minor of that order is not positive (LAPACK).
    const auto index = context.parameter<TaskIndex>();
    const std::uint64_t row = std::uint64_t{index.k} * index.tile + static_cast<unsigned>(info) - 1;
    throw TaskError(
        fmt::format("potrf({0}): the matrix is not positive definite: pivot {1} of tile ({0},{0}), "
                    "row {2} of the matrix, is not positive",
                    index.k, info - 1, row));
  }
  for (int column = 1; column < a.columns; ++column) {
    std::fill_n(a.data + static_cast<std::ptrdiff_t>(column) * a.ld, column, T{0});
  }
}

template <typename T>
void trsm_kernel(KernelContext& context) {
  trsm_right_lower_transposed(block<T>(context, 0), block<T>(context, 1));
}

template <typename T>
void syrk_kernel(KernelContext& context) {
  const Block<T> l = block<T>(context, 0);
  const Block<T> a = block<T>(context, 1);
  syrk_lower(a.rows, l.columns, l.data, l.ld, a.data, a.ld);
}

template <typename T>
void gemm_kernel(KernelContext& context) {
  gemm_transposed(block<T>(context, 0), block<T>(context, 1), block<T>(context, 2));
}

// --- submission ----------------------------------------------------------------------------------
class Submitter {
 public:
  Submitter(Runtime& runtime, const TiledMatrix& matrix, const CholeskyCodelets& codelets,
            const CholeskyOptions& options)
      : runtime_(runtime),
        a_(matrix),
        codelets_(codelets),
        options_(options),
        levels_{static_cast<std::int64_t>(matrix.grid().tiles())} {}

  void potrf(std::uint32_t k) {
    submit(codelets_.potrf, {RW(a_.tile(k, k))}, {k, k, k}, levels_.potrf(k),
           [k] { return fmt::format("potrf({})", k); });
  }
  void trsm(std::uint32_t i, std::uint32_t k) {
    submit(codelets_.trsm, {R(a_.tile(k, k)), RW(a_.tile(i, k))}, {i, k, k}, levels_.trsm(k),
           [i, k] { return fmt::format("trsm({},{})", i, k); });
  }
  void syrk(std::uint32_t i, std::uint32_t k) {
    submit(codelets_.syrk, {R(a_.tile(i, k)), RW(a_.tile(i, i))}, {i, i, k}, levels_.syrk(i, k),
           [i, k] { return fmt::format("syrk({},{})", i, k); });
  }
  void gemm(std::uint32_t i, std::uint32_t j, std::uint32_t k) {
    submit(codelets_.gemm, {R(a_.tile(i, k)), R(a_.tile(j, k)), RW(a_.tile(i, j))}, {i, j, k},
           levels_.gemm(j, k), [i, j, k] { return fmt::format("gemm({},{},{})", i, j, k); });
  }
  std::uint64_t count() const { return count_; }

 private:
  template <typename Name>
  void submit(const Codelet& codelet, Operands operands, TaskIndex index, int level, Name&& name) {
    index.tile = static_cast<std::uint32_t>(a_.grid().tile);
    TaskSpec spec{.codelet = &codelet, .operands = operands, .parameters = index};
    if (options_.priorities) spec.priority = level;
    if (options_.names) spec.name = name();
    runtime_.submit(spec);
    ++count_;
  }

  Runtime& runtime_;
  const TiledMatrix& a_;
  const CholeskyCodelets& codelets_;
  const CholeskyOptions& options_;
  BottomLevels levels_;
  std::uint64_t count_ = 0;
};

}  // namespace

template <typename T>
CholeskyCodelets cholesky_codelets(std::uint64_t tile) {
  prepare_openblas();
  const double cube =
      static_cast<double>(tile) * static_cast<double>(tile) * static_cast<double>(tile);
  return {.potrf = {.name = "potrf", .cpu = potrf_kernel<T>, .flops = cube / 3},
          .trsm = {.name = "trsm", .cpu = trsm_kernel<T>, .flops = cube},
          .syrk = {.name = "syrk", .cpu = syrk_kernel<T>, .flops = cube},
          .gemm = {.name = "gemm", .cpu = gemm_kernel<T>, .flops = 2 * cube}};
}

template CholeskyCodelets cholesky_codelets<float>(std::uint64_t tile);
template CholeskyCodelets cholesky_codelets<double>(std::uint64_t tile);

CholeskyCodelets cholesky_codelets(const TileGrid& grid) {
  return grid.precision == Precision::f32 ? cholesky_codelets<float>(grid.tile)
                                          : cholesky_codelets<double>(grid.tile);
}

std::uint64_t submit_cholesky(Runtime& runtime, const TiledMatrix& matrix,
                              const CholeskyCodelets& codelets, const CholeskyOptions& options) {
  Submitter submitter(runtime, matrix, codelets, options);
  const auto n = static_cast<std::uint32_t>(matrix.grid().tiles());
  for (std::uint32_t k = 0; k < n; ++k) {
    submitter.potrf(k);
    for (std::uint32_t i = k + 1; i < n; ++i) submitter.trsm(i, k);
    for (std::uint32_t i = k + 1; i < n; ++i) {
      submitter.syrk(i, k);
      for (std::uint32_t j = k + 1; j < i; ++j) submitter.gemm(i, j, k);
    }
  }
  return submitter.count();
}

}  // namespace vicinal::linalg
