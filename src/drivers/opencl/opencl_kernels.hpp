// What vicinal/opencl.hpp gives to a kernel's function: one per queue.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "drivers/opencl/opencl_api.hpp"
#include "vicinal/units.hpp"

namespace vicinal::drivers {

// Compiled programs of one device. The device's thread alone.
class OpenClPrograms {
 public:
  cl_kernel kernel(cl_context context, cl_device_id device, const char* source, const char* name);

 private:
  std::map<std::string, ClProgram> programs_;  // by source
  std::map<std::pair<cl_program, std::string>, ClKernel> kernels_;
};

// The memory of one device, and its parts as objects of their own: OpenCL leaves open what happens where a memory
// and a part of it are used at once. The device's thread alone.
class OpenClMemory {
 public:
  // Throws CapacityError; `device` is for the message.
  std::byte* allocate(cl_context context, Bytes bytes, const std::string& device);
  // The address that stands for offset 0. Not null, which is the address of empty data.
  static std::byte* base() { return reinterpret_cast<std::byte*>(std::uintptr_t{1} << 32); }
  cl_mem all() const { return all_.get(); }
  // Kept: data come to the same places again.
  cl_mem part(const std::byte* address, Bytes bytes);

 private:
  ClMemory all_;
  std::map<std::pair<std::size_t, std::uint64_t>, ClMemory> parts_;  // by offset and bytes
};

struct OpenClNative {
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  cl_command_queue queue = nullptr;
  OpenClMemory* memory = nullptr;
  OpenClPrograms* programs = nullptr;
};

}  // namespace vicinal::drivers
