// Slots for tasks, reused. In steady state a submission allocates nothing: slots ended by a worker
// gather in that worker's own list and go back in batches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "graph/task.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::graph {

class TaskPool {
 public:
  // `lanes`: one per thread that may call at once; see runtime for who uses which.
  explicit TaskPool(std::size_t lanes);
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  // A free task. One thread at a time per lane.
  Task& take(std::size_t lane_index) {
    Lane& lane = lanes_[lane_index];
    if (lane.count == 0) refill(lane);
    Task& task = *lane.free[--lane.count];
    // Slots were last written by whoever ended their tasks, often on another core.
    if (lane.count >= kAhead) {
      const auto* const coming = reinterpret_cast<const char*>(lane.free[lane.count - kAhead]);
      __builtin_prefetch(coming, 1);
      __builtin_prefetch(coming + 64, 1);
    }
    task.next = nullptr;
    return task;
  }
  // The task has ended: begins a new life of its slot. Its extension is dropped.
  void give_back(Task& task, std::size_t lane_index) {
    Lane& lane = lanes_[lane_index];
    if (task.extension) task.extension.reset();
    task.policy_data = nullptr;
    if (lane.count == lane.free.size()) share(lane);
    lane.free[lane.count++] = &task;
  }

  // The id of this life of the slot.
  static TaskId id(const Task& task);
  // The slot the id names, whatever life it is in now; nullptr if there is none.
  Task* find(TaskId id) const;
  static bool alive(const Task& task, TaskId id);

 private:
  static constexpr std::size_t kSlabBytes = std::size_t{1} << 18;
  static constexpr std::size_t kBatch = 64;
  static constexpr std::size_t kAhead = 4;
  using Batch = std::array<Task*, kBatch>;
  static constexpr std::size_t kTasksPerSlab = (kSlabBytes / sizeof(Task) - 1) / kBatch * kBatch;

  // Aligned to its size, so that a task finds its slab by masking its address.
  struct alignas(sizeof(Task)) Slab {
    std::uint64_t index = 0;
    Task tasks[kTasksPerSlab];
  };
  static_assert(sizeof(Slab) <= kSlabBytes);
  struct FreeSlab {
    void operator()(Slab* slab) const;
  };
  struct alignas(64) Lane {
    std::size_t count = 0;
    std::array<Task*, 2 * kBatch> free;  // a stack
  };

  void refill(Lane& lane);
  void share(Lane& lane);
  void add_slab();

  std::vector<Lane> lanes_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<Slab, FreeSlab>> slabs_;
  std::vector<Batch> batches_;
};

}  // namespace vicinal::graph
