#include "engine/ram_hold.hpp"

#include <utility>

#include "engine/lifecycle.hpp"

namespace vicinal::engine {

void RamHold::ended() {
  const bool failed =
      told_.request.state.load(std::memory_order_acquire) == memory::RequestState::failed;
  pinned_ = !failed;
  // What it calls may be the end of this.
  const std::exception_ptr error = failed ? told_.request.error : nullptr;
  kind_->held(*task_, error);
}

void RamHold::take(Engine& engine, graph::Task& task, Kind& kind) {
  task_ = &task;
  kind_ = &kind;
  if (engine.trivial_) return kind.held(task, nullptr);
  memory::Request& request = told_.request;
  request.kind = memory::RequestKind::task;
  request.state.store(memory::RequestState::idle, std::memory_order_relaxed);
  request.error = nullptr;
  request.node = kRam;
  request.operands = task.accesses();
  request.tells = true;
  engine.data().request(request);
}

void RamHold::share(Engine& engine, const First& first) {
  if (pinned_) {
    engine.perform_what([&](memory::Actions& actions) {
      engine.residency_.written(*task_, kRam, actions);
      if (first) first(actions);
    });
  }
  is_shared_ = true;
  engine.share(*task_);
}

void RamHold::put_down(Engine& engine) {
  if (!std::exchange(pinned_, false)) return;
  engine.perform_what(
      [&](memory::Actions& actions) { engine.residency_.unpin(*task_, kRam, actions); });
}

// Readers of shared content may have made copies since, which are as good.
void RamHold::let_go(Engine& engine, Outcome outcome, const std::exception_ptr& error,
                     const First& first) {
  graph::Task& task = *task_;
  if (error) {
    engine.errors_.fail(task, error);
  } else if (outcome == Outcome::failed) {
    engine.errors_.note_cancelled(task);  // by what a task inside threw
  }
  if (pinned_) {
    engine.perform_what([&](memory::Actions& actions) {
      if (!is_shared_) engine.residency_.written(task, kRam, actions);
      if (first) first(actions);
      engine.residency_.unpin(task, kRam, actions);
    });
  }
  engine.end_unstarted(task, outcome);
}

// Those that have been pulled wait for room, which may come only from tasks that are still with the policy. True: one more
// has been pulled.
[[gnu::noinline]] bool Engine::reach_confined(LookAhead& ahead, WorkerId worker,
                                              graph::ReadyList& cancelled) {
  if (confined_.load(std::memory_order_relaxed) == 0 || node_of(worker) != kRam) return false;
  graph::Task* const task = pop(worker);
  if (task == nullptr) return false;
  if (errors_.cancels(*task)) {
    cancelled.append(*task);
  } else {
    keep_or_hold(ahead, *task);
  }
  return true;
}

bool Engine::its_kind_has_it(const graph::Task& task) const {
  if (task.kind == graph::TaskKind::combination) return !task.extension->is_combinable;
  if (task.extension->recursive == Recursive::never) return false;
  if (task.extension->recursive == Recursive::always) return true;
  const auto workers = static_cast<std::uint32_t>(config_.machine.workers.size());
  return policy_->divides(task, {.workers = workers, .idle = sleepers_.asleep()});
}

}  // namespace vicinal::engine
