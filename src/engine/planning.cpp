// Plans of the policy: made when tasks are known and not passed on yet; long ones in slices, by whoever has
// nothing else to do.
#include <exception>
#include <utility>

#include "engine/lifecycle.hpp"

namespace vicinal::engine {

using graph::Task;

// The policy may not know what it has not planned: nothing of it is run.
void Engine::planning_failed(std::exception_ptr error) {
  errors_.cancel_all(base::say_out_of_memory(std::move(error), "planned tasks"));
}

void Engine::plan(const sched::KnownTasks& known) {
  gate_.plan(known, [this](std::exception_ptr error) { planning_failed(std::move(error)); });
}

void Engine::passed_on() {
  gate_.passed_on();
  grant_fresh_prefetches();
}

bool Engine::run_deferred(WorkerId worker) {
  const PolicyGate::Slice slice = gate_.run_slice(
      worker, [this](std::exception_ptr error) { planning_failed(std::move(error)); });
  if (log_) grant_fresh_prefetches();
  if (slice == PolicyGate::Slice::last) sleepers_.wake_all();
  return slice != PolicyGate::Slice::none;
}

// --- gears

// By a thread that has no lock.
void Engine::choose_gear() {
  const bool plans = has_devices_ || residency_.any_short();
  const sched::Gear gear = plans ? sched::Gear::planned : sched::Gear::immediate;
  if (gate_.gear() == gear) return;
  try {
    if (!gate_.change_gear(gear)) return;
  } catch (...) {
    planning_failed(std::current_exception());
  }
  sleepers_.wake_all();  // what the policy did not give in the other gear it may give now
  plan_new(1);
}

void Engine::plan_new(std::size_t at_least) {
  if (!log_ || log_->fresh() < at_least) return;
  if (gate_.gear() != sched::Gear::planned || !log_->claim_growth()) return;
  view_.defer([this] { return grow_plan(); });
}

// A slice, under the policy's lock: the gear stays. What is noted meanwhile finds the claim taken, and is seen after it
// was let go.
bool Engine::grow_plan() {
  constexpr std::size_t kMost = 256;
  try {
    if (gate_.gear() == sched::Gear::planned && log_->grow(*policy_, kMost)) return true;
  } catch (...) {
    log_->let_go();
    throw;
  }
  log_->let_go();
  return gate_.gear() == sched::Gear::planned && log_->fresh() > 0 && log_->claim_growth();
}

// A worker that gets a task leaves the other slices to workers without a task.
[[gnu::noinline]] Task* Engine::next_after_slices(WorkerId worker) {
  counters_.begin_idle(worker);
  while (run_slice(worker)) {
    Task* const task = next(worker);
    if (task == nullptr) continue;
    if (gate_.has_deferred()) {
      sleepers_.wake_all();
      notify_waiters();
    }
    return task;
  }
  return nullptr;
}

}  // namespace vicinal::engine
