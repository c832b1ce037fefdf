// Which runtimes' tasks wait for which other runtimes. A kernel may wait for another runtime, but not in
// a circle: it would never end.
#pragma once

#include <vector>

#include "engine/lifecycle.hpp"

namespace vicinal::runtime {

// While it lives, every task on the stack of this thread waits for the engine. Throws UsageError if a
// task of that engine already waits for one of theirs, perhaps through others.
class WaitsBetween {
 public:
  WaitsBetween(const engine::Engine& engine, const char* what);
  ~WaitsBetween();
  WaitsBetween(const WaitsBetween&) = delete;
  WaitsBetween& operator=(const WaitsBetween&) = delete;

 private:
  std::vector<const void*> waiting_;
  const void* const for_;
};

}  // namespace vicinal::runtime
