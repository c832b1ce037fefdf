// The peer of bench/cholesky.cpp in memory: dpotrf of the threaded OpenBLAS on the same matrix,
// whole and column-major. An executable of its own, because the threaded and the serial OpenBLAS
// have the same names. Prints the seconds of each repetition, one per line; the number of threads
// is OPENBLAS_NUM_THREADS.
//
//   OPENBLAS_NUM_THREADS=2 openblas_threaded_potrf SIZE REPETITIONS
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../../apps/linalg/generator.hpp"

extern "C" void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);

namespace {

// The lower triangle only: dpotrf reads no more.
void fill(std::vector<double>& a, int n) {
  const vicinal::linalg::Generator generator(static_cast<std::uint64_t>(n), 1);
  const auto rows = static_cast<std::uint64_t>(n);
  for (std::uint64_t j = 0; j < rows; ++j) {
    for (std::uint64_t i = j; i < rows; ++i) a[i + j * rows] = generator.element(i, j);
  }
}

double seconds_of_potrf(std::vector<double>& a, int n) {
  fill(a, n);
  int info = 0;
  const auto start = std::chrono::steady_clock::now();
  dpotrf_("L", &n, a.data(), &n, &info);
  const auto end = std::chrono::steady_clock::now();
  if (info != 0) {
    std::fprintf(stderr, "dpotrf: info %d\n", info);
    std::exit(1);
  }
  return std::chrono::duration<double>(end - start).count();
}

}  // namespace

int main(int count, char** arguments) {
  const int n = count > 1 ? std::atoi(arguments[1]) : 0;
  const int repetitions = count > 2 ? std::atoi(arguments[2]) : 1;
  if (n < 1 || repetitions < 1) {
    std::fprintf(stderr, "usage: openblas_threaded_potrf SIZE REPETITIONS\n");
    return 2;
  }
  std::vector<double> a(static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  // Starts the threads and touches their buffers.
  std::vector<double> small(std::size_t{512} * 512);
  seconds_of_potrf(small, 512);
  for (int i = 0; i < repetitions; ++i) std::printf("%.9f\n", seconds_of_potrf(a, n));
  return 0;
}
