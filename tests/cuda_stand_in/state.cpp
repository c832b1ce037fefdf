#include "cuda_stand_in/state.hpp"

#include <cstdio>
#include <cstdlib>

namespace cuda_stand_in {

[[noreturn]] void misused(const std::string& what) {
  std::fprintf(stderr, "CUDA stand-in: misused: %s\n", what.c_str());
  std::abort();
}

State& state() {
  static State* const the = new State;  // streams of a test that failed outlive main
  return *the;
}

thread_local int current_device = -1;

bool fails() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  ++s.calls;
  if (s.settings.lost_after != 0 && s.calls > s.settings.lost_after) return true;
  if (s.settings.fail_one_in == 0) return false;
  s.random = s.random * 6364136223846793005ULL + 1442695040888963407ULL;
  return (s.random >> 33) % s.settings.fail_one_in == 0;
}

void require_context(const char* call) {
  if (current_device < 0) misused(std::string(call) + " without a current context");
}

Stream& known(CUstream_st* stream, const char* call) {
  auto* const found = static_cast<Stream*>(stream);
  const std::lock_guard lock(state().mutex);
  if (!state().streams.contains(found))
    misused(std::string(call) + " on a stream that is not there");
  return *found;
}

int device_of(cu::Context context) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(context)) - 1;
}

std::byte* on_device(cu::Address address, std::size_t bytes, const char* call) {
  const std::lock_guard lock(state().mutex);
  auto& all = state().allocations;
  auto at = all.upper_bound(address);
  if (at == all.begin()) misused(std::string(call) + ": no device address");
  --at;
  if (address + bytes > at->first + at->second) {
    misused(std::string(call) + ": beyond an allocation of " + std::to_string(at->second));
  }
  return reinterpret_cast<std::byte*>(address);
}

void require_host(const void* address, const char* call) {
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(state().mutex);
  for (const auto& [begin, length] : state().allocations) {
    if (value >= begin && value < begin + length) {
      misused(std::string(call) + ": a device address where a host's belongs");
    }
  }
}

void note_host(const void* address, std::size_t bytes, const char* call) {
  require_host(address, call);
  const auto value = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard lock(state().mutex);
  for (const auto& [begin, length] : state().pinned) {
    if (value >= begin + length || begin >= value + bytes) continue;
    if (value >= begin && value + bytes <= begin + length) return;
    misused(std::string(call) + ": memory of which a part is pinned");
  }
  ++state().unpinned_copies;
}

Result put(Stream& stream, std::function<void()> work) {
  if (fails()) return kLaunchFailed;
  const bool breaks = fails();
  stream.put([&stream, breaks, work = std::move(work)] {
    if (stream.error != kSuccess) return;
    if (breaks) {
      stream.error = kLaunchFailed;
    } else {
      work();
    }
  });
  return kSuccess;
}

}  // namespace cuda_stand_in
