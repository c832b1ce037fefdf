// Plans of the policy: made when tasks are known and not passed on yet; long ones in slices, by whoever has
// nothing else to do.
#include <exception>
#include <utility>

#include "engine/lifecycle.hpp"

namespace vicinal::engine {

using graph::Task;

// The policy may not know what it has not planned: nothing of it is run.
void Engine::planning_failed(std::exception_ptr error) {
  cancel_all(base::say_out_of_memory(std::move(error), "planned tasks"));
}

void Engine::plan(const sched::KnownTasks& known) {
  gate_.plan(known, [this](std::exception_ptr error) { planning_failed(std::move(error)); });
}

bool Engine::run_deferred(WorkerId worker) {
  const PolicyGate::Slice slice = gate_.run_slice(
      worker, [this](std::exception_ptr error) { planning_failed(std::move(error)); });
  if (slice == PolicyGate::Slice::last) sleepers_.wake_all();
  return slice != PolicyGate::Slice::none;
}

// A worker that gets a task leaves the other slices to workers without a task.
[[gnu::noinline]] Task* Engine::next_after_slices(WorkerId worker) {
  lanes_.begin_idle(worker);
  while (run_slice(worker)) {
    Task* const task = next(worker);
    if (task == nullptr) continue;
    if (gate_.has_deferred()) {
      sleepers_.wake_all();
      config_.notify_waiters();
    }
    return task;
  }
  return nullptr;
}

}  // namespace vicinal::engine
