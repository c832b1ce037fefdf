// What NVIDIA's own libraries do: one call of cuBLAS or cuSOLVER on whole matrices in the device's memory, and
// cublasXt's product of matrices in RAM.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "devices/rows.hpp"
#include "vicinal/cuda.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace devices {

// Three of n x n doubles, one behind the other, in pinned RAM.
struct Matrices {
  std::byte* memory = nullptr;
  std::uint64_t n = 0;

  vicinal::Bytes bytes() const { return {n * n * sizeof(double)}; }
  // As they are pinned: all at once.
  vicinal::Bytes all_bytes() const { return bytes() * 3; }
  double* at(std::size_t number) const {
    return reinterpret_cast<double*>(memory + number * bytes().value);
  }
};

// Random numbers in [-1/2, 1/2), and n more on the diagonal: factorised without pivots, and again as often as wanted.
inline void fill(const Matrices& matrices, std::size_t count) {
  const std::uint64_t n = matrices.n;
  std::vector<std::jthread> threads;
  const std::uint64_t parts = std::max(1U, std::thread::hardware_concurrency());
  for (std::uint64_t part = 0; part < parts; ++part) {
    threads.emplace_back([=] {
      std::uint64_t random = part + 1;
      for (std::uint64_t column = count * n * part / parts; column < count * n * (part + 1) / parts;
           ++column) {
        double* const numbers = matrices.at(0) + column * n;
        for (std::uint64_t i = 0; i < n; ++i) {
          random = random * 6364136223846793005ULL + 1442695040888963407ULL;
          numbers[i] = static_cast<double>(random >> 11) * 0x1p-53 - 0.5;
        }
        numbers[column % n] += static_cast<double>(n);
      }
    });
  }
}

template <typename... Arguments>
void call_solver(const vicinal::KernelContext& k, const char* name, Arguments... arguments) {
  using Function = int(cusolverDnContext*, Arguments...);
  auto* const function = reinterpret_cast<Function*>(vicinal::cuda::solver_function(k, name));
  vicinal::cuda::check_solver(function(vicinal::cuda::solver(k), arguments...), name);
}

// Room for the work and for the number by which cuSOLVER says how it went, which must be 0.
struct Beside {
  Beside(const vicinal::KernelContext& k, int elements)
      : info(reinterpret_cast<int*>(
            vicinal::cuda::workspace(k, 256 + static_cast<std::size_t>(elements) * 8))),
        work(reinterpret_cast<double*>(info + 64)) {}
  int* info;
  double* work;
  void require_none(const vicinal::KernelContext& k, const char* name) const {
    vicinal::cuda::check_at_end(k, info, [name](int number) {
      if (number != 0) throw vicinal::DeviceError(fmt::format("{}: info {}", name, number));
    });
  }
};

inline int order(const vicinal::KernelContext& k) {
  return static_cast<int>(k.operand(0).layout.rows());
}

inline void whole_gemm(vicinal::KernelContext& k) {
  const int n = order(k);
  const double one = 1;
  const double zero = 0;
  using Gemm = int(cublasContext*, int, int, int, int, int, const double*, const double*, int,
                   const double*, int, const double*, double*, int);
  constexpr const char* kName = "cublasDgemm_v2";
  auto* const gemm = reinterpret_cast<Gemm*>(vicinal::cuda::blas_function(k, kName));
  vicinal::cuda::check_blas(gemm(vicinal::cuda::blas(k), 0, 0, n, n, n, &one, k.data<double>(1), n,
                                 k.data<double>(2), n, &zero, k.data<double>(0), n),
                            kName);
}

inline void whole_potrf(vicinal::KernelContext& k) {
  const int n = order(k);
  int elements = 0;
  double* const a = k.data<double>(0);
  call_solver(k, "cusolverDnDpotrf_bufferSize", 0, n, a, n, &elements);
  const Beside beside(k, elements);
  call_solver(k, "cusolverDnDpotrf", 0, n, a, n, beside.work, elements, beside.info);
  beside.require_none(k, "cusolverDnDpotrf");
}

inline void whole_getrf(vicinal::KernelContext& k) {
  const int n = order(k);
  int elements = 0;
  double* const a = k.data<double>(0);
  call_solver(k, "cusolverDnDgetrf_bufferSize", n, n, a, n, &elements);
  const Beside beside(k, elements);
  call_solver(k, "cusolverDnDgetrf", n, n, a, n, beside.work, static_cast<int*>(nullptr),
              beside.info);
  beside.require_none(k, "cusolverDnDgetrf");
}

