// Prefetches that the policy requested when tasks became ready, see sched::PolicyContext: a list per memory
// node, by priority, first in, first out. Those that get no room wait here and hold nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "base/sure_memory.hpp"
#include "graph/handle.hpp"
#include "graph/task_pool.hpp"
#include "memory/residency.hpp"
#include "memory/rules.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::engine {

struct PrefetchRequest {
  // While it is ready and not pulled it keeps the handle alive; later its slot may be another's.
  const graph::Task* task = nullptr;
  TaskId id;
  graph::Handle* handle = nullptr;
  int priority = 0;
  AccessMode mode = AccessMode::R;
};

// A copy that the policy has planned: sched::PolicyContext::load.
struct PlannedCopy {
  const graph::Task* task = nullptr;
  TaskId id;
  graph::Handle* handle = nullptr;
  graph::Handle* victim = nullptr;
  std::uint32_t victim_life = 0;  // it may be unregistered, and its slot used again
};

// Under the lock of its node in PrefetchRequests.
class PrefetchQueue {
 public:
  void add(const graph::Task& task, graph::Handle& handle, int priority, AccessMode mode) {
    waiting_.push_back({&task, graph::TaskPool::id(task), &handle, priority, mode});
    for (std::size_t at = waiting_.size() - 1; at > first_ && waiting_[at - 1].priority < priority;
         --at) {
      std::swap(waiting_[at - 1], waiting_[at]);
    }
    fresh_.store(true, std::memory_order_relaxed);
    any_.store(true, std::memory_order_relaxed);
  }
  bool empty() const { return first_ == waiting_.size(); }
  const PrefetchRequest& front() const { return waiting_[first_]; }
  void pop_front() {
    ++first_;
    if (first_ < kSlack && !empty()) return;
    if (2 * first_ < waiting_.size()) return;
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
    any_.store(!waiting_.empty(), std::memory_order_relaxed);
  }

  // They are looked at now.
  void looked_at() { fresh_.store(false, std::memory_order_relaxed); }

  // Without the lock, hints: there are some; some have come since they were looked at.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  bool fresh() const { return fresh_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kSlack = 1024;
  base::SureVector<PrefetchRequest> waiting_;
  std::size_t first_ = 0;  // those before it are done with
  std::atomic<bool> any_{false};
  std::atomic<bool> fresh_{false};
};

// What is noted of each task in its graph::TaskNote: most are prefetched to one node at most. One look finds it,
// where to ask every node would mean a line from memory for each.
class PrefetchNotes {
 public:
  // name and keep_use: of a task one thread at a time, and before anybody can pop it.
  // False: it was named for the node before.
  static bool name(const graph::Task& task, NodeId node) {
    const std::uint64_t bit = std::uint64_t{1} << node.value;
    graph::TaskNote& note = graph::TaskPool::note(task);
    const std::uint64_t before = note.prefetched_to.fetch_or(bit, std::memory_order_relaxed);
    if (before == 0) {
      note.first = node.value & (graph::NodeMask::kMostNodes - 1);
      note.last_use = 0;  // of the slot's task before
    }
    return (before & bit) == 0;
  }
  void keep_use(const graph::Task& task, NodeId node, std::uint64_t last_use) {
    graph::TaskNote& note = graph::TaskPool::note(task);
    if (note.first == node.value) {
      note.last_use = last_use & kUseBits;
    } else {
      const std::lock_guard lock(mutex_);
      others_[{&task, node}] = last_use;
    }
  }
  // A bit per node; and nothing is requested any more.
  static std::uint64_t take(const graph::Task& task) {
    graph::TaskNote& note = graph::TaskPool::note(task);
    if (note.prefetched_to.load(std::memory_order_relaxed) == 0) return 0;
    return note.prefetched_to.exchange(0, std::memory_order_relaxed);
  }
  // After take, for each node.
  std::uint64_t take_use(const graph::Task& task, NodeId node) {
    const graph::TaskNote& note = graph::TaskPool::note(task);
    if (note.first == node.value) return note.last_use;
    const std::lock_guard lock(mutex_);
    const auto kept = others_.extract({&task, node});
    return kept ? kept.mapped() : 0;
  }

 private:
  static constexpr std::uint64_t kUseBits =
      (std::uint64_t{1} << 58) - 1;  // they are numbered from 1
  std::mutex mutex_;
  base::SureMap<std::pair<const graph::Task*, NodeId>, std::uint64_t> others_;
};

class PrefetchRequests {
 public:
  PrefetchRequests(std::size_t nodes, memory::Residency& residency, const memory::Rules& rules)
      : nodes_(nodes), residency_(residency), rules_(rules) {}

  // The task, pushed and not popped, will probably run on the node.
  void add(const graph::Task& task, NodeId node);
  // The task, known to the policy and not popped, reads the handle; null: no victim is named.
  void plan(const graph::Task& task, graph::Handle& handle, NodeId node, graph::Handle* victim);
  // The task has left the policy.
  void forget(const graph::Task& task) {
    if (ever_.load(std::memory_order_relaxed)) forget_all(task);
  }
  // Some have come since they were looked at: a hint.
  bool fresh() const { return fresh_.load(std::memory_order_relaxed); }
  // Copies for the node's requests, up to the first that gets no room. They evict nothing. StarPU's prefetches evict
  // data that no waiting task will use (Rules::prefetch), which costs many bytes and saves none (docs/performance.md).
  void grant(NodeId node, memory::Actions& actions);
  void grant_fresh(memory::Actions& actions);
  // Of the accelerators, after a change in RAM: what comes from the disk passes there.
  void grant_through_ram(memory::Actions& actions);
  // All tasks that use some handle have ended: nobody looks at requests for it after this.
  void let_pass() const;

 private:
  struct Node {
    // Taken under the policy's lock, before the residency's; also held where Residency is told what tasks
    // that wait will use. Whoever carries a request out holds it from the look at the task on, so a handle
    // cannot be forgotten meanwhile: see let_pass.
    mutable std::mutex mutex;
    base::SureVector<PlannedCopy> planned;  // in the order in which they were asked for
    std::atomic<bool> any_planned{false};
    PrefetchQueue copies;
    PrefetchQueue places;  // Rules::owner, what needs no copy
  };
  void forget_all(const graph::Task& task);
  bool grant_planned(Node& lists, NodeId node, memory::Actions& actions);
  bool grant_copy(const PrefetchRequest& request, NodeId node, memory::Actions& actions);

  std::vector<Node> nodes_;
  memory::Residency& residency_;
  const memory::Rules rules_;
  PrefetchNotes tasks_;
  std::atomic<bool> fresh_{false};
  std::atomic<bool> ever_{false};
};

}  // namespace vicinal::engine
