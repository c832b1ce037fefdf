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

// All that take a context throw UsageError in a task that does not run on a CUDA device.
CUstream_st* stream(const KernelContext& k);
int device(const KernelContext& k);  // its number, as CUDA counts: CUDA_VISIBLE_DEVICES is heeded

// cuBLAS and cuSOLVER: handles of the stream, made with its first call, with default modes. They are the stream's: what
// a kernel changes of them the next one finds. The libraries are found when they are first asked for (options
// cublas_library and cusolver_library). Throws UsageError: there is none; DeviceError.
cublasContext* blas(const KernelContext& k);
cusolverDnContext* solver(const KernelContext& k);
// A function of the same library, for a program that is not linked with it: "cublasDgemm_v2". Throws UsageError.
void* blas_function(const KernelContext& k, const char* name);
void* solver_function(const KernelContext& k, const char* name);
// Throw DeviceError that names the call, unless the status is 0.
void check_blas(int status, const char* call);
void check_solver(int status, const char* call);

// Memory of the stream beside the data, for what this call puts on it: the next kernel on the stream is given the same.
// Aligned to 256 bytes; ask once, for all. What device_memory leaves is there for it. Throws DeviceError.
std::byte* workspace(const KernelContext& k, std::size_t bytes);
// Reads the number at `info`, in the device's memory, when what the kernel has put on the stream so far is done, and
// gives it to `check` as KernelContext::at_end does; cuSOLVER's devInfo is one. Throws DeviceError.
void check_at_end(const KernelContext& k, const int* info, std::function<void(int)> check);

}  // namespace vicinal::cuda
