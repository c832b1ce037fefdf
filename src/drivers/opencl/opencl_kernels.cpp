#if VICINAL_HAVE_OPENCL

#include "drivers/opencl/opencl_kernels.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.hpp"
#include "vicinal/error.hpp"
#include "vicinal/opencl.hpp"

namespace vicinal::drivers {

const char* opencl_error_name(cl_int code) {
  struct Name {
    cl_int code;
    const char* name;
  };
  // Those that a correct call may meet.
  static constexpr std::array<Name, 14> kNames{{
      {CL_DEVICE_NOT_FOUND, "CL_DEVICE_NOT_FOUND"},
      {CL_DEVICE_NOT_AVAILABLE, "CL_DEVICE_NOT_AVAILABLE"},
      {CL_MEM_OBJECT_ALLOCATION_FAILURE, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
      {CL_OUT_OF_RESOURCES, "CL_OUT_OF_RESOURCES"},
      {CL_OUT_OF_HOST_MEMORY, "CL_OUT_OF_HOST_MEMORY"},
      {CL_BUILD_PROGRAM_FAILURE, "CL_BUILD_PROGRAM_FAILURE"},
      {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
       "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
      {CL_INVALID_VALUE, "CL_INVALID_VALUE"},
      {CL_INVALID_BUFFER_SIZE, "CL_INVALID_BUFFER_SIZE"},
      {CL_INVALID_KERNEL_NAME, "CL_INVALID_KERNEL_NAME"},
      {CL_INVALID_KERNEL_ARGS, "CL_INVALID_KERNEL_ARGS"},
      {CL_INVALID_ARG_SIZE, "CL_INVALID_ARG_SIZE"},
      {CL_INVALID_WORK_GROUP_SIZE, "CL_INVALID_WORK_GROUP_SIZE"},
      {CL_INVALID_COMMAND_QUEUE, "CL_INVALID_COMMAND_QUEUE"},
  }};
  const auto* const found = std::ranges::find(kNames, code, &Name::code);
  return found != kNames.end() ? found->name : "an error";
}

cl_kernel OpenClPrograms::kernel(cl_context context, cl_device_id device, const char* source,
                                 const char* name) {
  ClProgram& program = programs_[source];
  cl_int code = CL_SUCCESS;
  if (program == nullptr) {
    ClProgram made(clCreateProgramWithSource(context, 1, &source, nullptr, &code));
    opencl::check(code, "clCreateProgramWithSource");
    code = clBuildProgram(made.get(), 1, &device, "", nullptr, nullptr);
    if (code != CL_SUCCESS) {
      std::string log(16384, '\0');
      std::size_t bytes = 0;
      clGetProgramBuildInfo(made.get(), device, CL_PROGRAM_BUILD_LOG, log.size(), log.data(),
                            &bytes);
      log.resize(bytes > 0 ? bytes - 1 : 0);
      throw DeviceError(fmt::format("the OpenCL program of kernel {} cannot be built ({}):\n{}",
                                    name, opencl_error_name(code), log));
    }
    program = std::move(made);
  }
  ClKernel& kernel = kernels_[{program.get(), name}];
  if (kernel == nullptr) {
    kernel.reset(clCreateKernel(program.get(), name, &code));
    if (code != CL_SUCCESS) {
      throw DeviceError(
          fmt::format("the OpenCL program has no kernel {} ({})", name, opencl_error_name(code)));
    }
  }
  return kernel.get();
}

std::byte* OpenClMemory::allocate(cl_context context, Bytes bytes, const std::string& device) {
  cl_int code = CL_SUCCESS;
  all_.reset(clCreateBuffer(context, CL_MEM_READ_WRITE, bytes.value, nullptr, &code));
  if (code == CL_SUCCESS) return base();
  throw CapacityError(fmt::format("no {} of memory on {}: {}; lower the option device_memory",
                                  base::format_bytes(bytes), device, opencl_error_name(code)));
}

cl_mem OpenClMemory::part(const std::byte* address, Bytes bytes) {
  const auto offset = static_cast<std::size_t>(address - base());
  constexpr std::size_t kMostKept = 65536;
  if (parts_.size() >= kMostKept) parts_.clear();  // what is on a queue lives on
  ClMemory& kept = parts_[{offset, bytes.value}];
  if (kept == nullptr) {
    const cl_buffer_region region{offset, bytes.value};
    cl_int code = CL_SUCCESS;
    kept.reset(clCreateSubBuffer(all_.get(), CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                                 &region, &code));
    opencl::check(code, "clCreateSubBuffer");
  }
  return kept.get();
}

}  // namespace vicinal::drivers

namespace vicinal::opencl {

namespace {

const drivers::OpenClNative& native(const KernelContext& k) {
  if (k.kind() != ProcessorKind::opencl) {
    throw UsageError(
        "vicinal::opencl is asked by a kernel that does not run on an OpenCL device; make it the "
        "codelet's implementation for ProcessorKind::opencl");
  }
  return *static_cast<const drivers::OpenClNative*>(k.native());
}

}  // namespace

cl_command_queue queue(const KernelContext& k) {
  return native(k).queue;
}
cl_context context(const KernelContext& k) {
  return native(k).context;
}
cl_device_id device(const KernelContext& k) {
  return native(k).device;
}

cl_mem buffer(const KernelContext& k, std::size_t i) {
  const OperandView& operand = k.operand(i);
  if (operand.address == nullptr) return nullptr;
  return native(k).memory->part(operand.address, operand.layout.bytes());
}

cl_kernel kernel(const KernelContext& k, const char* source, const char* name) {
  const drivers::OpenClNative& here = native(k);
  return here.programs->kernel(here.context, here.device, source, name);
}

void check(cl_int code, const char* call) {
  if (code == CL_SUCCESS) return;
  throw DeviceError(fmt::format("{}: {} ({})", call, drivers::opencl_error_name(code), code));
}

void launch(const KernelContext& k, cl_kernel kernel, std::initializer_list<std::size_t> items) {
  check(clEnqueueNDRangeKernel(queue(k), kernel, static_cast<cl_uint>(items.size()), nullptr,
                               items.begin(), nullptr, 0, nullptr, nullptr),
        "clEnqueueNDRangeKernel");
}

}  // namespace vicinal::opencl

#endif
