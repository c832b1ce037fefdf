// A library that stands in for CUDA's driver API, as far as Vicinal calls it: devices of host memory, streams that
// are threads and overtake each other. What a program may not do ends it with a message: a copy beyond an allocation,
// a call without a current context, a device address where a host's belongs, something destroyed twice. What a device
// may do happens if it is asked for: see cuda_stand_in::Settings.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda_stand_in/state.hpp"

namespace {

using namespace cuda_stand_in;

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // namespace

VICINAL_STAND_IN cuInit(unsigned /*flags*/) {
  return kSuccess;
}
VICINAL_STAND_IN cuGetErrorName(Result result, const char** name) {
  *name = result == kSuccess        ? "CUDA_SUCCESS"
          : result == kInvalidValue ? "CUDA_ERROR_INVALID_VALUE"
          : result == kOutOfMemory  ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == kNoDevice     ? "CUDA_ERROR_NO_DEVICE"
                                    : "CUDA_ERROR_LAUNCH_FAILED";
  return kSuccess;
}
VICINAL_STAND_IN cuGetErrorString(Result result, const char** sentence) {
  *sentence = result == kLaunchFailed ? "unspecified launch failure" : "stand-in";
  return kSuccess;
}
VICINAL_STAND_IN cuDeviceGetCount(int* count) {
  const std::lock_guard lock(state().mutex);
  *count = state().settings.devices;
  return kSuccess;
}
VICINAL_STAND_IN cuDeviceGet(int* device, int number) {
  const std::lock_guard lock(state().mutex);
  if (number < 0 || number >= state().settings.devices) return kNoDevice;
  *device = number;
  return kSuccess;
}
VICINAL_STAND_IN cuDeviceGetName(char* name, int length, int device) {
  std::snprintf(name, static_cast<std::size_t>(length), "stand-in %d", device);
  return kSuccess;
}
VICINAL_STAND_IN cuDeviceTotalMem_v2(std::size_t* bytes, int /*device*/) {
  *bytes = cuda_stand_in::kMemory;
  return kSuccess;
}
VICINAL_STAND_IN cuDevicePrimaryCtxRetain(cu::Context* context, int device) {
  const std::lock_guard lock(state().mutex);
  ++state().contexts[device];
  *context = reinterpret_cast<cu::Context>(static_cast<std::uintptr_t>(device) + 1);
  return kSuccess;
}
VICINAL_STAND_IN cuDevicePrimaryCtxRelease_v2(int device) {
  const std::lock_guard lock(state().mutex);
  if (--state().contexts[device] < 0) misused("a context is released that was not retained");
  return kSuccess;
}
VICINAL_STAND_IN cuCtxSetCurrent(cu::Context context) {
  current_device = device_of(context);
  return kSuccess;
}
VICINAL_STAND_IN cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  require_context("cuMemGetInfo");
  *free = *total = cuda_stand_in::kMemory;
  return kSuccess;
}
VICINAL_STAND_IN cuMemAlloc_v2(cu::Address* address, std::size_t bytes) {
  require_context("cuMemAlloc");
  if (bytes > cuda_stand_in::kMemory) return kOutOfMemory;
  void* const memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (memory == nullptr) return kOutOfMemory;
  *address = reinterpret_cast<cu::Address>(memory);
  const std::lock_guard lock(state().mutex);
  state().allocations[*address] = bytes;
  return kSuccess;
}
VICINAL_STAND_IN cuMemFree_v2(cu::Address address) {
  require_context("cuMemFree");
  {
    const std::lock_guard lock(state().mutex);
    if (state().allocations.erase(address) == 0) misused("cuMemFree of what is not allocated");
  }
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
VICINAL_STAND_IN cuMemAllocManaged(cu::Address* address, std::size_t bytes, unsigned flags) {
  if (flags != cu::kManagedGlobal) misused("cuMemAllocManaged: not for all streams");
  return cuMemAlloc_v2(address, bytes);
}
VICINAL_STAND_IN cuMemHostRegister_v2(void* address, std::size_t bytes, unsigned flags) {
  require_context("cuMemHostRegister");
  require_host(address, "cuMemHostRegister");
  if (flags != cu::kPortableHost) misused("cuMemHostRegister: not for all contexts");
  if (fails()) return kOutOfMemory;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(state().mutex);
  for (const auto& [other, length] : state().pinned) {
    if (begin < other + length && other < begin + bytes) return kAlreadyPinned;
  }
  state().pinned[begin] = bytes;
  return kSuccess;
}
VICINAL_STAND_IN cuMemHostUnregister(void* address) {
  require_context("cuMemHostUnregister");
  const std::lock_guard lock(state().mutex);
  if (state().pinned.erase(reinterpret_cast<std::uintptr_t>(address)) == 0) {
    misused("cuMemHostUnregister of what is not pinned");
  }
  return kSuccess;
}
VICINAL_STAND_IN cuDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer && state().settings.peers ? 1 : 0;
  return kSuccess;
}
VICINAL_STAND_IN cuCtxEnablePeerAccess(cu::Context peer, unsigned flags) {
  require_context("cuCtxEnablePeerAccess");
  if (flags != 0 || peer == nullptr) misused("cuCtxEnablePeerAccess");
  const std::lock_guard lock(state().mutex);
  const auto pair = std::pair(current_device, device_of(peer));
  return state().ways.insert(pair).second ? kSuccess : cu::kPeersAlready;
}
VICINAL_STAND_IN cuStreamCreate(CUstream_st** stream, unsigned /*flags*/) {
  require_context("cuStreamCreate");
  auto* const made = new Stream;
  *stream = made;
  const std::lock_guard lock(state().mutex);
  state().streams.insert(made);
  return kSuccess;
}
VICINAL_STAND_IN cuStreamDestroy_v2(CUstream_st* stream) {
  Stream& known_one = known(stream, "cuStreamDestroy");
  {
    const std::lock_guard lock(state().mutex);
    state().streams.erase(&known_one);
    for (const auto& [handle, uses] : state().handles) {
      if (uses == stream) misused("cuStreamDestroy of the stream of a handle that is there");
    }
  }
  delete &known_one;
  return kSuccess;
}
VICINAL_STAND_IN cuStreamSynchronize(CUstream_st* stream) {
  Stream& known_one = known(stream, "cuStreamSynchronize");
  known_one.drain();
  return known_one.error;
}
VICINAL_STAND_IN cuStreamAddCallback(CUstream_st* stream, cu::Callback callback, void* data,
                                     unsigned flags) {
  require_context("cuStreamAddCallback");
  if (flags != 0) misused("cuStreamAddCallback: flags must be 0");
  Stream& known_one = known(stream, "cuStreamAddCallback");
  if (fails()) return kLaunchFailed;
  known_one.put([&known_one, callback, data] { callback(&known_one, known_one.error, data); });
  return kSuccess;
}
VICINAL_STAND_IN cuMemcpyHtoDAsync_v2(cu::Address to, const void* from, std::size_t bytes,
                                      CUstream_st* stream) {
  require_context("cuMemcpyHtoDAsync");
  note_host(from, bytes, "cuMemcpyHtoDAsync");
  std::byte* const there = on_device(to, bytes, "cuMemcpyHtoDAsync");
  return put(known(stream, "cuMemcpyHtoDAsync"), [=] { std::memcpy(there, from, bytes); });
}
VICINAL_STAND_IN cuMemcpyDtoHAsync_v2(void* to, cu::Address from, std::size_t bytes,
                                      CUstream_st* stream) {
  require_context("cuMemcpyDtoHAsync");
  note_host(to, bytes, "cuMemcpyDtoHAsync");
  const std::byte* const there = on_device(from, bytes, "cuMemcpyDtoHAsync");
  return put(known(stream, "cuMemcpyDtoHAsync"), [=] { std::memcpy(to, there, bytes); });
}
VICINAL_STAND_IN cuMemcpyDtoDAsync_v2(cu::Address to, cu::Address from, std::size_t bytes,
                                      CUstream_st* stream) {
  require_context("cuMemcpyDtoDAsync");
  std::byte* const there = on_device(to, bytes, "cuMemcpyDtoDAsync");
  const std::byte* const source = on_device(from, bytes, "cuMemcpyDtoDAsync");
  return put(known(stream, "cuMemcpyDtoDAsync"), [=] { std::memcpy(there, source, bytes); });
}
VICINAL_STAND_IN cuMemcpyPeerAsync(cu::Address to, cu::Context there, cu::Address from,
                                   cu::Context source, std::size_t bytes, CUstream_st* stream) {
  if (there == source) misused("cuMemcpyPeerAsync: within a device");
  return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}
