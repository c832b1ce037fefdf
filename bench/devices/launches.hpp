// Kernels in which there is nothing: so many per second through the runtime, and by a loop of the driver's API.
#pragma once

#include <algorithm>
#include <cstdint>
#include <dlfcn.h>
#include <stdexcept>
#include <string>

#include "devices/rows.hpp"
#include "drivers/cuda/cuda_api.hpp"
#include "vicinal/cuda.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace devices {

namespace cu = vicinal::drivers::cu;

// In the device's primary context, which is current on the thread that makes it.
class EmptyKernel {
 public:
  explicit EmptyKernel(const std::string& library) {
    void* const opened = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto found = [&](const char* name) {
      return opened != nullptr ? ::dlsym(opened, name) : nullptr;
    };
    const auto load = reinterpret_cast<int (*)(void**, const void*)>(found("cuModuleLoadData"));
    const auto function_of =
        reinterpret_cast<int (*)(void**, void*, const char*)>(found("cuModuleGetFunction"));
    launch_ = reinterpret_cast<Launch>(found("cuLaunchKernel"));
    unload_ = reinterpret_cast<int (*)(void*)>(found("cuModuleUnload"));
    if (load == nullptr || function_of == nullptr || launch_ == nullptr || unload_ == nullptr) {
      throw vicinal::UsageError(library + " launches no kernels");
    }
    if (load(&module_, kText) != 0 || function_of(&function_, module_, "empty") != 0) {
      throw vicinal::DeviceError("the empty kernel cannot be loaded");
    }
  }
  ~EmptyKernel() { unload_(module_); }
  EmptyKernel(const EmptyKernel&) = delete;
  EmptyKernel& operator=(const EmptyKernel&) = delete;

  void put(cu::Stream stream) const {
    if (launch_(function_, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr) != 0) {
      throw vicinal::DeviceError("cuLaunchKernel failed");
    }
  }

 private:
  using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, cu::Stream, void**, void**);
  // For every device since 2018.
  static constexpr const char* kText =
      ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry empty()\n{\n ret;\n}\n";
  void* module_ = nullptr;
  void* function_ = nullptr;
  Launch launch_ = nullptr;
  int (*unload_)(void*) = nullptr;
};

inline constexpr int kLaunches = 20000;
inline constexpr int kRounds = 3;  // the best is taken

inline double bare_seconds(const cu::Api& api, const EmptyKernel& kernel) {
  cu::Stream stream = nullptr;
  if (api.stream_create(&stream, cu::kNonBlockingStream) != 0) {
    throw vicinal::DeviceError("cuStreamCreate failed");
  }
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = seconds_now();
    for (int i = 0; i < kLaunches; ++i) kernel.put(stream);
    api.stream_wait(stream);
    best = std::min(best, seconds_now() - begin);
  }
  api.stream_destroy(stream);
  return best;
}

inline double runtime_seconds(const Settings& settings, const EmptyKernel& kernel) {
  const auto put = [&kernel](vicinal::KernelContext& k) { kernel.put(vicinal::cuda::stream(k)); };
  const vicinal::Codelet empty{
      .name = "empty", .kernels = {{vicinal::ProcessorKind::cuda, vicinal::Kernel::bind(put)}}};
  vicinal::Options options = options_of(settings);
  options.device_memory = vicinal::Bytes{1 << 20};
  vicinal::Runtime runtime(options);
  double best = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = seconds_now();
    for (int i = 0; i < kLaunches; ++i) runtime.submit({.codelet = &empty});
    runtime.wait();
    best = std::min(best, seconds_now() - begin);
  }
  return best;
}

inline void measure_launches(const Settings& settings, Rows& rows) {
  std::string why;
  const cu::Api* const api = cu::load(settings.cuda_library, why);
  cu::Context context = nullptr;
  if (api == nullptr || api->context_retain(&context, 0) != 0) throw vicinal::DeviceError(why);
  try {
    api->context_use(context);
    const EmptyKernel kernel(settings.cuda_library);
    const double bare = bare_seconds(*api, kernel);
    const double ours = runtime_seconds(settings, kernel);
    rows.add({.what = "launch_bare", .seconds = bare, .value = kLaunches / bare, .unit = "1/s"});
    rows.add({.what = "launch_runtime",
              .policy = options_of(settings).policy,
              .seconds = ours,
              .value = kLaunches / ours,
              .unit = "1/s",
              .reference = kLaunches / bare});
  } catch (const vicinal::UsageError& error) {
    say(std::string("launches: skipped: ") + error.what());
  }
  api->context_release(0);
}

}  // namespace devices
