#include "linalg/cuda_kernels.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "linalg/device_kernels.hpp"
#include "linalg/pivots.hpp"
#include "vicinal/cuda.hpp"
#include "vicinal/error.hpp"

namespace vicinal::linalg {

namespace {

// Values of NVIDIA's headers.
enum Operation : int { kPlain = 0, kTransposed = 1 };
enum Triangle : int { kLower = 0, kUpper = 1 };
enum Side : int { kLeft = 0, kRight = 1 };
enum Diagonal : int { kNonUnit = 0, kUnit = 1 };

using Blas = cublasContext*;
using Solver = cusolverDnContext*;

template <typename T>
using GemmFunction = int(Blas, int, int, int, int, int, const T*, const T*, int, const T*, int,
                         const T*, T*, int);
template <typename T>
using SyrkFunction = int(Blas, int, int, int, int, const T*, const T*, int, const T*, T*, int);
template <typename T>
using TrsmFunction = int(Blas, int, int, int, int, int, int, const T*, const T*, int, T*, int);
template <typename T>
using GeamFunction = int(Blas, int, int, int, int, const T*, const T*, int, const T*, const T*, int,
                         T*, int);
template <typename T>
using PackFunction = int(Blas, int, int, const T*, int, T*);
template <typename T>
using UnpackFunction = int(Blas, int, int, const T*, T*, int);
template <typename T>
using PotrfRoomFunction = int(Solver, int, int, T*, int, int*);
template <typename T>
using PotrfFunction = int(Solver, int, int, T*, int, T*, int, int*);
template <typename T>
using GetrfRoomFunction = int(Solver, int, int, T*, int, int*);
template <typename T>
using GetrfFunction = int(Solver, int, int, T*, int, T*, int*, int*);

template <typename T>
constexpr const char* named(const char* of_float, const char* of_double) {
  return sizeof(T) == sizeof(float) ? of_float : of_double;
}

template <typename Function, typename... Arguments>
void call_blas(const KernelContext& k, const char* name, Arguments... arguments) {
  auto* const function = reinterpret_cast<Function*>(cuda::blas_function(k, name));
  cuda::check_blas(function(cuda::blas(k), arguments...), name);
}
template <typename Function, typename... Arguments>
void call_solver(const KernelContext& k, const char* name, Arguments... arguments) {
  auto* const function = reinterpret_cast<Function*>(cuda::solver_function(k, name));
  cuda::check_solver(function(cuda::solver(k), arguments...), name);
}

template <typename T>
struct CudaBlas {
  static void gemm(const KernelContext& k, Product product) {
    const DeviceShape a = shape_of(k, 0);
    const DeviceShape c = shape_of(k, 2);
    const T alpha = static_cast<T>(product.alpha);
    const T beta = static_cast<T>(product.beta);
    call_blas<GemmFunction<T>>(k, named<T>("cublasSgemm_v2", "cublasDgemm_v2"), kPlain,
                               product.transposed ? kTransposed : kPlain, c.rows, c.columns,
                               a.columns, &alpha, k.data<T>(0), a.ld, k.data<T>(1),
                               shape_of(k, 1).ld, &beta, k.data<T>(2), c.ld);
  }

  static void syrk(const KernelContext& k) {
    const DeviceShape a = shape_of(k, 0);
    const DeviceShape c = shape_of(k, 1);
    const T alpha{-1};
    const T beta{1};
    call_blas<SyrkFunction<T>>(k, named<T>("cublasSsyrk_v2", "cublasDsyrk_v2"), kLower, kPlain,
                               c.rows, a.columns, &alpha, k.data<T>(0), a.ld, &beta, k.data<T>(1),
                               c.ld);
  }

