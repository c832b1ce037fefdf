#include "drivers/cuda/cuda_libraries.hpp"

#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <new>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "drivers/cuda/cuda_device.hpp"
#include "vicinal/cuda.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {

namespace {

constexpr std::array kBlasNames{"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                "libcublas.so"};
constexpr std::array kSolverNames{"libcusolver.so.12", "libcusolver.so.11", "libcusolver.so"};

constexpr CudaLibraryKind kBlas{.called = "cuBLAS",
                                .option = "cublas_library",
                                .usual_names = kBlasNames,
                                .create = "cublasCreate_v2",
                                .set_stream = "cublasSetStream_v2",
                                .destroy = "cublasDestroy_v2",
                                .check = cuda::check_blas};
constexpr CudaLibraryKind kSolver{.called = "cuSOLVER",
                                  .option = "cusolver_library",
                                  .usual_names = kSolverNames,
                                  .create = "cusolverDnCreate",
                                  .set_stream = "cusolverDnSetStream",
                                  .destroy = "cusolverDnDestroy",
                                  .check = cuda::check_solver};

constexpr std::size_t kPage = 4096;
// The option device_tasks allows no more tasks at once.
constexpr std::size_t kNumbers = kPage / sizeof(int);

}  // namespace

void CudaLibrary::load() {
  if (library_ != nullptr) return;
  std::vector<std::string> names{name_};
  if (name_.empty()) names.assign(kind_.usual_names.begin(), kind_.usual_names.end());
  std::string why;
  for (const std::string& name : names) {
    library_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ != nullptr) {
      name_ = name;
      return;
    }
    if (why.empty()) why = ::dlerror();
  }
  throw UsageError(
      fmt::format("{} cannot be loaded, tried {}: {}; install NVIDIA's CUDA libraries, or name its "
                  "file by the option {}",
                  kind_.called, fmt::join(names, ", "), why, kind_.option));
}

void* CudaLibrary::function(std::string_view name) {
  if (const auto found = functions_.find(name); found != functions_.end()) return found->second;
  load();
  std::string text(name);
  void* const function = ::dlsym(library_, text.c_str());
  if (function == nullptr) {
    throw UsageError(fmt::format("{} ({}) has no {}; name another version's file by the option {}",
                                 name_, kind_.called, name, kind_.option));
  }
  functions_.emplace(std::move(text), function);
  return function;
}

void* CudaLibrary::handle(cu::Stream stream) {
  void*& handle = handles_[stream];
  if (handle != nullptr) return handle;
  const auto create = reinterpret_cast<int (*)(void**)>(function(kind_.create));
  const auto set_stream = reinterpret_cast<int (*)(void*, cu::Stream)>(function(kind_.set_stream));
  const auto destroy = reinterpret_cast<int (*)(void*)>(function(kind_.destroy));
  void* made = nullptr;
  kind_.check(create(&made), kind_.create);
  if (const int status = set_stream(made, stream); status != 0) {
    destroy(made);
    kind_.check(status, kind_.set_stream);
  }
  return handle = made;
}

void CudaLibrary::close() noexcept {
  for (const auto& [stream, handle] : handles_) {
    if (handle == nullptr) continue;
    reinterpret_cast<int (*)(void*)>(functions_.find(kind_.destroy)->second)(handle);
  }
  handles_.clear();
}

CudaLibraries::CudaLibraries(const cu::Api& api, const CudaLibraryNames& names)
    : blas(kBlas, names.blas),
      solver(kSolver, names.solver),
      api_(api),
      numbers_(nullptr, std::free) {}

void CudaLibraries::check(cu::Result result, const char* call) const {
  if (result != 0) throw DeviceError(fmt::format("{}: {}", call, cu::describe(api_, result)));
}

std::byte* CudaLibraries::workspace(cu::Stream stream, std::size_t bytes) {
  Room& room = rooms_[stream];
  if (bytes > room.bytes) {
    if (room.address != 0) {
      check(api_.stream_wait(stream), "cuStreamSynchronize");  // what is on it uses the smaller one
      api_.memory_free(std::exchange(room.address, 0));
      room.bytes = 0;
    }
    if (const cu::Result result = api_.memory_allocate(&room.address, bytes); result != 0) {
      throw DeviceError(fmt::format(
          "no {} of memory on the device for a kernel's workspace: {}; lower the option "
          "device_memory",
          base::format_bytes(Bytes{bytes}), cu::describe(api_, result)));
    }
    room.bytes = bytes;
  }
  return reinterpret_cast<std::byte*>(room.address);
}

void CudaLibraries::pin_numbers() {
  std::unique_ptr<int, void (*)(void*)> page(static_cast<int*>(std::aligned_alloc(kPage, kPage)),
                                             std::free);
  if (page == nullptr) throw std::bad_alloc();
  free_numbers_.reserve(kNumbers);
  check(api_.host_register(page.get(), kPage, cu::kPortableHost), "cuMemHostRegister");
  numbers_ = std::move(page);
  for (std::size_t i = 0; i < kNumbers; ++i) free_numbers_.push_back(numbers_.get() + i);
}

