// What a disk does wrong on demand, so that tests can see what a run does then. Null in production.
#pragma once

#include <cstdint>
#include <limits>

#include "drivers/disk/io_queue.hpp"

namespace vicinal::drivers {

class FaultInjection {
 public:
  // A read or write ends with the error number, or moves at most so many bytes.
  struct Effect {
    int error = 0;  // 0: none
    std::uint64_t at_most = std::numeric_limits<std::uint64_t>::max();
  };
  virtual ~FaultInjection() = default;
  // The driver, before each read and write, continuations of short ones included. Any thread.
  virtual Effect before(IoKind kind, std::uint64_t bytes) = 0;
};

}  // namespace vicinal::drivers
