// Where tasks live, and the accesses of those that have more than a task holds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "graph/slot_pool.hpp"
#include "graph/task.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::graph {

// To which memory nodes prefetches were requested for the task while it is with the policy, a bit each, and the
// uses it was given there: the engine's, see engine/prefetch_requests.hpp.
struct TaskNote {
  std::atomic<std::uint64_t> prefetched_to{0};
  std::uint64_t first : 6 = 0;  // the node that `last_use` is of
  std::uint64_t last_use : 58 = 0;
};

class TaskPool {
 public:
  // `threads`: so many may call at once, by number; the runtime numbers them.
  explicit TaskPool(std::size_t threads) : tasks_(threads), blocks_(threads) {}

  // A free task with room for so many accesses. One caller at a time per thread.
  Task& take(std::size_t thread, std::size_t accesses = 1) {
    Task& task = tasks_.take(thread, accesses > 0 ? sizeof(Task) : 64);
    task.next = nullptr;
    if (accesses > kInlineAccesses) {
      make_room(task, accesses, thread);  // or gives it back and throws
    }
    return task;
  }
  // The task has ended: begins a new life of its slot, which is a computation unless it is told otherwise. Its
  // extension is dropped.
  void give_back(Task& task, std::size_t thread) {
    if (task.outside) drop_room(task, thread);
    if (task.extension) drop_extension(task);
    task.policy_data = nullptr;
    tasks_.give_back(task, thread);
  }

  // The id of this life of the slot.
  static TaskId id(const Task& task) {
    return {(std::uint64_t{task.life.load(std::memory_order_relaxed) & kLifeMask} << 32) |
            Slots::number(task)};
  }
  static TaskNote& note(const Task& task) { return Slots::note(task); }
  // The slot the id names, whatever life it is in now; nullptr if there is none.
  Task* find(TaskId id) const { return tasks_.find(id.value & 0xffffffffU); }
  // A submission has returned the id, or is about to; the task may have ended since.
  bool has_begun(TaskId id) const;
  static bool alive(const Task& task, TaskId id) {
    return (task.life.load(std::memory_order_acquire) & kLifeMask) == (id.value >> 32);
  }

 private:
  using Slots = SlotPool<Task, TaskNote>;
  static constexpr std::uint32_t kLifeMask = 0x7fffffffU;
  // Enough for nearly all tasks; those with more pay for an allocation.
  struct alignas(256) AccessBlock {
    Access accesses[16];
  };

  void make_room(Task& task, std::size_t accesses, std::size_t thread);
  void drop_room(Task& task, std::size_t thread);
  [[gnu::noinline]] static void drop_extension(Task& task) {
    task.extension.reset();
    task.kind = TaskKind::compute;  // every task of another kind has one
  }

  Slots tasks_;
  SlotPool<AccessBlock> blocks_;
};

}  // namespace vicinal::graph
