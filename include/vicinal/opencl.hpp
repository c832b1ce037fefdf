// Kernels for OpenCL devices: what a codelet's implementation for ProcessorKind::opencl asks for.
//
//   constexpr const char* kSource = R"(
//     __kernel void scale(__global double* x, double by) { x[get_global_id(0)] *= by; })";
//
//   void scale(vicinal::KernelContext& k) {
//     cl_kernel kernel = vicinal::opencl::kernel(k, kSource, "scale");
//     vicinal::opencl::set_arguments(kernel, vicinal::opencl::buffer(k, 0), k.parameter<double>());
//     vicinal::opencl::launch(k, kernel, {k.count<double>(0)});
//   }
//   const vicinal::Codelet codelet{.name = "scale", .kernels = {{vicinal::ProcessorKind::opencl, scale}}};
//
// The function puts work on queue(k) and returns without waiting for it; the task ends when that work has. Work that
// is put elsewhere is to be waited for in the function. Only in a build with OpenCL.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <type_traits>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include "vicinal/codelet.hpp"

namespace vicinal::opencl {

// All of these throw UsageError in a task that does not run on an OpenCL device.
cl_command_queue queue(const KernelContext& k);  // in order
cl_context context(const KernelContext& k);
cl_device_id device(const KernelContext& k);

// Operand i, packed; until the task has ended. Throws DeviceError. nullptr for empty data.
cl_mem buffer(const KernelContext& k, std::size_t i);

// Compiled once per device; the same `source` is the same program. Throws DeviceError with the compiler's words.
cl_kernel kernel(const KernelContext& k, const char* source, const char* name);

// Throws DeviceError that names the call, unless the code is CL_SUCCESS.
void check(cl_int code, const char* call);

template <typename... Arguments>
void set_arguments(cl_kernel kernel, const Arguments&... arguments) {
  static_assert((std::is_trivially_copyable_v<Arguments> && ...));
  cl_uint i = 0;
  (check(clSetKernelArg(kernel, i++, sizeof(Arguments), &arguments), "clSetKernelArg"), ...);
}

// Puts it on the queue, over so many work items in each of up to three dimensions. The device chooses the groups.
void launch(const KernelContext& k, cl_kernel kernel, std::initializer_list<std::size_t> items);

}  // namespace vicinal::opencl
