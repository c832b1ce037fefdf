// The lock of one memory node.
//
// The owner may take the lock again: an event on a node leads to other nodes and back. While a thread has a
// node's lock it waits only for locks of nodes further towards the disk, device -> RAM -> disk, where it must know
// at once what comes of its request; all else is left in the other node's inbox (see Residency::post). Builds
// without NDEBUG check the order, and count what would make one node's eviction wait for another node.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace vicinal::memory {

class NodeLock {
 public:
  // Of the node: larger ones are taken first.
  void set_rank(int rank) { rank_ = rank; }

  void lock() {
    Thread& thread = of_thread();
    if (take_again(thread)) return;
    check_order(thread);
    State expected = State::free;
    if (!state_.compare_exchange_strong(expected, State::taken, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      wait();
    }
    own(thread);
  }
  bool try_lock() {
    Thread& thread = of_thread();
    if (take_again(thread)) return true;
    State expected = State::free;
    if (!state_.compare_exchange_strong(expected, State::taken, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      return false;
    }
    own(thread);
    return true;
  }
  void unlock() {
    if (--depth_ > 0) return;
    Thread& thread = *owner_.load(std::memory_order_relaxed);
    owner_.store(nullptr, std::memory_order_relaxed);
    forget(thread);
    if (state_.exchange(State::free, std::memory_order_release) == State::awaited) {
      state_.notify_one();
    }
  }

  // By this thread.
  bool held() const { return owner_.load(std::memory_order_relaxed) == &of_thread(); }
  // By this thread, once.
  bool held_once() const { return depth_ == 1; }
  // This thread has some node's lock.
  static bool any_held() { return of_thread().count > 0; }

  // While it lives this thread evicts something from the node: to take another node's lock is counted.
  class Evicting {
   public:
#ifdef NDEBUG
    explicit Evicting(const NodeLock& /*node*/) {}
#else
    explicit Evicting(const NodeLock& node)
        : before_(std::exchange(of_thread().evicts_from, &node)) {}
    ~Evicting() {
      of_thread().evicts_from = before_;
    }
    Evicting(const Evicting&) = delete;
    Evicting& operator=(const Evicting&) = delete;

   private:
    const NodeLock* const before_;
#endif
  };
  // How often this lock was taken for another node's eviction; 0 in builds with NDEBUG.
  std::uint64_t taken_for_others() const {
    return taken_for_others_;
  }

 private:
  // What a thread has.
  struct Thread {
    std::size_t count = 0;
    std::array<const NodeLock*, 16> held{};  // of which the first; without NDEBUG
    const NodeLock* evicts_from = nullptr;
  };
  static Thread& of_thread() {
    static thread_local Thread thread;
    return thread;
  }

  bool take_again(const Thread& thread) {
    if (owner_.load(std::memory_order_relaxed) != &thread) return false;
    ++depth_;
    return true;
  }
  void own(Thread& thread) {
    owner_.store(&thread, std::memory_order_relaxed);
    depth_ = 1;
#ifndef NDEBUG
    if (thread.count < thread.held.size()) thread.held[thread.count] = this;
    if (thread.evicts_from != nullptr && thread.evicts_from != this) ++taken_for_others_;
#endif
    ++thread.count;
  }
  void forget(Thread& thread) {
    --thread.count;
#ifndef NDEBUG
    // The last one takes its place; those beyond the room of the list are not known.
    const auto at = std::find(thread.held.begin(), thread.held.end(), this);
    if (at == thread.held.end()) return;
    const std::size_t last = std::min(thread.count, thread.held.size() - 1);
    *at = thread.held[last];
    thread.held[last] = nullptr;
#endif
  }
  void check_order([[maybe_unused]] const Thread& thread) const {
#ifndef NDEBUG
    for (const NodeLock* lock : thread.held) {
      if (lock != nullptr && lock->rank_ <= rank_) {
        throw std::logic_error("memory: a node's lock is waited for behind one nearer to the disk");
      }
    }
#endif
  }

  // Inline where nobody waits, as almost always: a pair of calls of std::mutex is longer.
  enum class State : std::int32_t { free, taken, awaited };
  [[gnu::noinline]] void wait() {
    // Whoever slept cannot know whether others still do.
    while (state_.exchange(State::awaited, std::memory_order_acquire) != State::free) {
      state_.wait(State::awaited, std::memory_order_relaxed);
    }
  }

  std::atomic<State> state_{State::free};
  std::atomic<Thread*> owner_{nullptr};
  int depth_ = 0;  // the owner's
  int rank_ = 0;
  std::uint64_t taken_for_others_ = 0;  // under the lock
};

}  // namespace vicinal::memory
