#include "graph/task_pool.hpp"

#include <algorithm>
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

// Full: those that have been there longest go to whoever submits.
void TaskPool::share(Lane& lane) {
  Batch batch;
  std::copy_n(lane.free.begin(), kBatch, batch.begin());
  std::copy(lane.free.begin() + kBatch, lane.free.end(), lane.free.begin());
  lane.count -= kBatch;
  const std::lock_guard lock(mutex_);
  batches_.push_back(batch);
}

void TaskPool::refill(Lane& lane) {
  const std::lock_guard lock(mutex_);
  if (batches_.empty()) add_slab();
  std::copy(batches_.back().begin(), batches_.back().end(), lane.free.begin());
  lane.count = kBatch;
  batches_.pop_back();
}

// Its slots are taken in the order of their addresses.
void TaskPool::add_slab() {
  void* room = ::operator new (kSlabBytes, std::align_val_t{kSlabBytes});
  Slab* slab = new (room) Slab;
  slab->index = slabs_.size();
  slabs_.emplace_back(slab);
  static_assert(kTasksPerSlab % kBatch == 0);
  for (std::size_t at = kTasksPerSlab; at > 0; at -= kBatch) {
    Batch& batch = batches_.emplace_back();
    for (std::size_t i = 0; i < kBatch; ++i) batch[i] = &slab->tasks[at - 1 - i];
  }
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
