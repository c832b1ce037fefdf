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
// Of a typed task:
//
//   runtime.task("scale", on_opencl([](const KernelContext& k, opencl::Buffer<double> x, double by) {
//     cl_kernel kernel = opencl::kernel(k, kSource, "scale");
//     opencl::set_arguments(kernel, x.memory(), by);
//     opencl::launch(k, kernel, {x.size()});
//   }), inout(x), 2.0);
//
// The function puts work on queue(k) and returns without waiting for it; the task ends when that work has. Work that
// is put elsewhere is to be waited for in the function. Only in a build with OpenCL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>

#include "vicinal/codelet.hpp"
#include "vicinal/typed_task.hpp"

namespace vicinal::opencl {

// All functions with a context throw UsageError in a task that does not run on an OpenCL device.

cl_command_queue queue(const KernelContext& k);  // of the task, in order
cl_context context(const KernelContext& k);      // of the device
cl_device_id device(const KernelContext& k);     // that runs the task

// Operand i, packed; until the task has ended. Throws DeviceError. nullptr for empty data.
cl_mem buffer(const KernelContext& k, std::size_t i);

// Compiled once per device; the same `source` is the same program. Throws DeviceError with the compiler's words.
cl_kernel kernel(const KernelContext& k, const char* source, const char* name);

// Throws DeviceError that names the call, unless the code is CL_SUCCESS.
void check(cl_int code, const char* call);

// Sets all arguments of the kernel, in their order. Throws DeviceError if OpenCL refuses one.
template <typename... Arguments>
void set_arguments(cl_kernel kernel, const Arguments&... arguments) {
  static_assert((std::is_trivially_copyable_v<Arguments> && ...));
  cl_uint i = 0;
  (check(clSetKernelArg(kernel, i++, sizeof(Arguments), &arguments), "clSetKernelArg"), ...);
}

// Puts the kernel on the queue, over so many work items in each of up to three dimensions. The device chooses the
// groups. Throws DeviceError if OpenCL refuses.
void launch(const KernelContext& k, cl_kernel kernel, std::initializer_list<std::size_t> items);

// What the kernel of a typed task sees of data, packed: its memory and its shape. `const T`: the task only reads.
template <typename T, std::size_t rank = 1>
class Buffer {
 public:
  using element_type = T;  // NOLINT(readability-identifier-naming): as std::span has it
  // Of this operand. Throws what buffer() throws.
  Buffer(const KernelContext& k, std::size_t operand)
      : memory_(buffer(k, operand)), layout_(k.operand(operand).layout) {}
  // For set_arguments; null for empty data.
  cl_mem memory() const { return memory_; }
  // Number of elements.
  std::size_t size() const { return layout_.bytes().value / sizeof(T); }
  // Elements of a column.
  std::uint64_t rows() const { return rank == kRowMajor ? layout_.columns : in_line(); }
  // Elements of a row.
  std::uint64_t columns() const { return rank == kRowMajor ? in_line() : layout_.columns; }
  // From one column to the next, row-major from one row to the next, in elements.
  std::uint64_t leading_dimension() const { return layout_.stride_bytes / sizeof(T); }

 private:
  std::uint64_t in_line() const { return layout_.column_bytes / sizeof(T); }
  cl_mem memory_;
  Layout layout_;
};

}  // namespace vicinal::opencl

namespace vicinal {

namespace internals {

template <typename T, std::size_t rank>
struct ViewTraits<opencl::Buffer<T, rank>> {
  static constexpr std::size_t kRank = rank;
  using Element = T;
};

template <typename Given>
struct BufferFor {
  using Type = const Given&;
};
template <typename T, std::size_t rank, AccessMode mode>
struct BufferFor<Use<T, rank, mode>> {
  using Type = opencl::Buffer<T, rank>;
};
template <typename T>
struct BufferFor<Room<T>> {
  using Type = opencl::Buffer<T>;
};

struct OpenCl {
  static constexpr ProcessorKind kKind = ProcessorKind::opencl;
  static cl_command_queue first(const KernelContext& k) { return opencl::queue(k); }
  template <typename Given>
  using Argument = typename BufferFor<Given>::Type;
  template <typename Given>
  static Argument<Given> view(const KernelContext& k, std::size_t operand) {
    return {k, operand};
  }
};

}  // namespace internals

// The kernel of a typed task for OpenCL devices, called with the queue or a const KernelContext&, then with the arguments
// of the task, in which data are opencl::Buffer. See on_cuda for the rest.
template <typename Function>
constexpr auto on_opencl(Function&& function) {
  return internals::kernel_on<internals::OpenCl>(std::forward<Function>(function));
}

}  // namespace vicinal
