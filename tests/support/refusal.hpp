// Allocations that are refused, one by one (refusal.cpp, of the allocation tests only). Any thread of the process may
// be the one that is refused.
#pragma once

#include <cstddef>

namespace vicinal::testing {

// While it lives the n-th allocation from its beginning is refused, the first is number 0.
class Refusal {
 public:
  explicit Refusal(long nth);
  ~Refusal();
  Refusal(const Refusal&) = delete;
  Refusal& operator=(const Refusal&) = delete;
  static bool happened();
};

// While it lives all allocations of so many bytes or more are refused.
class RefusalOfLarge {
 public:
  explicit RefusalOfLarge(std::size_t from_bytes);
  ~RefusalOfLarge();
  RefusalOfLarge(const RefusalOfLarge&) = delete;
  RefusalOfLarge& operator=(const RefusalOfLarge&) = delete;
};

}  // namespace vicinal::testing
