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

#include "vicinal/codelet.hpp"

struct CUstream_st;

namespace vicinal::cuda {

// Both throw UsageError in a task that does not run on a CUDA device.
CUstream_st* stream(const KernelContext& k);
int device(const KernelContext& k);  // its number, as CUDA counts: CUDA_VISIBLE_DEVICES is heeded

}  // namespace vicinal::cuda
