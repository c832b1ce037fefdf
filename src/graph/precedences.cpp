#include <string>
#include <utility>

#include "base/asymmetric_fence.hpp"
#include "base/sure_memory.hpp"
#include "graph/dependencies.hpp"
#include "vicinal/error.hpp"

namespace vicinal::graph {

void Precedences::check(TaskId before, const Task& task) const {
  if (pool_.find(before) != nullptr) return;
  throw UsageError("task " + std::string(task.name()) +
                   " is declared after a task id that no submission returned");
}

void Precedences::add(TaskId before, Task& task) {
  Task* first = pool_.find(before);
  const std::lock_guard guard(mutex_);
  if (!used_.load(std::memory_order_relaxed)) {
    used_.store(true, std::memory_order_relaxed);
    base::heavy_fence();  // with the light one of end_life
  }
  std::uint32_t life = static_cast<std::uint32_t>(before.value >> 32);
  // Either the bit is set before the life ends, and end_life sees it, or the life has ended.
  std::uint32_t expected = life;
  if (!first->life.compare_exchange_strong(expected, life | kHasSuccessors,
                                           std::memory_order_acq_rel) &&
      expected != (life | kHasSuccessors)) {
    return;
  }
  task.blocked.fetch_add(1, std::memory_order_relaxed);
  successors_[first].push_back(&task);
}

void Precedences::release_successors(Task& task, ReadyList& ready) {
  base::SureVector<Task*> after;
  {
    const std::lock_guard guard(mutex_);
    const auto found = successors_.find(&task);
    if (found == successors_.end()) return;
    after = std::move(found->second);
    successors_.erase(found);
  }
  for (Task* next : after) {
    if (next->blocked.fetch_sub(1, std::memory_order_acq_rel) == 1) ready.append(*next);
  }
}

}  // namespace vicinal::graph
