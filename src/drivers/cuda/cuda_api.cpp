#include "drivers/cuda/cuda_api.hpp"

#include <dlfcn.h>
#include <map>
#include <memory>
#include <mutex>

#include <fmt/format.h>

namespace vicinal::drivers::cu {

namespace {

// A process has one driver; tests load another library besides, and the state of either lasts as long as the process.
struct Loaded {
  std::unique_ptr<Api> api;  // null: it cannot be used
  std::string why;
};

template <typename Function>
bool find(void* library, const char* name, Function& function, std::string& why) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr) why = std::string("it has no ") + name;
  return function != nullptr;
}

bool find_all(void* library, Api& api, std::string& why) {
  const auto has = [&](const char* name, auto& function) {
    return find(library, name, function, why);
  };
  return has("cuInit", api.init) && has("cuGetErrorName", api.error_name) &&
         has("cuGetErrorString", api.error_string) && has("cuDeviceGetCount", api.device_count) &&
         has("cuDeviceGet", api.device_get) && has("cuDeviceGetName", api.device_name) &&
         has("cuDeviceTotalMem_v2", api.device_memory) &&
         has("cuDevicePrimaryCtxRetain", api.context_retain) &&
         has("cuDevicePrimaryCtxRelease_v2", api.context_release) &&
         has("cuCtxSetCurrent", api.context_use) && has("cuMemGetInfo_v2", api.memory_info) &&
         has("cuMemAlloc_v2", api.memory_allocate) &&
         has("cuMemAllocManaged", api.memory_allocate_managed) &&
         has("cuMemFree_v2", api.memory_free) && has("cuMemHostRegister_v2", api.host_register) &&
         has("cuMemHostUnregister", api.host_unregister) &&
         has("cuStreamCreate", api.stream_create) &&
         has("cuStreamDestroy_v2", api.stream_destroy) &&
         has("cuStreamSynchronize", api.stream_wait) &&
         has("cuStreamAddCallback", api.stream_callback) &&
         has("cuMemcpyHtoDAsync_v2", api.copy_in) && has("cuMemcpyDtoHAsync_v2", api.copy_out) &&
         has("cuMemcpy2DAsync_v2", api.copy_2d) && has("cuMemcpyDtoDAsync_v2", api.copy_within) &&
         has("cuMemcpyPeerAsync", api.copy_peer) &&
         has("cuDeviceCanAccessPeer", api.can_access_peer) &&
         has("cuCtxEnablePeerAccess", api.enable_peer) &&
         has("cuLaunchHostFunc", api.launch_host) && has("cuEventCreate", api.event_create) &&
         has("cuEventDestroy_v2", api.event_destroy) && has("cuEventRecord", api.event_record) &&
         has("cuEventQuery", api.event_query) && has("cuEventElapsedTime", api.event_time);
}

Loaded load_anew(const std::string& name) {
  Loaded loaded;
  void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    loaded.why = ::dlerror();
    return loaded;
  }
  auto api = std::make_unique<Api>();
  if (!find_all(library, *api, loaded.why)) return loaded;
  if (const Result result = api->init(0); result != 0) {
    loaded.why = describe(*api, result);
    return loaded;
  }
  loaded.api = std::move(api);
  return loaded;
}

}  // namespace

const Api* load(const std::string& library, std::string& why) {
  static std::mutex mutex;
  static std::map<std::string, Loaded> all;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = all.try_emplace(library);
  if (is_new) at->second = load_anew(library);
  why = at->second.why;
  return at->second.api.get();
}

std::string describe(const Api& api, Result result) {
  const char* name = nullptr;
  const char* sentence = nullptr;
  if (api.error_name(result, &name) != 0 || name == nullptr) name = "an error";
  if (api.error_string(result, &sentence) != 0 || sentence == nullptr) sentence = "not known";
  return fmt::format("{} ({}): {}", name, result, sentence);
}

}  // namespace vicinal::drivers::cu
