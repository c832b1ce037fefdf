// What the files of the library that stands in for CUDA share: its streams, what is allocated, what is refused.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "cuda_stand_in/cuda_stand_in.hpp"
#include "drivers/cuda/cuda_api.hpp"

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

struct Event {
  std::atomic<std::int64_t> at{-1};  // ns; -1: not yet
};

// In order, on a thread of its own.
class Stream : public CUstream_st {
 public:
  Stream() : thread_([this] { run(); }) {}
  ~Stream() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  void put(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      work_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return work_.empty() && !busy_; });
  }
  std::atomic<Result> error{kSuccess};  // of what was on it, told to the callbacks behind

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !work_.empty(); });
      if (work_.empty()) return;
      const std::function<void()> work = std::move(work_.front());
      work_.pop_front();
      busy_ = true;
      lock.unlock();
      work();
      lock.lock();
      busy_ = false;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;
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
