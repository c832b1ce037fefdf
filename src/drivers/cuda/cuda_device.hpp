// CUDA devices: those that there are, and the calls that QueuedDriver asks for. Streams are its queues.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "drivers/cuda/cuda_libraries.hpp"
#include "drivers/queued/queued_device.hpp"
#include "vicinal/units.hpp"

struct CUstream_st;

namespace vicinal::drivers {

struct CudaDescription {
  std::string name;
  Bytes memory;  // in all
};
// Empty where the library is not there, or finds none.
std::vector<CudaDescription> cuda_devices(const std::string& library);

// The device of that number, with so many streams for kernels. Throws DeviceError; UsageError: there is none.
std::unique_ptr<QueuedDevice> open_cuda_device(const std::string& library, std::uint32_t number,
                                               std::uint32_t run_queues,
                                               DeviceKernels kernels = DeviceKernels::of_device,
                                               const CudaLibraryNames& libraries = {});

// What vicinal/cuda.hpp gives to a kernel's function.
struct CudaNative {
  CUstream_st* stream = nullptr;
  int device = 0;
  CudaLibraries* libraries = nullptr;
};

}  // namespace vicinal::drivers
