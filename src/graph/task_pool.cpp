#include "graph/task_pool.hpp"

#include <new>

namespace vicinal::graph {

namespace {
constexpr std::uint32_t kLifeMask = 0x7fffffffU;
}

void TaskPool::FreeSlab::operator()(Slab* slab) const {
  slab->~Slab();
  ::operator delete (slab, std::align_val_t{kSlabBytes});
}

TaskPool::TaskPool(std::size_t lanes) : lanes_(lanes) {}
TaskPool::~TaskPool() = default;

// Two batches are there: one goes to whoever submits.
void TaskPool::share(Lane& lane) {
  Task* batch = lane.free;
  Task* last = batch;
  for (std::size_t i = 1; i < kBatch; ++i) last = last->next;
  lane.free = last->next;
  last->next = nullptr;
  lane.count -= kBatch;
  const std::lock_guard lock(mutex_);
  batches_.push_back(batch);
}

void TaskPool::refill(Lane& lane) {
  const std::lock_guard lock(mutex_);
  if (!batches_.empty()) {
    lane.free = batches_.back();
    lane.count = kBatch;
    batches_.pop_back();
    return;
  }
  void* room = ::operator new (kSlabBytes, std::align_val_t{kSlabBytes});
  Slab* slab = new (room) Slab;
  slab->index = slabs_.size();
  slabs_.emplace_back(slab);
  for (std::size_t i = kTasksPerSlab; i-- > 0;) {
    slab->tasks[i].next = lane.free;
    lane.free = &slab->tasks[i];
  }
  lane.count += kTasksPerSlab;
}

TaskId TaskPool::id(const Task& task) {
  const auto address = reinterpret_cast<std::uintptr_t>(&task);
  const auto* slab = reinterpret_cast<const Slab*>(address & ~(kSlabBytes - 1));
  const std::uint64_t slot =
      slab->index * kTasksPerSlab + static_cast<std::uint64_t>(&task - slab->tasks);
  return {(std::uint64_t{task.life.load(std::memory_order_relaxed) & kLifeMask} << 32) | slot};
}

Task* TaskPool::find(TaskId id) const {
  const std::uint64_t slot = id.value & 0xffffffffU;
  const std::lock_guard lock(mutex_);
  if (slot / kTasksPerSlab >= slabs_.size()) return nullptr;
  return &slabs_[slot / kTasksPerSlab]->tasks[slot % kTasksPerSlab];
}

bool TaskPool::alive(const Task& task, TaskId id) {
  return (task.life.load(std::memory_order_acquire) & kLifeMask) == (id.value >> 32);
}

}  // namespace vicinal::graph
