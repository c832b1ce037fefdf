// What a Group counts. The tasks know it, not the Group, which may go before them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace vicinal::internals {

// One for the Group, and one for each of its tasks that has not ended; who gives back the last deletes it.
class GroupCount {
 public:
  std::size_t pending() const { return users_.load(std::memory_order_acquire) - 1; }
  void begin_one() { users_.fetch_add(1, std::memory_order_relaxed); }
  // Its tasks do not start, as long as this cancellation counts (engine/errors.hpp); 0: none. Relaxed: who submits after
  // the call knows of it, others may be late.
  void cancel(std::uint64_t cancellation) {
    cancellation_.store(cancellation, std::memory_order_relaxed);
  }
  std::uint64_t cancellation() const { return cancellation_.load(std::memory_order_relaxed); }
  // True if no task is left. Nothing of the count may be used afterwards.
  static bool end_one(GroupCount& count) {
    const std::size_t before = count.users_.fetch_sub(1, std::memory_order_acq_rel);
    if (before == 1) delete &count;
    return before <= 2;
  }

 private:
  std::atomic<std::size_t> users_{1};
  std::atomic<std::uint64_t> cancellation_{0};
};

}  // namespace vicinal::internals

namespace vicinal::graph {
using internals::GroupCount;
}  // namespace vicinal::graph
