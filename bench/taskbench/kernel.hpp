// What a task of bench/taskbench computes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace taskbench {

enum class KernelType : std::uint8_t { empty, compute_bound, memory_bound };
inline constexpr std::string_view kKernelNames[] = {"empty", "compute_bound", "memory_bound"};

struct Kernel {
  KernelType type = KernelType::empty;
  std::uint64_t iterations = 0;
  std::uint64_t scratch = 0;   // bytes per thread, memory_bound
  std::uint64_t samples = 16;  // pieces of the scratch, one per iteration

  // Of each half of the scratch.
  std::uint64_t piece() const { return scratch / 2 / samples; }
  std::uint64_t flops() const;
  std::uint64_t bytes() const {
    return type == KernelType::memory_bound ? 2 * piece() * iterations : 0;
  }
  // What efficiency is the rate of: flops or bytes.
  std::uint64_t work() const { return type == KernelType::memory_bound ? bytes() : flops(); }
  void run() const;
};

using SmallArray = std::array<double, 64>;

// The compiler must take it as read and changed.
inline void keep(void* address) {
  asm volatile("" : : "r"(address) : "memory");
}

[[gnu::target("avx2,fma"), gnu::noinline]] inline void multiply_add_fused(
    SmallArray& values, std::uint64_t iterations) {
  for (std::uint64_t i = 0; i < iterations; ++i) {
    for (double& value : values) value = __builtin_fma(value, 0.999, 0.001);
  }
}
[[gnu::noinline]] inline void multiply_add(SmallArray& values, std::uint64_t iterations) {
  for (std::uint64_t i = 0; i < iterations; ++i) {
    for (double& value : values) value = value * 0.999 + 0.001;
  }
}

inline void compute(std::uint64_t iterations) {
  static const bool fused = __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2");
  SmallArray values;
  values.fill(0.5);
  fused ? multiply_add_fused(values, iterations) : multiply_add(values, iterations);
  keep(&values);
}

// Copies piece after piece of the first half of the thread's scratch to the second.
inline void copy_pieces(const Kernel& kernel) {
  thread_local std::vector<char> scratch;
  if (scratch.size() != kernel.scratch) scratch.assign(kernel.scratch, 1);
  char* const to = scratch.data() + kernel.scratch / 2;
  const std::uint64_t bytes = kernel.piece();
  for (std::uint64_t i = 0; i < kernel.iterations; ++i) {
    const std::uint64_t at = i % kernel.samples * bytes;
    std::memcpy(to + at, scratch.data() + at, bytes);
    keep(to);
  }
}

inline std::uint64_t Kernel::flops() const {
  return type == KernelType::compute_bound ? 2 * std::tuple_size_v<SmallArray> * iterations : 0;
}

inline void Kernel::run() const {
  if (type == KernelType::compute_bound) compute(iterations);
  if (type == KernelType::memory_bound) copy_pieces(*this);
}

}  // namespace taskbench
