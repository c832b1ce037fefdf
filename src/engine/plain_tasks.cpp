// Tasks without a worker: their kind acts when they have access to their data.
#include <memory>
#include <mutex>

#include "engine/lifecycle.hpp"
#include "engine/task_state.hpp"

namespace vicinal::engine {

using graph::Task;
using graph::TaskState;

Task& Engine::new_plain_task(graph::TaskKind kind, const char* what, std::size_t accesses) {
  auto extension = std::make_unique<graph::TaskExtension>();
  extension->name = what;
  const std::size_t thread = counters_.index(kNoWorker);
  std::unique_lock lock(counters_.shared_lock(), std::defer_lock);
  if (counters_.shared(thread)) lock.lock();
  Task& task = take_slot(thread, accesses, graph::is_counted(kind));
  task.kind = kind;
  task.priority = 0;
  task.access_count = accesses & 0x3fffU;
  task.commutes = false;
  if (task.extension) {  // it has room for many accesses
    task.extension->name.swap(extension->name);
  } else {
    task.extension = std::move(extension);
  }
  return task;
}

void Engine::end_plain_task(Task& task, Obtained obtained) {
  if (obtained == Obtained::nothing) {
    graph::Access& access = task.accesses()[0];
    if (access.mode == AccessMode::W) access.mode = AccessMode::RW;
  }
  if (obtained == Obtained::content && !trivial_) {
    perform_what([&](memory::Actions& actions) {
      residency_.written(task, kRam, actions);
      residency_.unpin(task, kRam, actions);
    });
  }
  graph::ReadyList ready;
  record_end(task, kNoWorker, Outcome::done);
  end(task, kNoWorker, Outcome::done, ready);
  make_ready(ready, kNoWorker);
  notify_waiters();
}

}  // namespace vicinal::engine