std::shared_ptr<const int> CudaLibraries::read(cu::Stream stream, const int* on_device) {
  if (numbers_ == nullptr) pin_numbers();
  if (free_numbers_.empty()) {
    throw DeviceError(fmt::format(
        "more than {} numbers are being read at once; lower the option device_tasks", kNumbers));
  }
  const std::shared_ptr<int> number(free_numbers_.back(),
                                    [this](int* used) { free_numbers_.push_back(used); });
  free_numbers_.pop_back();
  check(api_.copy_out(number.get(), reinterpret_cast<cu::Address>(on_device), sizeof(int), stream),
        "cuMemcpyDtoHAsync");
  return number;
}

void CudaLibraries::close() noexcept {
  solver.close();
  blas.close();
  for (const auto& [stream, room] : rooms_) {
    if (room.address != 0) api_.memory_free(room.address);
  }
  rooms_.clear();
  if (numbers_ != nullptr) api_.host_unregister(numbers_.get());
  numbers_.reset();
}

}  // namespace vicinal::drivers

namespace vicinal::cuda {

namespace {

const drivers::CudaNative& native(const KernelContext& k) {
  if (k.kind() != ProcessorKind::cuda) {
    throw UsageError(
        "vicinal::cuda is asked by a kernel that does not run on a CUDA device; make it the "
        "codelet's implementation for ProcessorKind::cuda");
  }
  return *static_cast<const drivers::CudaNative*>(k.native());
}

struct Status {
  int number;
  const char* name;
};

void check_status(std::span<const Status> known, int status, const char* call) {
  if (status == 0) return;
  const char* name = "an error";
  for (const Status& one : known) {
    if (one.number == status) name = one.name;
  }
  throw DeviceError(fmt::format("{}: {} ({})", call, name, status));
}

}  // namespace

CUstream_st* stream(const KernelContext& k) {
  return native(k).stream;
}
int device(const KernelContext& k) {
  return native(k).device;
}

cublasContext* blas(const KernelContext& k) {
  return static_cast<cublasContext*>(native(k).libraries->blas.handle(native(k).stream));
}
cusolverDnContext* solver(const KernelContext& k) {
  return static_cast<cusolverDnContext*>(native(k).libraries->solver.handle(native(k).stream));
}
void* blas_function(const KernelContext& k, const char* name) {
  return native(k).libraries->blas.function(name);
}
void* solver_function(const KernelContext& k, const char* name) {
  return native(k).libraries->solver.function(name);
}

std::byte* workspace(const KernelContext& k, std::size_t bytes) {
  return native(k).libraries->workspace(native(k).stream, bytes);
}

void check_at_end(const KernelContext& k, const int* info, std::function<void(int)> check) {
  k.at_end([number = native(k).libraries->read(native(k).stream, info), check = std::move(check)] {
    check(*number);
  });
}

// Numbers as NVIDIA's headers have them.
void check_blas(int status, const char* call) {
  static constexpr std::array<Status, 9> kKnown{{{1, "CUBLAS_STATUS_NOT_INITIALIZED"},
                                                 {3, "CUBLAS_STATUS_ALLOC_FAILED"},
                                                 {7, "CUBLAS_STATUS_INVALID_VALUE"},
                                                 {8, "CUBLAS_STATUS_ARCH_MISMATCH"},
                                                 {11, "CUBLAS_STATUS_MAPPING_ERROR"},
                                                 {13, "CUBLAS_STATUS_EXECUTION_FAILED"},
                                                 {14, "CUBLAS_STATUS_INTERNAL_ERROR"},
                                                 {15, "CUBLAS_STATUS_NOT_SUPPORTED"},
                                                 {16, "CUBLAS_STATUS_LICENSE_ERROR"}}};
  check_status(kKnown, status, call);
}
void check_solver(int status, const char* call) {
  static constexpr std::array<Status, 9> kKnown{{{1, "CUSOLVER_STATUS_NOT_INITIALIZED"},
                                                 {2, "CUSOLVER_STATUS_ALLOC_FAILED"},
                                                 {3, "CUSOLVER_STATUS_INVALID_VALUE"},
                                                 {4, "CUSOLVER_STATUS_ARCH_MISMATCH"},
                                                 {5, "CUSOLVER_STATUS_MAPPING_ERROR"},
                                                 {6, "CUSOLVER_STATUS_EXECUTION_FAILED"},
                                                 {7, "CUSOLVER_STATUS_INTERNAL_ERROR"},
                                                 {8, "CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED"},
                                                 {9, "CUSOLVER_STATUS_NOT_SUPPORTED"}}};
  check_status(kKnown, status, call);
}

}  // namespace vicinal::cuda
