// The replicas of handles, an array by node for each, many to an allocation.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "base/spin_lock.hpp"
#include "memory/replica.hpp"

namespace vicinal::memory {

// Any thread.
class ReplicaPool {
 public:
  explicit ReplicaPool(std::size_t nodes) : nodes_(nodes) {}

  // One for each node, as they are constructed.
  Replica* take() {
    const std::lock_guard lock(lock_);
    if (free_.empty()) grow();
    Replica* const replicas = free_.back();
    free_.pop_back();
    return replicas;
  }
  void give_back(Replica* replicas) noexcept {
    for (std::size_t n = 0; n < nodes_; ++n) {
      std::destroy_at(replicas + n);
      new (replicas + n) Replica;
    }
    const std::lock_guard lock(lock_);
    free_.push_back(replicas);  // there is room for all
  }

 private:
  void grow() {
    constexpr std::size_t kBytes = 4096;
    const std::size_t count = std::max<std::size_t>(1, kBytes / (nodes_ * sizeof(Replica)));
    all_ += count;
    if (free_.capacity() < all_) free_.reserve(std::max(all_, 2 * free_.capacity()));
    chunks_.push_back(std::make_unique<Replica[]>(count * nodes_));
    for (std::size_t i = count; i-- > 0;) free_.push_back(chunks_.back().get() + i * nodes_);
  }

  const std::size_t nodes_;
  base::SpinLock lock_;  // guards what follows
  std::vector<std::unique_ptr<Replica[]>> chunks_;
  std::vector<Replica*> free_;
  std::size_t all_ = 0;  // no fewer than there are
};

}  // namespace vicinal::memory
