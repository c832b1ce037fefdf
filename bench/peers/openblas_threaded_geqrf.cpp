// The peer of bench/qr.py: dgeqrf of the threaded OpenBLAS on the matrix of `vicinal run qr`, whole and column-major. An
// executable of its own, because the threaded and the serial OpenBLAS have the same names. Prints the seconds of each
// repetition, and those of processors, one repetition per line; the number of threads is OPENBLAS_NUM_THREADS.
//
//   OPENBLAS_NUM_THREADS=2 openblas_threaded_geqrf SIZE REPETITIONS
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "../../apps/linalg/generator.hpp"

extern "C" void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau,
                        double* work, const int* lwork, int* info);

namespace {

struct Seconds {
  double elapsed = 0;
  double of_processors = 0;
};

Seconds seconds_of_geqrf(int n) {
  const auto order = static_cast<std::uint64_t>(n);
  const auto generator =
      vicinal::linalg::Generator::random(1 / std::sqrt(static_cast<double>(n)), 1);
  std::vector<double> a(order * order);
  for (std::uint64_t j = 0; j < order; ++j) {
    for (std::uint64_t i = 0; i < order; ++i) a[i + j * order] = generator.element(i, j);
  }
  std::vector<double> tau(order);
  std::vector<double> work(order * 64);
  const int room = n * 64;
  int info = 0;
  const std::clock_t processors = std::clock();
  const auto start = std::chrono::steady_clock::now();
  dgeqrf_(&n, &n, a.data(), &n, tau.data(), work.data(), &room, &info);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  if (info != 0) {
    std::fprintf(stderr, "dgeqrf: info %d\n", info);
    std::exit(1);
  }
  return {elapsed.count(), static_cast<double>(std::clock() - processors) / CLOCKS_PER_SEC};
}

}  // namespace

int main(int count, char** arguments) {
  const int n = count > 1 ? std::atoi(arguments[1]) : 0;
  const int repetitions = count > 2 ? std::atoi(arguments[2]) : 1;
  if (n < 1 || repetitions < 1) {
    std::fprintf(stderr, "usage: openblas_threaded_geqrf SIZE REPETITIONS\n");
    return 2;
  }
  seconds_of_geqrf(512);  // starts the threads and touches their buffers
  for (int i = 0; i < repetitions; ++i) {
    const Seconds seconds = seconds_of_geqrf(n);
    std::printf("%.9f %.9f\n", seconds.elapsed, seconds.of_processors);
  }
  return 0;
}
