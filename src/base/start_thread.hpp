// Threads of the library: every one is made here, or while a NoSignals lives.
#pragma once

#include <csignal>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/thread_end.hpp"
#include "vicinal/error.hpp"

namespace vicinal::base {

// In the thread that calls, until the end of the scope, and for ever in the threads that are made meanwhile: signals
// are left to the application's threads, but those that the thread itself causes (SIGSEGV ...) and those of profilers.
class NoSignals {
 public:
  NoSignals() noexcept;
  ~NoSignals();
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

// `whose` completes "the thread ..." in the message. Throws CapacityError if the system gives none.
template <typename Run>
std::thread start_thread(const std::string& whose, Run&& run) {
  const NoSignals none;
  try {
    return std::thread([run = std::forward<Run>(run)]() mutable {
      watch_thread_end();
      run();
    });
  } catch (const std::system_error& error) {
    throw CapacityError(fmt::format(
        "the thread {} cannot be started: {}; ask for fewer (options workers, accelerators and "
        "disk_copies), or raise what the system allows (ulimit -u, ulimit -v, the container's "
        "limit of processes)",
        whose, error.code().message()));
  }
}

}  // namespace vicinal::base
