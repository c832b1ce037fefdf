// The tasks of one worker under lws.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/spin_lock.hpp"
#include "base/warm.hpp"
#include "graph/task.hpp"
#include "sched/priority_list.hpp"

namespace vicinal::sched::lws {

// A length that is changed under a lock and read without.
class Length {
 public:
  bool zero() const { return get() == 0; }
  std::uint32_t get() const { return value_.load(std::memory_order_relaxed); }
  void add(std::uint32_t change) {  // the lock is held: no read-modify-write is needed
    value_.store(value_.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }
  void subtract_one() { add(~std::uint32_t{0}); }

 private:
  std::atomic<std::uint32_t> value_{0};
};

constexpr std::size_t kMostTaken = 64;

// Tasks of one priority that a worker has taken from those of the application, in their order. An
// array, so that they are asked for some steps ahead and are not touched before they run.
class Taken {
 public:
  bool empty() const { return first_ == last_; }
  int priority() const { return priority_; }
  graph::Task& pop_front() {
    constexpr std::size_t kAhead = 4;
    if (first_ + kAhead < last_) base::warm(tasks_[first_ + kAhead]);
    return *tasks_[first_++];
  }
  graph::Task& pop_back() { return *tasks_[--last_]; }
  std::span<graph::Task* const> tasks() const {
    return std::span(tasks_).subspan(first_, last_ - first_);
  }
  // Only if it is empty.
  void fill(std::span<graph::Task* const> tasks, int priority) {
    std::ranges::copy(tasks, tasks_.begin());
    priority_ = priority;
    first_ = 0;
    last_ = tasks.size();
  }

 private:
  std::array<graph::Task*, kMostTaken> tasks_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  int priority_ = 0;
};

struct alignas(64) Deque {
  base::SpinLock lock;
  Length shared_length;
  Length bound_length;
  // The task that its worker has just released, if there was no other: for that worker, which asks
  // next, without the lock. Put there by its worker alone; taken by whoever exchanges it.
  std::atomic<graph::Task*> next{nullptr};
  // Its worker can run all of them, others may take those they can run; `taken` are before their
  // equals in `shared`, and `shared_length` counts both.
  Taken taken;
  TaskList shared;
  TaskList bound;  // submitted for its worker alone

  bool only_next() const { return shared_length.zero() && bound_length.zero(); }
  graph::Task* take_next() {
    if (next.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return next.exchange(nullptr, std::memory_order_acquire);  // pairs with the store
  }

  // --- of `taken` and `shared`, under the lock
  bool taken_first() const {
    return !taken.empty() && (shared.empty() || shared.top_priority() <= taken.priority());
  }
  bool taken_last() const {
    return !taken.empty() && (shared.empty() || shared.top_priority() < taken.priority());
  }
  bool nothing_shared() const { return taken.empty() && shared.empty(); }
  int top_priority() const { return taken_first() ? taken.priority() : shared.top_priority(); }
  graph::Task* pop_front() {
    if (nothing_shared()) return nullptr;
    shared_length.subtract_one();
    return taken_first() ? &taken.pop_front() : shared.pop_front();
  }
};

}  // namespace vicinal::sched::lws