// The best of a few calls on matrices that are on the device already.
inline double in_core_seconds(const Settings& settings, const Matrices& matrices,
                              vicinal::Kernel kernel, std::size_t operands) {
  vicinal::Options options = options_of(settings);
  options.device_memory = vicinal::Bytes{(matrices.bytes().value + 4096) * operands};
  options.device_queues = 1;
  const vicinal::Codelet codelet{.name = "whole",
                                 .kernels = {{vicinal::ProcessorKind::cuda, kernel}}};
  vicinal::Runtime runtime(options);
  runtime.pin(matrices.memory, matrices.all_bytes());
  std::vector<vicinal::Operand> of;
  for (std::size_t i = 0; i < operands; ++i) {
    const vicinal::TileShape shape{matrices.n, matrices.n, 0, sizeof(double)};
    const vicinal::Handle handle = runtime.register_tile(matrices.at(i), shape);
    of.push_back(i == 0 ? RW(handle) : R(handle));
  }
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const double begin = seconds_now();
    runtime.submit({.codelet = &codelet, .operands = of});
    runtime.wait();
    if (round > 0) best = std::min(best, seconds_now() - begin);
  }
  for (const vicinal::Operand& operand : of) {
    runtime.unregister(operand.handle, vicinal::WriteBack::no);
  }
  runtime.unpin(matrices.memory);
  return best;
}

// Operations of the whole, by application.
inline double operations(const std::string& application, std::uint64_t n) {
  const double order = static_cast<double>(n);
  const double cube = order * order * order;
  return application == "gemm" ? 2 * cube : application == "lu" ? 2 * cube / 3 : cube / 3;
}

// GF/s by application; 0 where a library is missing.
inline std::map<std::string, double> measure_in_core(const Settings& settings,
                                                     const Matrices& matrices, Rows& rows) {
  std::map<std::string, double> rates;
  const auto measure = [&](const char* application, vicinal::Kernel kernel, std::size_t operands) {
    try {
      const double seconds = in_core_seconds(settings, matrices, kernel, operands);
      rates[application] = operations(application, matrices.n) / seconds * 1e-9;
      rows.add({.what = std::string("reference_") + application,
                .n = matrices.n,
                .seconds = seconds,
                .value = rates[application],
                .unit = "GF/s"});
    } catch (const vicinal::Error& error) {
      say(fmt::format("the reference of {}: skipped: {}", application, error.what()));
    }
  };
  fill(matrices, 3);
  measure("gemm", whole_gemm, 3);
  fill(matrices, 1);
  measure("cholesky", whole_potrf, 1);
  fill(matrices, 1);
  measure("lu", whole_getrf, 1);
  return rates;
}

class Xt {
 public:
  explicit Xt(const Settings& settings) {
    std::vector<std::string> names{settings.cublas_library};
    if (names[0].empty()) names = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
    for (const std::string& name : names) {
      if (library_ == nullptr) library_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    }
  }
  // Seconds of C = A B, blocks of so many rows and columns; the better of two. Throws UsageError: no cublasXt.
  double gemm(const Matrices& m, int block) const {
    void* handle = nullptr;
    int device = 0;
    vicinal::cuda::check_blas(function<int(void**)>("cublasXtCreate")(&handle), "cublasXtCreate");
    const double one = 1;
    const double zero = 0;
    double best = 1e9;
    int status = function<int(void*, int, int*)>("cublasXtDeviceSelect")(handle, 1, &device);
    if (status == 0) status = function<int(void*, int)>("cublasXtSetBlockDim")(handle, block);
    using Gemm =
        int(void*, int, int, std::size_t, std::size_t, std::size_t, const double*, const double*,
            std::size_t, const double*, std::size_t, const double*, double*, std::size_t);
    for (int round = 0; round < 2 && status == 0; ++round) {
      const double begin = seconds_now();
      status = function<Gemm>("cublasXtDgemm")(handle, 0, 0, m.n, m.n, m.n, &one, m.at(1), m.n,
                                               m.at(2), m.n, &zero, m.at(0), m.n);
      best = std::min(best, seconds_now() - begin);
    }
    function<int(void*)>("cublasXtDestroy")(handle);
    vicinal::cuda::check_blas(status, "cublasXtDgemm");
    return best;
  }

 private:
  template <typename Function>
  Function* function(const char* name) const {
    void* const found = library_ != nullptr ? ::dlsym(library_, name) : nullptr;
    if (found == nullptr) throw vicinal::UsageError(std::string("there is no ") + name);
    return reinterpret_cast<Function*>(found);
  }
  void* library_ = nullptr;
};

// Returns GF/s; 0: skipped.
inline double measure_xt(const Settings& settings, const Matrices& matrices, Rows& rows) {
  const auto tile = static_cast<int>(std::min(settings.tile, matrices.n));
  try {
    const double seconds = Xt(settings).gemm(matrices, tile);
    const double rate = operations("gemm", matrices.n) / seconds * 1e-9;
    rows.add({.what = "cublasxt_gemm",
              .n = matrices.n,
              .tile = settings.tile,
              .seconds = seconds,
              .value = rate,
              .unit = "GF/s"});
    return rate;
  } catch (const vicinal::Error& error) {
    say(std::string("cublasXt: skipped: ") + error.what());
    return 0;
  }
}

}  // namespace devices
