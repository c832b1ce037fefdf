// Ready tasks that no worker has released, on their way from the application's threads to the workers:
// highest priority first, first in first out among equals.
//
// Those of one priority, nearly all, pass through arrays that the two sides use each under a lock of
// its own. Workers take several at a time, which touches no task (the submitting thread has written
// them last) and no line that the submitting thread writes but the count and what is taken. Which priority that
// is makes no difference: it is that of the first task that came when the queue was empty.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <utility>

#include "base/spin_lock.hpp"
#include "base/sure_memory.hpp"
#include "sched/priority_list.hpp"

namespace vicinal::sched {

class EntryQueue {
 public:
  EntryQueue() { last_ = first_ = make_chunk(); }
  ~EntryQueue() {
    while (first_ != nullptr) free_chunk(std::exchange(first_, first_->next));
    free_chunk(spare_.load(std::memory_order_relaxed));
  }
  EntryQueue(const EntryQueue&) = delete;
  EntryQueue& operator=(const EntryQueue&) = delete;

  void push(graph::Task& task) {
    const std::lock_guard held(push_lock_);
    if (task.priority != equal_priority()) {
      if (!empty()) return push_other(task);
      equal_priority_.store(task.priority, std::memory_order_relaxed);
    }
    if (end_ == kPerChunk) add_chunk();
    last_->tasks[end_++] = &task;
    pushed_.store(pushed_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  struct Taken {
    std::size_t count = 0;
    int priority = 0;  // of all of them, if there are several
  };
  // Fills `into` with the first tasks, but takes no more than one in `share` of those that are there
  // (and one at least).
  Taken take(std::span<graph::Task*> into, std::size_t share) {
    const std::lock_guard held(take_lock_);
    const std::int64_t top = others_top_.load(std::memory_order_relaxed);
    const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
    const std::uint64_t there = pushed_.load(std::memory_order_acquire) - taken;
    const int equal = equal_priority();  // no other one as long as there are some
    if (top != kNone && (top > equal || there == 0)) return {take_other(into), 0};
    if (there == 0) return {};
    const std::size_t count =
        std::min<std::size_t>(into.size(), std::max<std::size_t>(1, there / share));
    for (std::size_t i = 0; i < count; ++i) into[i] = next();
    taken_.store(taken + count, std::memory_order_release);
    return {count, equal};
  }

  // Without a lock; whoever learns of a push by any synchronisation sees it.
  bool empty() const { return no_equals() && others_top_.load(std::memory_order_relaxed) == kNone; }
  // It has a task of higher priority.
  bool above(int priority) const {
    return others_top_.load(std::memory_order_relaxed) > priority ||
           (priority < equal_priority() && !no_equals());
  }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();
  static constexpr std::size_t kPerChunk = 511;
  struct Chunk {
    std::array<graph::Task*, kPerChunk> tasks;
    Chunk* next = nullptr;
  };

  int equal_priority() const { return equal_priority_.load(std::memory_order_relaxed); }
  bool no_equals() const {
    // Pairs with the store in take(), which read equal_priority_ before.
    return pushed_.load(std::memory_order_relaxed) == taken_.load(std::memory_order_acquire);
  }

  static Chunk* make_chunk() {
    return new (base::sure_allocate(sizeof(Chunk), alignof(Chunk))) Chunk;
  }
  static void free_chunk(Chunk* chunk) {
    if (chunk != nullptr) base::sure_free(chunk, sizeof(Chunk), alignof(Chunk));
  }
  // Under push_lock_. The chunk that was emptied last is used again.
  [[gnu::noinline]] void add_chunk() {
    Chunk* chunk = spare_.exchange(nullptr, std::memory_order_acquire);
    if (chunk == nullptr) chunk = make_chunk();
    last_->next = chunk;
    last_ = chunk;
    end_ = 0;
  }
  // Under take_lock_; there is one.
  graph::Task* next() {
    if (begin_ == kPerChunk) {
      Chunk* const emptied = std::exchange(first_, first_->next);
      begin_ = 0;
      emptied->next = nullptr;
      free_chunk(spare_.exchange(emptied, std::memory_order_acq_rel));
    }
    return first_->tasks[begin_++];
  }

  [[gnu::noinline]] void push_other(graph::Task& task) {
    const std::lock_guard held(others_lock_);
    others_.push_back(task);
    publish_others();
  }
  std::size_t take_other(std::span<graph::Task*> into) {
    const std::lock_guard held(others_lock_);
    into[0] = others_.pop_front();
    publish_others();
    return into[0] != nullptr ? 1 : 0;
  }
  // Written only when it changes: the workers look at it all the time.
  void publish_others() {
    const std::int64_t top = others_.empty() ? kNone : others_.top_priority();
    if (others_top_.load(std::memory_order_relaxed) == top) return;
    others_top_.store(top, std::memory_order_relaxed);
  }

  alignas(64) base::SpinLock push_lock_;
  std::size_t end_ = 0;  // of what lies in last_
  Chunk* last_;
  alignas(64) std::atomic<std::uint64_t> pushed_{0};
  alignas(64) base::SpinLock take_lock_;
  std::size_t begin_ = 0;  // of what lies in first_
  Chunk* first_;
  std::atomic<std::uint64_t> taken_{0};
  alignas(64) std::atomic<Chunk*> spare_{nullptr};
  alignas(64) base::SpinLock others_lock_;
  TaskList others_;  // of another priority than those in the arrays
  alignas(64) std::atomic<std::int64_t> others_top_{kNone};
  std::atomic<int> equal_priority_{0};  // of those in the arrays; changed while the queue is empty
};

}  // namespace vicinal::sched