VICINAL_STAND_IN cuLaunchHostFunc(CUstream_st* stream, cu::HostFunction function, void* data) {
  require_context("cuLaunchHostFunc");
  return put(known(stream, "cuLaunchHostFunc"), [=] { function(data); });
}
VICINAL_STAND_IN cuMemcpy2DAsync_v2(const cu::Copy2D* copy, CUstream_st* stream) {
  require_context("cuMemcpy2DAsync");
  const cu::Copy2D c = *copy;
  if (c.from_x + c.from_y + c.to_x + c.to_y != 0)
    misused("cuMemcpy2DAsync: not from the first byte");
  if (c.from_pitch < c.width || c.to_pitch < c.width) return kInvalidValue;
  const auto span = [&](std::size_t pitch) { return (c.height - 1) * pitch + c.width; };
  const bool comes = c.to_kind == cu::kDeviceMemory;
  note_host(comes ? c.from_host : c.to_host, span(comes ? c.from_pitch : c.to_pitch),
            "cuMemcpy2DAsync");
  const auto* const from = c.from_kind == cu::kDeviceMemory
                               ? on_device(c.from_device, span(c.from_pitch), "cuMemcpy2DAsync")
                               : static_cast<const std::byte*>(c.from_host);
  auto* const to = c.to_kind == cu::kDeviceMemory
                       ? on_device(c.to_device, span(c.to_pitch), "cuMemcpy2DAsync")
                       : static_cast<std::byte*>(c.to_host);
  return put(known(stream, "cuMemcpy2DAsync"), [=] {
    for (std::size_t i = 0; i < c.height; ++i) {
      std::memcpy(to + i * c.to_pitch, from + i * c.from_pitch, c.width);
    }
  });
}
VICINAL_STAND_IN cuEventCreate(cu::Event* event, unsigned /*flags*/) {
  require_context("cuEventCreate");
  auto* const made = new Event;
  *event = reinterpret_cast<cu::Event>(made);
  const std::lock_guard lock(state().mutex);
  state().events.insert(made);
  return kSuccess;
}
VICINAL_STAND_IN cuEventDestroy_v2(cu::Event event) {
  auto* const known_one = reinterpret_cast<Event*>(event);
  {
    const std::lock_guard lock(state().mutex);
    if (state().events.erase(known_one) == 0) misused("cuEventDestroy of no event");
  }
  delete known_one;
  return kSuccess;
}
VICINAL_STAND_IN cuEventRecord(cu::Event event, CUstream_st* stream) {
  require_context("cuEventRecord");
  auto* const known_one = reinterpret_cast<Event*>(event);
  known_one->at = -1;
  known_one->stream = &known(stream, "cuEventRecord");
  return put(*known_one->stream, [=] { known_one->at = now_ns(); });
}
VICINAL_STAND_IN cuEventQuery(cu::Event event) {
  const auto* const known_one = reinterpret_cast<const Event*>(event);
  if (known_one->stream == nullptr) misused("cuEventQuery of an event that is on no stream");
  if (known_one->at >= 0) return kSuccess;
  const Result error = known_one->stream->error;
  return error != kSuccess ? error : cu::kNotReady;
}
VICINAL_STAND_IN cuEventElapsedTime(float* milliseconds, cu::Event begin, cu::Event end) {
  const std::int64_t from = reinterpret_cast<Event*>(begin)->at;
  const std::int64_t to = reinterpret_cast<Event*>(end)->at;
  if (from < 0 || to < 0) return cu::kNotReady;
  *milliseconds = static_cast<float>(static_cast<double>(to - from) / 1e6);
  return kSuccess;
}
// A module is its text, of which only kernels that do nothing are launched.
VICINAL_STAND_IN cuModuleLoadData(void** module, const void* text) {
  require_context("cuModuleLoadData");
  *module = const_cast<void*>(text);
  return std::strstr(static_cast<const char*>(text), ".entry") != nullptr ? kSuccess
                                                                          : kInvalidValue;
}
VICINAL_STAND_IN cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = std::strstr(static_cast<char*>(module), name);
  return *function != nullptr ? kSuccess : kInvalidValue;
}
VICINAL_STAND_IN cuModuleUnload(void* /*module*/) {
  require_context("cuModuleUnload");
  return kSuccess;
}
VICINAL_STAND_IN cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned in_x,
                                unsigned in_y, unsigned in_z, unsigned /*shared_bytes*/,
                                CUstream_st* stream, void** /*parameters*/, void** /*extra*/) {
  require_context("cuLaunchKernel");
  if (function == nullptr || x * y * z * in_x * in_y * in_z == 0) return kInvalidValue;
  return put(known(stream, "cuLaunchKernel"), [] {});
}

