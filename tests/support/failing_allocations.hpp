// An operator new that fails when asked to (failing_allocations.cpp, of the stress tests only). Any thread
// of the process may get the failure.
#pragma once

#include <cstdint>

namespace vicinal::testing {

// While it lives, the n-th allocation from now on fails, and so does every `again`-th after it (0: no
// more).
class FailingAllocations {
 public:
  FailingAllocations(std::uint64_t nth, std::uint64_t again);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;
  static bool failed();  // at least one, since the last was made
};

}  // namespace vicinal::testing
