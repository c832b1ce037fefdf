// Kernels for CUDA devices: what a codelet's implementation for ProcessorKind::cuda asks for.
//
//   void scale(vicinal::KernelContext& k) {  // in a file that nvcc compiles
//     const auto n = k.count<double>(0);
//     scale_kernel<<<(n + 255) / 256, 256, 0, vicinal::cuda::stream(k)>>>(k.data<double>(0), n, k.parameter<double>());
//   }
//   const vicinal::Codelet codelet{.name = "scale", .kernels = {{vicinal::ProcessorKind::cuda, scale}}};
//
// The function puts work on the stream and returns without waiting for it; the task ends when that work has. Its
// operands lie in the device's memory, packed. The device's primary context is current, as the runtime API has it.
// This header needs nothing of CUDA: CUstream and cudaStream_t are pointers to the structure that is named here.
#pragma once

#include <cstddef>
#include <functional>

#include "vicinal/codelet.hpp"

struct CUstream_st;
struct cublasContext;      // cublasHandle_t points to it
struct cusolverDnContext;  // and cusolverDnHandle_t to this

namespace vicinal::cuda {

// All functions with a context throw UsageError in a task that does not run on a CUDA device.

// The stream of the worker that runs the task.
CUstream_st* stream(const KernelContext& k);
// The number of the device, as CUDA counts: CUDA_VISIBLE_DEVICES is respected.
int device(const KernelContext& k);

// The stream's cuBLAS handle, made with the first call, with default modes. The handle is the stream's: the next kernel
// finds the modes that a kernel sets. The library is loaded when first asked for (option cublas_library). Throws
// UsageError if the library is not there, DeviceError if cuBLAS refuses.
cublasContext* blas(const KernelContext& k);
// The same for cuSOLVER (option cusolver_library).
cusolverDnContext* solver(const KernelContext& k);
// The function of cuBLAS with this name, for a program that is not linked with the library: "cublasDgemm_v2". Throws
// UsageError if there is no such function.
void* blas_function(const KernelContext& k, const char* name);
// The same of cuSOLVER.
void* solver_function(const KernelContext& k, const char* name);
// Throws DeviceError with the name of the call, unless cuBLAS' status is 0.
void check_blas(int status, const char* call);
// The same for a status of cuSOLVER.
void check_solver(int status, const char* call);

// Memory of the stream beside the data, for what this call puts on it: the next kernel on the stream is given the same.
// Aligned to 256 bytes; ask once, for all. What device_memory leaves is there for it. Throws DeviceError.
std::byte* workspace(const KernelContext& k, std::size_t bytes);
// Reads the number at `info`, in the device's memory, when what the kernel has put on the stream so far is done, and
// gives it to `check` as KernelContext::at_end does; cuSOLVER's devInfo is one. Throws DeviceError.
void check_at_end(const KernelContext& k, const int* info, std::function<void(int)> check);

}  // namespace vicinal::cuda
