// Factorisations of whole matrices by LAPACK, to compare with.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "linalg/generator.hpp"

extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);
void sgetrf_(const int* m, const int* n, float* a, const int* lda, int* pivots, int* info);
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
void sgeqrf_(const int* m, const int* n, float* a, const int* lda, float* tau, float* work,
             const int* room, int* info);
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work,
             const int* room, int* info);
}

namespace vicinal::testing {

inline int lapack_potrf(int n, float* a) {
  int info = 0;
  spotrf_("L", &n, a, &n, &info);
  return info;
}
inline int lapack_potrf(int n, double* a) {
  int info = 0;
  dpotrf_("L", &n, a, &n, &info);
  return info;
}

inline int lapack_getrf(int n, float* a, int* pivots) {
  int info = 0;
  sgetrf_(&n, &n, a, &n, pivots, &info);
  return info;
}
inline int lapack_getrf(int n, double* a, int* pivots) {
  int info = 0;
  dgetrf_(&n, &n, a, &n, pivots, &info);
  return info;
}

inline int lapack_geqrf(int n, float* a) {
  int info = 0;
  std::vector<float> tau(static_cast<std::size_t>(n));
  std::vector<float> work(tau.size());
  sgeqrf_(&n, &n, a, &n, tau.data(), work.data(), &n, &info);
  return info;
}
inline int lapack_geqrf(int n, double* a) {
  int info = 0;
  std::vector<double> tau(static_cast<std::size_t>(n));
  std::vector<double> work(tau.size());
  dgeqrf_(&n, &n, a, &n, tau.data(), work.data(), &n, &info);
  return info;
}

// Column-major, as LAPACK wants it.
template <typename T>
std::vector<T> whole_matrix(const linalg::Generator& generator, std::uint64_t n) {
  std::vector<T> a(n * n);
  for (std::uint64_t j = 0; j < n; ++j) {
    for (std::uint64_t i = 0; i < n; ++i) a[i + j * n] = static_cast<T>(generator.element(i, j));
  }
  return a;
}

}  // namespace vicinal::testing
