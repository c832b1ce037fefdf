// Ready tasks that no worker has released, on their way from the application's threads to the workers:
// highest priority first, first in first out among equals.
//
// Workers take several at a time, into lists of their own, so that they and the submitting thread
// seldom meet; taking them touches no task, which the submitting thread has written last.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "base/spin_lock.hpp"
#include "sched/priority_list.hpp"

namespace vicinal::sched {

class EntryQueue {
 public:
  void push(graph::Task& task) {
    const std::lock_guard held(lock_);
    if (equals_.empty() && others_.empty()) priority_ = task.priority;
    if (others_.empty() && task.priority == priority_) {
      equals_.push(task);
    } else {
      others_.push_back(task);
    }
    publish();
  }

  // Fills `into` with the first tasks, but takes no more than one in `share` of those that are there
  // (and one at least). How many?
  std::size_t take(std::span<graph::Task*> into, std::size_t share) {
    const std::lock_guard held(lock_);
    std::size_t count = 0;
    if (!equals_.empty() && (others_.empty() || priority_ >= others_.top_priority())) {
      const std::size_t most = std::max<std::size_t>(1, equals_.size() / share);
      while (count < std::min(most, into.size())) into[count++] = equals_.pop();
    } else if (graph::Task* const task = others_.pop_front()) {
      into[count++] = task;
    }
    publish();
    return count;
  }

  // Without the lock; whoever learns of a push by any synchronisation sees it.
  bool empty() const { return top_.load(std::memory_order_relaxed) == kNone; }
  // It has a task of higher priority.
  bool above(int priority) const { return top_.load(std::memory_order_relaxed) > priority; }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  // A queue in one array, which is used again and again.
  class Ring {
   public:
    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    void push(graph::Task& task) {
      if (size_ == tasks_.size()) grow();
      tasks_[(first_ + size_++) & (tasks_.size() - 1)] = &task;
    }
    graph::Task* pop() {
      graph::Task* const task = tasks_[first_];
      first_ = (first_ + 1) & (tasks_.size() - 1);
      --size_;
      return task;
    }

   private:
    void grow() {
      std::rotate(tasks_.begin(), tasks_.begin() + static_cast<std::ptrdiff_t>(first_),
                  tasks_.end());
      first_ = 0;
      tasks_.resize(std::max<std::size_t>(64, 2 * tasks_.size()));  // a power of two
    }
    std::vector<graph::Task*> tasks_;
    std::size_t first_ = 0;
    std::size_t size_ = 0;
  };

  // Written only when it changes: the workers look at it all the time.
  void publish() {
    std::int64_t top = equals_.empty() ? kNone : priority_;
    if (!others_.empty()) top = std::max<std::int64_t>(top, others_.top_priority());
    if (top_.load(std::memory_order_relaxed) != top) top_.store(top, std::memory_order_relaxed);
  }

  alignas(64) base::SpinLock lock_;
  int priority_ = 0;  // of `equals_`
  Ring equals_;       // before those in `others_` of the same priority
  TaskList others_;
  alignas(64) std::atomic<std::int64_t> top_{kNone};  // the highest priority
};

}  // namespace vicinal::sched
