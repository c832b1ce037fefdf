// Threads, or an error that says what to do.
#pragma once

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "vicinal/error.hpp"

namespace vicinal::drivers {

// `whose` completes "the thread ..." in the message. Throws CapacityError if the system gives none.
template <typename Run>
std::thread start_thread(const std::string& whose, Run&& run) {
  try {
    return std::thread(std::forward<Run>(run));
  } catch (const std::system_error& error) {
    throw CapacityError(fmt::format(
        "the thread {} cannot be started: {}; ask for fewer (options workers, accelerators and "
        "disk_copies), or raise what the system allows (ulimit -u, ulimit -v, the container's "
        "limit of processes)",
        whose, error.code().message()));
  }
}

}  // namespace vicinal::drivers
