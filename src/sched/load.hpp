// What a worker, or the workers of a memory node together, have to do: the one book that policies keep of it.
//
// A task is queued, given and ended, each time with the time that it is predicted to take, which may change in between:
// what leaves must be what came. A task that was queued elsewhere is taken out there before it is given here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "vicinal/units.hpp"

namespace vicinal::sched {

class Load {
 public:
  // The task waits for it.
  void queue(std::int64_t ns) {
    ++queued_;
    queued_ns_ += ns;
  }
  void take_out(std::int64_t ns) {
    --queued_;
    queued_ns_ -= ns;
  }
  // The task is its own from now on, behind all that it was given.
  void give(std::int64_t ns, Time now = {}) {
    ++given_;
    given_ns_ += ns;
    free_at_ns_ = std::max(free_at_ns_, now.ns) + ns;
  }
  // A task that it was given has ended, or has gone elsewhere. An error of the prediction does not add up.
  void end(std::int64_t ns, Time now = {}) {
    --given_;
    given_ns_ -= ns;
    free_at_ns_ = now.ns + given_ns_;
  }

  std::size_t queued() const { return queued_; }
  std::size_t given() const { return given_; }
  std::size_t tasks() const { return queued_ + given_; }
  std::int64_t queued_ns() const { return queued_ns_; }
  std::int64_t given_ns() const { return given_ns_; }
  std::int64_t left_ns() const { return queued_ns_ + given_ns_; }
  // When it will have ended all of them; for one that runs a task at a time, and is told the time with each.
  std::int64_t free_at_ns(Time now = {}) const {
    return std::max(free_at_ns_, now.ns) + queued_ns_;
  }

 private:
  std::size_t queued_ = 0;
  std::size_t given_ = 0;  // and not ended
  std::int64_t queued_ns_ = 0;
  std::int64_t given_ns_ = 0;
  std::int64_t free_at_ns_ = 0;  // when those that it was given will have ended
};

}  // namespace vicinal::sched
