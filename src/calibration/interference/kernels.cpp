// Compiled with full optimisation, see CMakeLists.txt: what is measured is the machine.
#include "calibration/interference/kernels.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/processor.hpp"
#include "drivers/clock.hpp"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace vicinal::interference {

namespace {

constexpr std::size_t kElements = 64 << 10;  // doubles of each array that a run uses
using Operation = void (*)(double* a, double* b, double* c, std::size_t count,
                           std::uint32_t repeats);

void triad(double* a, double* b, double* c, std::size_t count, std::uint32_t repeats) {
  constexpr std::size_t kTogether = 32;  // as many chains of operations keep the units busy
  for (std::size_t i = 0; i < count; i += kTogether) {
    double x[kTogether];
    for (std::size_t j = 0; j < kTogether; ++j) x[j] = a[i + j];
    for (std::uint32_t r = 0; r < repeats; ++r) {
      for (std::size_t j = 0; j < kTogether; ++j) x[j] = x[j] * 0.5 + b[i + j];
    }
    for (std::size_t j = 0; j < kTogether; ++j) c[i + j] = x[j];
  }
}

void copy(double* a, double* /*b*/, double* c, std::size_t count, std::uint32_t /*repeats*/) {
  for (std::size_t i = 0; i < count; ++i) c[i] = a[i] + 1;
}

void write(double* /*a*/, double* /*b*/, double* c, std::size_t count, std::uint32_t repeats) {
  for (std::size_t i = 0; i < count; ++i) c[i] = static_cast<double>(repeats);
}

void read(double* a, double* /*b*/, double* c, std::size_t count, std::uint32_t /*repeats*/) {
  double sums[16] = {};
  for (std::size_t i = 0; i < count; i += 16) {
    for (std::size_t j = 0; j < 16; ++j) sums[j] += a[i + j];
  }
  for (const double sum : sums) c[0] += sum;
}

#if defined(__x86_64__)
void write_streaming(double* /*a*/, double* /*b*/, double* c, std::size_t count,
                     std::uint32_t repeats) {
  const __m128d value = _mm_set1_pd(static_cast<double>(repeats));
  for (std::size_t i = 0; i < count; i += 2) _mm_stream_pd(c + i, value);
  _mm_sfence();
}
void copy_streaming(double* a, double* /*b*/, double* c, std::size_t count,
                    std::uint32_t /*repeats*/) {
  for (std::size_t i = 0; i < count; i += 2) _mm_stream_pd(c + i, _mm_load_pd(a + i));
  _mm_sfence();
}

__attribute__((target("avx512f"), noinline)) double wide_512(std::uint32_t steps) {
  __m512d x[8];
  for (int j = 0; j < 8; ++j) x[j] = _mm512_set1_pd(j);
  const __m512d half = _mm512_set1_pd(0.5);
  for (std::uint32_t i = 0; i < steps; ++i) {
    for (auto& lane : x) lane = _mm512_fmadd_pd(lane, half, half);
  }
  double last[8];
  double sum = 0;
  for (const auto& lane : x) {
    _mm512_storeu_pd(last, lane);
    sum += last[0];
  }
  return sum;
}
__attribute__((target("avx2,fma"), noinline)) double wide_256(std::uint32_t steps) {
  __m256d x[8];
  for (int j = 0; j < 8; ++j) x[j] = _mm256_set1_pd(j);
  const __m256d half = _mm256_set1_pd(0.5);
  for (std::uint32_t i = 0; i < steps; ++i) {
    for (auto& lane : x) lane = _mm256_fmadd_pd(lane, half, half);
  }
  double sum = 0;
  for (const auto& lane : x) sum += _mm256_cvtsd_f64(lane);
  return sum;
}
double wide(std::uint32_t steps) {
  return __builtin_cpu_supports("avx512f") ? wide_512(steps) : wide_256(steps);
}
#else
double wide(std::uint32_t /*steps*/) {
  return 0;
}
#endif

struct OfMemory {
  std::string_view name;
  Operation run;
  double arrays;  // read or written
};
constexpr OfMemory kOfMemory[] = {
    {"triad", triad, 3},
    {"copy", copy, 2},
    {"write", write, 1},
    {"read", read, 1},
#if defined(__x86_64__)
    {"write-streaming", write_streaming, 1},
    {"copy-streaming", copy_streaming, 2},
#endif
};

template <typename Work>
double timed(const Work& work) {
  const Time begin = drivers::monotonic_now();
  work();
  return (drivers::monotonic_now() - begin).seconds();
}

// A thread's arrays, of which each run takes the next piece.
class Arrays {
 public:
  explicit Arrays(const KernelDemand& demand)
      : pieces_(std::max<std::size_t>(1, demand.memory.value / (3 * kElements * sizeof(double)))),
        memory_(memory_on(demand.node, Bytes{3 * pieces_ * kElements * sizeof(double)})) {}
  double* piece(std::size_t array) const {
    return reinterpret_cast<double*>(memory_.address()) + (array * pieces_ + next_) * kElements;
  }
  void step() { next_ = (next_ + 1) % pieces_; }

