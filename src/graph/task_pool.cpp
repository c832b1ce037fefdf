#include "graph/task_pool.hpp"

namespace vicinal::graph {

void TaskPool::make_room(Task& task, std::size_t accesses, std::size_t thread) {
  try {
    if (accesses < std::size(AccessBlock{}.accesses)) {
      put_outside(task, blocks_.take(thread, (accesses + 1) * sizeof(Access)).accesses);
    } else {
      allocate_outside(task, accesses);
    }
  } catch (...) {
    task.extension.reset();
    tasks_.give_back(task, thread);
    throw;
  }
}

// A slot that was given back is seen free only with its next life, which is looked at once more then.
bool TaskPool::has_begun(TaskId id) const {
  const Task* const slot = find(id);
  const std::uint64_t named = id.value >> 32;
  if (slot == nullptr || named > kLifeMask) return false;
  const auto lives_since = [&] {
    return (slot->life.load(std::memory_order_acquire) - static_cast<std::uint32_t>(named)) &
           kLifeMask;
  };
  const bool is_present = lives_since() == 0;
  if (is_present && slot->state.load(std::memory_order_acquire) != TaskState::free) return true;
  const std::uint32_t since = lives_since();
  return since > 0 && since <= kLifeMask / 2;  // lives are counted modulo 2^31
}

void TaskPool::drop_room(Task& task, std::size_t thread) {
  const bool allocated = task.extension && !task.extension->accesses.empty();
  if (!allocated)
    blocks_.give_back(*reinterpret_cast<AccessBlock*>(task.accesses().data() - 1), thread);
  task.outside = false;
}

}  // namespace vicinal::graph
