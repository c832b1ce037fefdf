// Early copies to one memory node that the policy wished for when tasks became ready: by priority, first
// in, first out. Those that get no room wait here and hold nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "graph/handle.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::engine {

struct Wish {
  TaskId task;  // while it is ready and not pulled it keeps the handle alive
  graph::Handle* handle = nullptr;
  int priority = 0;
  AccessMode mode = AccessMode::R;
};

class Wishes {
 public:
  // Taken under the policy's lock, before the residency's; also held where Residency is told what tasks
  // that wait will use. Whoever carries a wish out holds it from the look at the task on, so a handle
  // cannot be forgotten meanwhile: see Engine::remove.
  mutable std::mutex mutex;
  std::atomic<bool> fresh{false};  // some have come since they were looked at

  // --- under the mutex
  void add(TaskId task, graph::Handle& handle, int priority, AccessMode mode) {
    waiting_.push_back({task, &handle, priority, mode});
    for (std::size_t at = waiting_.size() - 1; at > first_ && waiting_[at - 1].priority < priority;
         --at) {
      std::swap(waiting_[at - 1], waiting_[at]);
    }
    fresh.store(true, std::memory_order_relaxed);
    any_.store(true, std::memory_order_relaxed);
  }
  bool empty() const { return first_ == waiting_.size(); }
  const Wish& front() const { return waiting_[first_]; }
  void pop_front() {
    ++first_;
    if (first_ < kSlack && !empty()) return;
    if (2 * first_ < waiting_.size()) return;
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
    any_.store(!waiting_.empty(), std::memory_order_relaxed);
  }

  // Without the mutex: a hint.
  bool any() const { return any_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kSlack = 1024;
  std::vector<Wish> waiting_;
  std::size_t first_ = 0;  // those before it are done with
  std::atomic<bool> any_{false};
};

// For which nodes something was wished for a task that is with the policy: most tasks for one at most. One
// look finds it, where to ask every node would mean a line from memory for each. Any thread.
class WishedNodes {
 public:
  // `slot`: of the task in its pool.
  void add(std::uint64_t slot, NodeId node) {
    const std::lock_guard lock(mutex_);
    if (slot >= of_.size()) of_.resize(slot + slot / 2 + 64);
    of_[slot] |= std::uint32_t{1} << node.value;
  }
  // A bit per node; and nothing is wished any more.
  std::uint32_t take(std::uint64_t slot) {
    const std::lock_guard lock(mutex_);
    return slot < of_.size() ? std::exchange(of_[slot], 0) : 0;
  }

 private:
  std::mutex mutex_;
  std::vector<std::uint32_t> of_;  // a machine has at most 32 nodes
};

}  // namespace vicinal::engine