 private:
  std::size_t pieces_;
  drivers::MappedMemory memory_;
  std::size_t next_ = 0;
};

PreparedKernel of_memory(const OfMemory& of, const KernelDemand& demand) {
  // A run stays short whatever is repeated.
  const std::size_t count = std::clamp<std::size_t>(
      kElements * 8 / std::max(1U, demand.repeats) / 64 * 64, 1024, kElements);
  PreparedKernel prepared;
  prepared.bytes = of.arrays * static_cast<double>(count * sizeof(double));
  prepared.set.prepare = [run = of.run, demand, count] {
    const auto arrays = std::make_shared<Arrays>(demand);
    return [arrays, run, count, repeats = demand.repeats](std::size_t) {
      arrays->step();
      return timed(
          [&] { run(arrays->piece(0), arrays->piece(1), arrays->piece(2), count, repeats); });
    };
  };
  return prepared;
}

// Naively: only few variables, no memory.
std::uint32_t primes_below(std::uint32_t end) {
  std::uint32_t primes = 0;
  for (std::uint32_t i = 2; i < end; ++i) {
    bool is_prime = true;
    for (std::uint32_t j = 2; j * j <= i && is_prime; ++j) is_prime = i % j != 0;
    primes += is_prime ? 1 : 0;
  }
  return primes;
}

PreparedKernel of_cores(const std::function<double()>& work) {
  PreparedKernel prepared;
  prepared.set.prepare = [work] {
    const auto kept = std::make_shared<std::atomic<double>>(0);  // the result is not thrown away
    return [work, kept](std::size_t) {
      return timed([&] { kept->store(work(), std::memory_order_relaxed); });
    };
  };
  return prepared;
}

// Workers that look at a list under a lock that all share; between two looks they wait, twice as long each time up to
// `most` pauses, as StarPU's do (thesis, section 5.4.3).
PreparedKernel polling(std::uint32_t most) {
  struct List {
    alignas(64) std::atomic<bool> is_locked{false};
    alignas(64) std::uint64_t length = 0;
  };
  const auto list = std::make_shared<List>();
  PreparedKernel prepared;
  prepared.set.prepare = [list, most] {
    return [list, most, pauses = std::uint32_t{1}](std::size_t) mutable {
      return timed([&] {
        for (std::uint32_t spent = 0; spent < 10'000;) {
          while (list->is_locked.exchange(true, std::memory_order_acquire)) base::pause();
          const bool is_empty = list->length == 0;
          list->is_locked.store(false, std::memory_order_release);
          for (std::uint32_t i = 0; is_empty && i < pauses; ++i) base::pause();
          spent += pauses;
          pauses = std::min(2 * pauses, most);
        }
      });
    };
  };
  return prepared;
}

}  // namespace

bool has_wide_vectors() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") ||
         (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
#else
  return false;
#endif
}

bool has_streaming_stores() {
#if defined(__x86_64__)
  return true;
#else
  return false;
#endif
}

drivers::MappedMemory memory_on(std::uint32_t node, Bytes bytes) {
  drivers::MappedMemory memory(bytes, "an experiment on interference");
#if defined(SYS_mbind)
  constexpr int kBind = 2;  // MPOL_BIND
  const unsigned long nodes[4] = {1UL << (node % 64), 0, 0, 0};
  static_cast<void>(syscall(SYS_mbind, memory.address(), bytes.value, kBind, nodes, 65UL, 0U));
#endif
  std::memset(memory.address(), 0, bytes.value);
  return memory;
}

std::optional<PreparedKernel> prepare_kernel(const KernelDemand& demand) {
  std::optional<PreparedKernel> prepared;
  for (const OfMemory& of : kOfMemory) {
    if (of.name == demand.name) prepared = of_memory(of, demand);
  }
  if (demand.name == "primes") {
    prepared = of_cores([] { return static_cast<double>(primes_below(3000)); });
  } else if (demand.name == "wide") {
    prepared = of_cores([] { return wide(10'000); });
  } else if (demand.name == "poll-hard") {
    prepared = polling(2);
  } else if (demand.name == "poll-softly") {
    prepared = polling(32);
  } else if (demand.name == "poll-rarely") {
    prepared = polling(10'000);
  }
  if (prepared) prepared->set.kernels = {{.names = {std::string(demand.name)}}};
  return prepared;
}

}  // namespace vicinal::interference
