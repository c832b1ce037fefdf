// cuBLAS and cuSOLVER on one device, found when a kernel first asks for them, and what their functions need beside the
// data: room on the device, and a place in RAM for the number by which they say that a matrix was not fit.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/cuda/cuda_api.hpp"

namespace vicinal::drivers {

// Of the options; empty: the usual names are tried.
struct CudaLibraryNames {
  std::string blas;
  std::string solver;
};

// What the two have in common: a handle is made, is told its stream, and is destroyed.
struct CudaLibraryKind {
  const char* called;  // "cuBLAS"
  const char* option;  // that names its file
  std::span<const char* const> usual_names;
  const char* create;
  const char* set_stream;
  const char* destroy;
  void (*check)(int status, const char* call);
};

// One of them. The device's thread alone, its context being current.
class CudaLibrary {
 public:
  CudaLibrary(const CudaLibraryKind& kind, std::string name)
      : kind_(kind), name_(std::move(name)) {}
  // The stream's own, made with the first call. Throws UsageError: no such library; DeviceError.
  void* handle(cu::Stream stream);
  // Throws UsageError: no such library, or it has none of that name.
  void* function(std::string_view name);
  void close() noexcept;

 private:
  void load();

  const CudaLibraryKind& kind_;
  std::string name_;         // empty: not asked for by name
  void* library_ = nullptr;  // loaded for as long as the process lasts
  std::map<std::string, void*, std::less<>> functions_;
  std::map<cu::Stream, void*> handles_;
};

class CudaLibraries {
 public:
  CudaLibraries(const cu::Api& api, const CudaLibraryNames& names);

  CudaLibrary blas;
  CudaLibrary solver;
  // Of the stream, at least so large. Throws DeviceError.
  std::byte* workspace(cu::Stream stream, std::size_t bytes);
  // The number there, once what is on the stream so far has been done. Throws DeviceError.
  std::shared_ptr<const int> read(cu::Stream stream, const int* on_device);
  // Gives all back. The streams are empty, the context is current.
  void close() noexcept;

 private:
  struct Room {
    cu::Address address = 0;
    std::size_t bytes = 0;
  };
  void check(cu::Result result, const char* call) const;
  void pin_numbers();

  const cu::Api& api_;
  std::map<cu::Stream, Room> rooms_;
  std::unique_ptr<int, void (*)(void*)> numbers_;  // a page, pinned: copies there do not wait
  std::vector<int*> free_numbers_;
};

}  // namespace vicinal::drivers
