// A build without OpenCL.
#if !VICINAL_HAVE_OPENCL

#include "drivers/opencl/opencl_device.hpp"
#include "vicinal/error.hpp"

namespace vicinal::drivers {

std::vector<OpenClDescription> opencl_devices() {
  return {};
}

std::unique_ptr<QueuedDevice> open_opencl_device(std::uint32_t /*number*/,
                                                 std::uint32_t /*run_queues*/,
                                                 DeviceKernels /*kernels*/) {
  throw UsageError(
      "opencl_devices: this build has no OpenCL; install an OpenCL loader with its headers "
      "(Debian: ocl-icd-opencl-dev) and build again, or set it to 0");
}

}  // namespace vicinal::drivers

#endif
