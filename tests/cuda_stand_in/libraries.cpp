// cuBLAS and cuSOLVER of the library that stands in for CUDA: those of their functions that apps/linalg calls, by plain
// loops in the order of the handle's stream. Refused is what a program may not do: a handle that is not there or has no
// stream, a leading dimension that is too small, an operand or workspace beyond an allocation.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "cuda_stand_in/state.hpp"

namespace {

using namespace cuda_stand_in;

constexpr int kNotSupported = 15;
constexpr int kBlasFailed = 13;   // CUBLAS_STATUS_EXECUTION_FAILED
constexpr int kSolverFailed = 6;  // CUSOLVER_STATUS_EXECUTION_FAILED
enum : int { kPlain, kTransposed };
enum : int { kLower, kUpper };
enum : int { kLeft, kRight };
enum : int { kNonUnit, kUnit };

int create(void** handle, const char* call) {
  require_context(call);
  if (fails()) return 1;  // NOT_INITIALIZED, of both
  *handle = new char;
  const std::lock_guard lock(state().mutex);
  state().handles[*handle] = nullptr;
  return 0;
}
int destroy(void* handle, const char* call) {
  require_context(call);
  {
    const std::lock_guard lock(state().mutex);
    if (state().handles.erase(handle) == 0) misused(std::string(call) + " of no handle");
  }
  delete static_cast<char*>(handle);
  return 0;
}
int set_stream(void* handle, CUstream_st* stream, const char* call) {
  require_context(call);
  known(stream, call);
  const std::lock_guard lock(state().mutex);
  if (!state().handles.contains(handle)) misused(std::string(call) + " of no handle");
  state().handles[handle] = stream;
  return 0;
}

Stream& stream_of(void* handle, const char* call) {
  require_context(call);
  CUstream_st* stream = nullptr;
  {
    const std::lock_guard lock(state().mutex);
    const auto found = state().handles.find(handle);
    if (found == state().handles.end()) misused(std::string(call) + " with no handle");
    stream = found->second;
  }
  return known(stream, call);
}

template <typename T>
struct Matrix {
  T* data;
  std::size_t ld;
  T* column(std::size_t j) const { return data + j * ld; }
  T& operator()(std::size_t i, std::size_t j) const { return data[i + j * ld]; }
};

template <typename T>
T* numbers(T* data, std::size_t count, const char* call) {
  on_device(reinterpret_cast<cu::Address>(data), count * sizeof(T), call);
  return data;
}

template <typename T>
Matrix<T> matrix(T* data, int ld, std::size_t rows, std::size_t columns, const char* call) {
  if (rows == 0 || columns == 0) misused(std::string(call) + " of nothing");
  if (ld < static_cast<int>(rows))
    misused(std::string(call) + ": a leading dimension is too small");
  const auto step = static_cast<std::size_t>(ld);
  return {numbers(data, (columns - 1) * step + rows, call), step};
}

// to += by from
template <typename T>
void add(T* to, T by, const T* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += by * from[i];
}

template <typename T>
int gemm(void* handle, int of_a, int of_b, int rows, int columns, int depth, const T* alpha,
         const T* a_data, int lda, const T* b_data, int ldb, const T* beta, T* c_data, int ldc,
         const char* call) {
  if (of_a != kPlain) return kNotSupported;
  Stream& stream = stream_of(handle, call);
  const auto m = static_cast<std::size_t>(rows);
  const auto n = static_cast<std::size_t>(columns);
  const auto k = static_cast<std::size_t>(depth);
  const bool flipped = of_b == kTransposed;
  const auto a = matrix(a_data, lda, m, k, call);
  const auto b = matrix(b_data, ldb, flipped ? n : k, flipped ? k : n, call);
  const auto c = matrix(c_data, ldc, m, n, call);
  return put(stream,
             [=, by = *alpha, keep = *beta] {
               for (std::size_t j = 0; j < n; ++j) {
                 if (keep == T{0})
                   std::fill_n(c.column(j), m, T{0});
                 else if (keep != T{1})
                   return misused("gemm: beta");
                 for (std::size_t l = 0; l < k; ++l) {
                   add(c.column(j), by * (flipped ? b(j, l) : b(l, j)), a.column(l), m);
                 }
               }
             }) == 0
             ? 0
             : kBlasFailed;
}

template <typename T>
int syrk(void* handle, int triangle, int of_a, int order, int depth, const T* alpha,
         const T* a_data, int lda, const T* beta, T* c_data, int ldc, const char* call) {
  if (triangle != kLower || of_a != kPlain || *beta != T{1}) return kNotSupported;
  Stream& stream = stream_of(handle, call);
  const auto n = static_cast<std::size_t>(order);
  const auto k = static_cast<std::size_t>(depth);
  const auto a = matrix(a_data, lda, n, k, call);
  const auto c = matrix(c_data, ldc, n, n, call);
  return put(stream,
             [=, by = *alpha] {
               for (std::size_t j = 0; j < n; ++j) {
                 for (std::size_t l = 0; l < k; ++l) add(&c(j, j), by * a(j, l), &a(j, l), n - j);
               }
             }) == 0
             ? 0
             : kBlasFailed;
}

// X L^T = B and X U = B go from column to column, L X = B from row to row.
template <typename T>
int trsm(void* handle, int side, int triangle, int of_a, int diagonal, int rows, int columns,
         const T* alpha, const T* a_data, int lda, T* b_data, int ldb, const char* call) {
  const bool from_left = side == kLeft && triangle == kLower && of_a == kPlain && diagonal == kUnit;
  const bool from_right =
      side == kRight && diagonal == kNonUnit && (triangle == kLower) == (of_a == kTransposed);
  if ((!from_left && !from_right) || *alpha != T{1}) return kNotSupported;
  Stream& stream = stream_of(handle, call);
  const auto m = static_cast<std::size_t>(rows);
  const auto n = static_cast<std::size_t>(columns);
  const auto order = from_left ? m : n;
  const auto a = matrix(a_data, lda, order, order, call);
  const auto b = matrix(b_data, ldb, m, n, call);
  return put(stream,
             [=] {
               for (std::size_t j = 0; j < n; ++j) {
                 if (from_left) {
                   for (std::size_t l = 0; l + 1 < m; ++l) {
                     add(&b(l + 1, j), -b(l, j), &a(l + 1, l), m - l - 1);
                   }
                   continue;
                 }
                 for (std::size_t l = 0; l < j; ++l) {
                   add(b.column(j), of_a == kTransposed ? -a(j, l) : -a(l, j), b.column(l), m);
                 }
                 for (std::size_t i = 0; i < m; ++i) b(i, j) /= a(j, j);
               }
             }) == 0
             ? 0
             : kBlasFailed;
}

// C becomes 0: all that is asked of it.
template <typename T>
int geam(void* handle, int rows, int columns, const T* alpha, const T* beta, T* c_data, int ldc,
         const char* call) {
  if (*alpha != T{0} || *beta != T{0}) return kNotSupported;
  Stream& stream = stream_of(handle, call);
  const auto m = static_cast<std::size_t>(rows);
  const auto n = static_cast<std::size_t>(columns);
  const auto c = matrix(c_data, ldc, m, n, call);
  return put(stream,
             [=] {
               for (std::size_t j = 0; j < n; ++j) std::fill_n(c.column(j), m, T{0});
             }) == 0
             ? 0
             : kBlasFailed;
}

// Between the lower triangle of A and its columns one behind the other.
template <typename T, bool kPacks>
int packed(void* handle, int triangle, int order, T* a_data, int lda, T* packed_data,
           const char* call) {
  if (triangle != kLower) return kNotSupported;
  Stream& stream = stream_of(handle, call);
  const auto n = static_cast<std::size_t>(order);
  const auto a = matrix(a_data, lda, n, n, call);
  T* const all = numbers(packed_data, n * (n + 1) / 2, call);
  return put(stream,
             [=] {
               T* next = all;
               for (std::size_t j = 0; j < n; next += n - j, ++j) {
                 std::memcpy(kPacks ? next : &a(j, j), kPacks ? &a(j, j) : next,
                             (n - j) * sizeof(T));
               }
             }) == 0
             ? 0
             : kBlasFailed;
}

// Of so many elements, so that somebody who asks for none writes beyond.
template <typename T>
int room(void* handle, int order, int* elements, const char* call) {
  stream_of(handle, call);
  *elements = 2 * order;
  return 0;
}

template <typename T>
int potrf(void* handle, int triangle, int order, T* data, int lda, T* work, int elements, int* info,
          const char* call) {
  if (triangle != kLower) return kNotSupported;
  Stream& stream = stream_of(handle, call);
  const auto n = static_cast<std::size_t>(order);
  const auto a = matrix(data, lda, n, n, call);
  if (elements < 2 * order) misused(std::string(call) + ": a small workspace");
  numbers(work, 2 * n, call);
  numbers(info, 1, call);
  return put(stream,
             [=] {
               std::fill_n(work, 2 * n, T{7});
               *info = 0;
               for (std::size_t j = 0; j < n; ++j) {
                 for (std::size_t l = 0; l < j; ++l) add(&a(j, j), -a(j, l), &a(j, l), n - j);
                 if (!(a(j, j) > T{0})) {
                   *info = static_cast<int>(j) + 1;
                   return;
                 }
                 const T root = std::sqrt(a(j, j));
                 for (std::size_t i = j; i < n; ++i) a(i, j) /= root;
               }
             }) == 0
             ? 0
             : kSolverFailed;
}

// Without exchange of rows, which is what no place for pivots asks for.
template <typename T>
int getrf(void* handle, int rows, int columns, T* data, int lda, T* work, const int* pivots,
          int* info, const char* call) {
  if (pivots != nullptr || rows != columns) return 9;  // CUSOLVER_STATUS_NOT_SUPPORTED
  Stream& stream = stream_of(handle, call);
  const auto n = static_cast<std::size_t>(rows);
  const auto a = matrix(data, lda, n, n, call);
  numbers(work, 2 * n, call);
  numbers(info, 1, call);
  return put(stream,
             [=] {
               std::fill_n(work, 2 * n, T{7});
               *info = 0;
               for (std::size_t j = 0; j < n; ++j) {
                 if (a(j, j) == T{0} && *info == 0) *info = static_cast<int>(j) + 1;
                 for (std::size_t i = j + 1; i < n; ++i) a(i, j) /= a(j, j);
                 for (std::size_t l = j + 1; l < n; ++l)
                   add(&a(j + 1, l), -a(j, l), &a(j + 1, j), n - j - 1);
               }
             }) == 0
             ? 0
             : kSolverFailed;
}

}  // namespace

