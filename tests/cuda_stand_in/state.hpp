// What the files of the library that stands in for CUDA share: its streams, what is allocated, what is refused.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "cuda_stand_in/cuda_stand_in.hpp"
#include "drivers/cuda/cuda_api.hpp"
#include "support/host_queue.hpp"

struct CUstream_st {};

#define VICINAL_STAND_IN extern "C" __attribute__((visibility("default"))) int

namespace cuda_stand_in {

namespace cu = vicinal::drivers::cu;
using cu::Result;

constexpr Result kSuccess = 0;
constexpr Result kInvalidValue = 1;
constexpr Result kOutOfMemory = 2;
constexpr Result kNoDevice = 100;
constexpr Result kAlreadyPinned = 712;
constexpr Result kLaunchFailed = 719;

// Ends the program.
[[noreturn]] void misused(const std::string& what);

struct Stream : CUstream_st, vicinal::testing::HostQueue {
  std::atomic<Result> error{kSuccess};  // of what was on it, told to the callbacks behind
};

struct Event {
  std::atomic<std::int64_t> at{-1};  // ns; -1: not yet
  Stream* stream = nullptr;          // on which it was put last
};

struct State {
  std::mutex mutex;
  Settings settings;
  std::uint64_t calls = 0;
  std::uint64_t random = 1;
  std::map<std::uintptr_t, std::size_t> allocations;  // by address
  std::map<std::uintptr_t, std::size_t> pinned;       // RAM, by address
  std::size_t unpinned_copies = 0;
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::map<void*, CUstream_st*> handles;  // of cuBLAS and cuSOLVER; their streams
  std::map<int, int> contexts;            // how often each device's was retained
  std::set<std::pair<int, int>> ways;     // between devices
};
State& state();
extern thread_local int current_device;  // -1: none

// Of a call that may fail. Under no lock.
bool fails();
void require_context(const char* call);
Stream& known(CUstream_st* stream, const char* call);
int device_of(cu::Context context);
// The range lies in one allocation.
std::byte* on_device(cu::Address address, std::size_t bytes, const char* call);
void require_host(const void* address, const char* call);
// Of a copy's content in RAM. To be pinned in part is an error of CUDA's.
void note_host(const void* address, std::size_t bytes, const char* call);
Result put(Stream& stream, std::function<void()> work);

}  // namespace cuda_stand_in
