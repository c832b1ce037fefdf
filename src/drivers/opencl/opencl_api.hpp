// The OpenCL that is used: 1.2, which all platforms have; what belongs to it is freed by its owner.
#pragma once

#include <memory>
#include <type_traits>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

namespace vicinal::drivers {

template <typename Object, cl_int (*release)(Object)>
struct OpenClRelease {
  using pointer = Object;
  void operator()(Object object) const { release(object); }
};
template <typename Object, cl_int (*release)(Object)>
using OpenClOwner = std::unique_ptr<std::remove_pointer_t<Object>, OpenClRelease<Object, release>>;

using ClContext = OpenClOwner<cl_context, clReleaseContext>;
using ClQueue = OpenClOwner<cl_command_queue, clReleaseCommandQueue>;
using ClMemory = OpenClOwner<cl_mem, clReleaseMemObject>;
using ClProgram = OpenClOwner<cl_program, clReleaseProgram>;
using ClKernel = OpenClOwner<cl_kernel, clReleaseKernel>;

// "CL_OUT_OF_RESOURCES (-5)".
const char* opencl_error_name(cl_int code);

}  // namespace vicinal::drivers
