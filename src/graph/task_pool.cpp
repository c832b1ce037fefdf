#include "graph/task_pool.hpp"

namespace vicinal::graph {

void TaskPool::make_room(Task& task, std::size_t accesses, std::size_t lane) {
  try {
    if (accesses < std::size(AccessBlock{}.accesses)) {
      put_outside(task, blocks_.take(lane, (accesses + 1) * sizeof(Access)).accesses);
    } else {
      allocate_outside(task, accesses);
    }
  } catch (...) {
    task.extension.reset();
    tasks_.give_back(task, lane);
    throw;
  }
}

void TaskPool::drop_room(Task& task, std::size_t lane) {
  const bool allocated = task.extension && !task.extension->accesses.empty();
  if (!allocated)
    blocks_.give_back(*reinterpret_cast<AccessBlock*>(task.accesses().data() - 1), lane);
  task.outside = false;
}

}  // namespace vicinal::graph
