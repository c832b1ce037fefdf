#include "linalg/openblas.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <new>
#include <sstream>
#include <string_view>
#include <sys/mman.h>

#include <cblas.h>

#include "vicinal/error.hpp"

// --- work buffers --------------------------------------------------------------------------------
// Every BLAS call of OpenBLAS takes a buffer from a table of the library. In the sequential build
// of Debian (0.3.21, without USE_LOCKING) that table has no lock, so two workers now and then get
// one buffer and compute nonsense: of 24,000 products of 96 x 96 matrices by 8 threads on 2 cores,
// up to 50 were wrong. The two functions below take the place of the library's own (a symbol of the
// executable goes before one of a shared library) and give each thread its buffers.
// prepare_openblas() makes sure that they did take its place.
namespace {

// BUFFER_SIZE of OpenBLAS on x86-64 is 32 << 22 bytes; other processors have less. Address space
// only: pages come with first use.
constexpr std::size_t kBufferBytes = std::size_t{32} << 22;

struct ThreadBuffers {
  ThreadBuffers() = default;
  ThreadBuffers(const ThreadBuffers&) = delete;
  ThreadBuffers& operator=(const ThreadBuffers&) = delete;
  ~ThreadBuffers() {
    for (void* buffer : buffers) {
      if (buffer != nullptr) munmap(buffer, kBufferBytes);
    }
  }
  std::array<void*, 4> buffers{};  // one per nested call; OpenBLAS holds one, rarely two
  std::size_t held = 0;
  std::size_t taken = 0;
};

thread_local ThreadBuffers thread_buffers;

// Null if the system gives none.
void* buffer_of_this_thread(std::size_t number) {
  void*& buffer = thread_buffers.buffers[number];
  if (buffer == nullptr) {
    void* const mapped = mmap(nullptr, kBufferBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped != MAP_FAILED) buffer = mapped;
  }
  return buffer;
}

constexpr const char* kNoBuffer =
    "the system gives no 128 MiB of address space for the work buffer of OpenBLAS that each thread "
    "needs; raise the limit (ulimit -v), or ask for fewer workers";

// OpenBLAS would write to the null pointer, and no exception may cross it.
[[noreturn]] void end_without_buffer() {
  static_cast<void>(std::fprintf(stderr, "vicinal: %s\n", kNoBuffer));
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

extern "C" {

void* blas_memory_alloc(int /*position*/) {
  ThreadBuffers& mine = thread_buffers;
  if (mine.held == mine.buffers.size()) return nullptr;
  void* const buffer = buffer_of_this_thread(mine.held);
  if (buffer == nullptr) end_without_buffer();
  ++mine.held;
  ++mine.taken;
  return buffer;
}

// Calls nest, so the buffer given back is the last one taken.
void blas_memory_free(void* /*buffer*/) {
  --thread_buffers.held;
}

}  // extern "C"

namespace vicinal::linalg {

namespace {

void require_own_buffers() {
  require_work_buffer();
  const std::size_t before = thread_buffers.taken;
  const std::array<double, 4> a{1, 2, 3, 4};
  std::array<double, 4> c{};
  // Not dgemm, which does small products without a buffer.
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, 2, 2, 1.0, a.data(), 2, 0.0, c.data(), 2);
  if (thread_buffers.taken != before || openblas_get_parallel() != OPENBLAS_SEQUENTIAL) return;
  throw UsageError(
      "this OpenBLAS (" + std::string(openblas_get_config()) +
      ") has no locks and its work buffers cannot be replaced, so several workers cannot call it: "
      "link it as a shared library, or one built with USE_THREAD=0 USE_LOCKING=1");
}

// OpenBLAS 0.3.21 knows processors by number and gives those that are younger than it the kernels
// of a Pentium 4 ("Prescott"): measured here (Emerald Rapids, dgemm of 512 x 512), 17 GFlop/s
// instead of 66. If that happened, and the user chose nothing, choose by what the processor can do.
void choose_kernels() {
#if defined(__x86_64__)
  const std::string_view core = openblas_get_corename();
  const bool is_fallback = core == "Prescott" || core == "Core2" || core == "Nehalem";
  if (!is_fallback || std::getenv("OPENBLAS_CORETYPE") != nullptr) return;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!avx512 && !avx2) return;
  // Exported by every OpenBLAS built with DYNAMIC_ARCH; another one has no choice of kernels.
  using Function = void (*)();
  const auto quit = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "gotoblas_dynamic_quit"));
  const auto init = reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, "gotoblas_dynamic_init"));
  if (quit == nullptr || init == nullptr) return;
  setenv("OPENBLAS_CORETYPE", avx512 ? "SkylakeX" : "Haswell", 1);
  quit();
  init();
#endif
}

}  // namespace

void require_work_buffer() {
  if (buffer_of_this_thread(0) == nullptr) throw CapacityError(kNoBuffer);
}

void prepare_openblas() {
  static std::once_flag once;
  std::call_once(once, [] {
    choose_kernels();
    require_own_buffers();
  });
}

std::string openblas_description() {
  std::istringstream config(openblas_get_config());  // "OpenBLAS 0.3.21 NO_LAPACKE ..."
  std::string library;
  std::string version;
  config >> library >> version;
  return library + " " + version + " " + openblas_get_corename();
}

}  // namespace vicinal::linalg