VICINAL_STAND_IN cublasCreate_v2(void** handle) {
  return create(handle, "cublasCreate");
}
VICINAL_STAND_IN cublasDestroy_v2(void* handle) {
  return destroy(handle, "cublasDestroy");
}
VICINAL_STAND_IN cublasSetStream_v2(void* handle, CUstream_st* stream) {
  return set_stream(handle, stream, "cublasSetStream");
}
VICINAL_STAND_IN cusolverDnCreate(void** handle) {
  return create(handle, "cusolverDnCreate");
}
VICINAL_STAND_IN cusolverDnDestroy(void* handle) {
  return destroy(handle, "cusolverDnDestroy");
}
VICINAL_STAND_IN cusolverDnSetStream(void* handle, CUstream_st* stream) {
  return set_stream(handle, stream, "cusolverDnSetStream");
}

// cublasXt, which needs no context and waits: C = A B of matrices in RAM.
VICINAL_STAND_IN cublasXtCreate(void** handle) {
  *handle = new char;
  return 0;
}
VICINAL_STAND_IN cublasXtDestroy(void* handle) {
  delete static_cast<char*>(handle);
  return 0;
}
VICINAL_STAND_IN cublasXtDeviceSelect(void* /*handle*/, int count, const int* devices) {
  return count == 1 && *devices == 0 ? 0 : kNotSupported;
}
VICINAL_STAND_IN cublasXtSetBlockDim(void* /*handle*/, int rows) {
  return rows > 0 ? 0 : kNotSupported;
}
VICINAL_STAND_IN cublasXtDgemm(void* /*handle*/, int of_a, int of_b, std::size_t m, std::size_t n,
                               std::size_t k, const double* alpha, const double* a, std::size_t lda,
                               const double* b, std::size_t ldb, const double* beta, double* c,
                               std::size_t ldc) {
  if (of_a != 0 || of_b != 0 || *alpha != 1 || *beta != 0) return kNotSupported;
  for (const double* matrix : {a, b, static_cast<const double*>(c)}) {
    require_host(matrix, "cublasXtDgemm");
  }
  for (std::size_t j = 0; j < n; ++j) {
    std::fill_n(c + j * ldc, m, 0.0);
    for (std::size_t l = 0; l < k; ++l) add(c + j * ldc, b[l + j * ldb], a + l * lda, m);
  }
  return 0;
}

