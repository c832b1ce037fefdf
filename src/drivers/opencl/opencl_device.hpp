// OpenCL devices: those that there are, and the calls that QueuedDriver asks for. All data of a device lie in one
// buffer; a device address is an offset in it, beyond a base that stands for nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "drivers/queued/queued_device.hpp"
#include "vicinal/units.hpp"

namespace vicinal::drivers {

// One of those that the system's OpenCL knows, in its order.
struct OpenClDescription {
  std::string name;
  Bytes memory;          // in all
  Bytes largest_buffer;  // what can be used of it
  std::uint32_t units = 0;
};
// Empty where there is no OpenCL, also in a build without it.
std::vector<OpenClDescription> opencl_devices();

// The device of that number, with so many queues for kernels. Throws DeviceError; UsageError: there is none.
std::unique_ptr<QueuedDevice> open_opencl_device(std::uint32_t number, std::uint32_t run_queues,
                                                 DeviceKernels kernels = DeviceKernels::of_device);

}  // namespace vicinal::drivers