  static void trsm(const KernelContext& k, Solve solve) {
    const DeviceShape b = shape_of(k, 1);
    const T one{1};
    const bool from_left = solve == Solve::left_lower_unit;
    call_blas<TrsmFunction<T>>(
        k, named<T>("cublasStrsm_v2", "cublasDtrsm_v2"), from_left ? kLeft : kRight,
        solve == Solve::right_upper ? kUpper : kLower,
        solve == Solve::right_lower_transposed ? kTransposed : kPlain, from_left ? kUnit : kNonUnit,
        b.rows, b.columns, &one, k.data<T>(0), shape_of(k, 0).ld, k.data<T>(1), b.ld);
  }
};

// What a factorisation needs beside the tile.
template <typename T>
struct Workspace {
  Workspace(const KernelContext& k, std::size_t elements) {
    constexpr std::size_t kAligned = 256;
    std::byte* const all = cuda::workspace(k, kAligned + elements * sizeof(T));
    info = reinterpret_cast<int*>(all);
    work = reinterpret_cast<T*>(all + kAligned);
  }
  int* info;
  T* work;
};

// The task ends with what the number says that cuSOLVER leaves.
void check_at_end(const KernelContext& k, const int* info, const char* function,
                  void (*require)(const TaskIndex&, int)) {
  cuda::check_at_end(k, info, [task = k.parameter<TaskIndex>(), function, require](int minor) {
    if (minor < 0) throw DeviceError(fmt::format("{}: argument {} is wrong", function, -minor));
    require(task, minor);
  });
}

// No function of cuBLAS sets what is above a diagonal: the triangle is put aside while all becomes 0.
template <typename T>
void zero_above_diagonal(const KernelContext& k, T* aside) {
  const DeviceShape a = shape_of(k, 0);
  T* const data = k.data<T>(0);
  const T zero{0};
  call_blas<PackFunction<T>>(k, named<T>("cublasStrttp", "cublasDtrttp"), kLower, a.rows, data,
                             a.ld, aside);
  call_blas<GeamFunction<T>>(k, named<T>("cublasSgeam", "cublasDgeam"), kPlain, kPlain, a.rows,
                             a.columns, &zero, data, a.ld, &zero, data, a.ld, data, a.ld);
  call_blas<UnpackFunction<T>>(k, named<T>("cublasStpttr", "cublasDtpttr"), kLower, a.rows, aside,
                               data, a.ld);
}

template <typename T>
void potrf(KernelContext& k) {
  constexpr const char* kName = named<T>("cusolverDnSpotrf", "cusolverDnDpotrf");
  const DeviceShape a = shape_of(k, 0);
  int elements = 0;
  call_solver<PotrfRoomFunction<T>>(
      k, named<T>("cusolverDnSpotrf_bufferSize", "cusolverDnDpotrf_bufferSize"), kLower, a.rows,
      k.data<T>(0), a.ld, &elements);
  const auto n = static_cast<std::size_t>(a.rows);
  const Workspace<T> room(k, std::max(static_cast<std::size_t>(elements), n * (n + 1) / 2));
  call_solver<PotrfFunction<T>>(k, kName, kLower, a.rows, k.data<T>(0), a.ld, room.work, elements,
                                room.info);
  zero_above_diagonal(k, room.work);
  check_at_end(k, room.info, kName, require_potrf);
}

// No place for pivots: no rows are exchanged.
template <typename T>
void getrf(KernelContext& k) {
  constexpr const char* kName = named<T>("cusolverDnSgetrf", "cusolverDnDgetrf");
  const DeviceShape a = shape_of(k, 0);
  int elements = 0;
  call_solver<GetrfRoomFunction<T>>(
      k, named<T>("cusolverDnSgetrf_bufferSize", "cusolverDnDgetrf_bufferSize"), a.rows, a.columns,
      k.data<T>(0), a.ld, &elements);
  const Workspace<T> room(k, static_cast<std::size_t>(elements));
  call_solver<GetrfFunction<T>>(k, kName, a.rows, a.columns, k.data<T>(0), a.ld, room.work,
                                static_cast<int*>(nullptr), room.info);
  check_at_end(k, room.info, kName, require_getrf);
}

}  // namespace

template <typename T>
Kernel cuda_kernel(std::string_view name) {
  if (name == "potrf") return potrf<T>;
  if (name == "getrf") return getrf<T>;
  return device_kernel<CudaBlas<T>>(name);
}
template Kernel cuda_kernel<float>(std::string_view name);
template Kernel cuda_kernel<double>(std::string_view name);

}  // namespace vicinal::linalg