// --- for tests

extern "C" __attribute__((visibility("default"))) void vicinal_stand_in_set(
    const cuda_stand_in::Settings* settings) {
  const std::lock_guard lock(state().mutex);
  state().settings = *settings;
  state().calls = 0;
  state().unpinned_copies = 0;
  state().random = settings->seed;
}

extern "C" __attribute__((visibility("default"))) std::size_t vicinal_stand_in_left() {
  const std::lock_guard lock(state().mutex);
  std::size_t left = state().allocations.size() + state().streams.size() + state().events.size() +
                     state().pinned.size() + state().handles.size();
  for (const auto& [device, retained] : state().contexts)
    left += static_cast<std::size_t>(retained);
  return left;
}

extern "C" __attribute__((visibility("default"))) void vicinal_stand_in_launch(
    CUstream_st* stream, void (*work)(void*, bool), void* data) {
  Stream& known_one = known(stream, "a launch");
  known_one.put([&known_one, work, data] { work(data, known_one.error != kSuccess); });
}

extern "C" __attribute__((visibility("default"))) std::size_t vicinal_stand_in_unpinned_copies() {
  const std::lock_guard lock(state().mutex);
  return state().unpinned_copies;
}

extern "C" __attribute__((visibility("default"))) bool vicinal_stand_in_is_pinned(
    std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  const auto is_so_large = [bytes](const auto& range) { return range.second == bytes; };
  return std::ranges::count_if(state().pinned, is_so_large) == 1;
}