#define VICINAL_OF_PRECISION(P, T)                                                                 \
  VICINAL_STAND_IN cublas##P##gemm_v2(void* handle, int of_a, int of_b, int m, int n, int k,       \
                                      const T* alpha, const T* a, int lda, const T* b, int ldb,    \
                                      const T* beta, T* c, int ldc) {                              \
    return gemm(handle, of_a, of_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,                  \
                "cublas" #P "gemm");                                                               \
  }                                                                                                \
  VICINAL_STAND_IN cublas##P##syrk_v2(void* handle, int triangle, int of_a, int n, int k,          \
                                      const T* alpha, const T* a, int lda, const T* beta, T* c,    \
                                      int ldc) {                                                   \
    return syrk(handle, triangle, of_a, n, k, alpha, a, lda, beta, c, ldc, "cublas" #P "syrk");    \
  }                                                                                                \
  VICINAL_STAND_IN cublas##P##trsm_v2(void* handle, int side, int triangle, int of_a,              \
                                      int diagonal, int m, int n, const T* alpha, const T* a,      \
                                      int lda, T* b, int ldb) {                                    \
    return trsm(handle, side, triangle, of_a, diagonal, m, n, alpha, a, lda, b, ldb,               \
                "cublas" #P "trsm");                                                               \
  }                                                                                                \
  VICINAL_STAND_IN cublas##P##geam(void* handle, int /*of_a*/, int /*of_b*/, int m, int n,         \
                                   const T* alpha, const T* /*a*/, int /*lda*/, const T* beta,     \
                                   const T* /*b*/, int /*ldb*/, T* c, int ldc) {                   \
    return geam(handle, m, n, alpha, beta, c, ldc, "cublas" #P "geam");                            \
  }                                                                                                \
  VICINAL_STAND_IN cublas##P##trttp(void* handle, int triangle, int n, const T* a, int lda,        \
                                    T* all) {                                                      \
    return packed<T, true>(handle, triangle, n, const_cast<T*>(a), lda, all, "cublas" #P "trttp"); \
  }                                                                                                \
  VICINAL_STAND_IN cublas##P##tpttr(void* handle, int triangle, int n, const T* all, T* a,         \
                                    int lda) {                                                     \
    return packed<T, false>(handle, triangle, n, a, lda, const_cast<T*>(all),                      \
                            "cublas" #P "tpttr");                                                  \
  }                                                                                                \
  VICINAL_STAND_IN cusolverDn##P##potrf_bufferSize(void* handle, int /*triangle*/, int n,          \
                                                   T* /*a*/, int /*lda*/, int* elements) {         \
    return room<T>(handle, n, elements, "cusolverDn" #P "potrf_bufferSize");                       \
  }                                                                                                \
  VICINAL_STAND_IN cusolverDn##P##potrf(void* handle, int triangle, int n, T* a, int lda, T* work, \
                                        int elements, int* info) {                                 \
    return potrf(handle, triangle, n, a, lda, work, elements, info, "cusolverDn" #P "potrf");      \
  }                                                                                                \
  VICINAL_STAND_IN cusolverDn##P##getrf_bufferSize(void* handle, int /*m*/, int n, T* /*a*/,       \
                                                   int /*lda*/, int* elements) {                   \
    return room<T>(handle, n, elements, "cusolverDn" #P "getrf_bufferSize");                       \
  }                                                                                                \
  VICINAL_STAND_IN cusolverDn##P##getrf(void* handle, int m, int n, T* a, int lda, T* work,        \
                                        int* pivots, int* info) {                                  \
    return getrf(handle, m, n, a, lda, work, pivots, info, "cusolverDn" #P "getrf");               \
  }

VICINAL_OF_PRECISION(S, float)
VICINAL_OF_PRECISION(D, double)
