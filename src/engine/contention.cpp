// A worker that asks for a task where tasks may wait because of contention.
#include "engine/decisions.hpp"
#include "engine/lifecycle.hpp"

namespace vicinal::engine {

using graph::Task;

// Tasks that wait come first, then what the policy gives, then in need tasks that wait. If some are left a worker that sleeps
// may have the next, which was pushed for the worker that asks.
[[gnu::noinline]] Task* Engine::next_by_contention(WorkerId worker) {
  if (!contention_.governs(worker)) return next_given(worker);
  for (;;) {
    Task* const task = next_beside(worker);
    if (task == nullptr) return nullptr;
    if (contention_.waiting() > 0) sleepers_.wake_one(kRam);
    // It may have waited for long. One whose operands are pinned goes on as if it had begun before.
    if (!trivial_ || !errors_.cancels(*task)) [[likely]]
      return task;
    leave_memory(*task, worker);
    end_one_cancelled(*task, worker);
  }
}

Task* Engine::next_beside(WorkerId worker) {
  Task* const waited = contention_.take(worker, false);
  if (waited != nullptr) return waited;
  while (contention_.looks_on()) {
    Task* const task = next_given(worker);
    if (task == nullptr) break;
    const std::optional<Saturation> why = contention_.keep(*task, worker);
    if (!why) return task;
    tell_saturation(view_, *task, worker, *why);
  }
  return contention_.take(worker, true);
}

[[gnu::noinline]] void Engine::leave_memory(const Task& task, WorkerId worker) {
  if (contention_.end(task, worker)) sleepers_.wake_node(kRam);
}

[[gnu::noinline]] void Engine::end_message(Bytes bytes) {
  if (contention_.active() && contention_.end_message(bytes)) sleepers_.wake_node(kRam);
}

}  // namespace vicinal::engine
