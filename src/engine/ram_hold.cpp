#include "engine/ram_hold.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/lifecycle.hpp"

namespace vicinal::engine {

void RamHold::ended() {
  const bool failed =
      told_.request.state.load(std::memory_order_acquire) == memory::RequestState::failed;
  pinned_ = !failed;
  // What it calls may be the end of this.
  const Then then = std::move(then_);
  then(failed ? told_.request.error : nullptr);
}

void Engine::hold_in_ram(RamHold& hold, graph::Task& task, RamHold::Then then) {
  hold.task_ = &task;
  if (trivial_) return then(nullptr);
  hold.then_ = std::move(then);
  memory::Request& request = hold.told_.request;
  request.kind = memory::RequestKind::task;
  request.node = kRam;
  request.operands = task.accesses();
  request.tells = true;
  this->request(request);
}

void Engine::let_go(RamHold& hold, Outcome outcome, const std::exception_ptr& error) {
  graph::Task& task = *hold.task_;
  if (error) {
    errors_.fail(task, error);
  } else if (outcome == Outcome::failed) {
    errors_.note_cancelled(task);  // by what a task inside threw
  }
  if (hold.pinned_) {
    perform_what([&](memory::Actions& actions) {
      residency_.written(task, kRam, actions);
      residency_.unpin(task, kRam, actions);
    });
  }
  graph::ReadyList ready;
  record_end(task, kNoWorker, outcome);
  end(task, kNoWorker, outcome, ready);
  make_ready(ready, kNoWorker);
  config_.notify_waiters();
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

bool Engine::is_divided(const graph::Task& task) const {
  if (task.extension->combines != nullptr) return !task.extension->is_combinable;
  if (task.extension->recursive == Recursive::always) return true;
  const auto workers = static_cast<std::uint32_t>(config_.machine.workers.size());
  return policy_->divides(task, {.workers = workers, .idle = sleepers_.asleep()});
}

// If an input is poisoned, or does not come, the outputs are poisoned.
void Engine::pass_on_in_ram(graph::Task& task) {
  const auto poisoned = [](const graph::Access& access) {
    return reads(access.mode) && access.handle->poisoned.load(std::memory_order_relaxed);
  };
  const bool lost = std::ranges::any_of(task.accesses(), poisoned);
  auto owner = std::make_unique<RamHold>();
  RamHold& hold = *owner;
  RamHold::Then then = [this, lost, &hold](const std::exception_ptr& error) {
    const std::unique_ptr<RamHold> ends(&hold);
    if (error) errors_.report(error);
    let_go(hold, lost || error ? Outcome::cancelled : Outcome::done);
  };
  static_cast<void>(owner.release());
  hold_in_ram(hold, task, std::move(then));
}

}  // namespace vicinal::engine
