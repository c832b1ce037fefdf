#include "engine/policy_gate.hpp"

#include <thread>
#include <utility>

#include "base/asymmetric_fence.hpp"
#include "engine/task_state.hpp"
#include "graph/task_pool.hpp"

namespace vicinal::engine {

PolicyGate::PolicyGate(sched::Policy& policy, std::function<void(graph::Task&, WorkerId)> retire,
                       trace::Recorder& recorder, std::function<void()> refused, bool timed)
    : policy_(policy),
      retire_(std::move(retire)),
      recorder_(recorder),
      concurrent_(policy.traits().concurrent),
      wants_ends_(policy.traits().wants_ends),
      first_concurrent_(concurrent_),
      first_wants_ends_(wants_ends_),
      watch_(timed ? std::make_unique<base::Stopwatch>() : nullptr),
      tell_refused_(std::move(refused)) {
  if (timed) recorder_.set_above(kTimed);
}

// --- gears

void PolicyGate::set_gears(SubmissionLog& submissions, std::size_t workers) {
  log_ = &submissions;
  calls_ = std::vector<Calls>(workers + 1);
  concurrent_ = false;
  wants_ends_ = true;
}

// Whoever is counted after the gear has changed sees that, and goes by the policy's lock. What they find in the inbox of
// the other gear is given to the policy if that gear hears of it.
bool PolicyGate::change_gear(sched::Gear to) {
  {
    const std::lock_guard lock(mutex_);
    if (gear() == to) return false;
    drain(kNoWorker);
    const base::Stopwatch::Lap lap(watch_.get());
    if (to == sched::Gear::planned) {
      gear_.store(to, std::memory_order_seq_cst);
      for (const Calls& calls : calls_) {
        while (calls.inside.load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
      }
      base::heavy_fence();  // with the light one of task_done
      policy_.gear_changed(to);
    } else {
      policy_.gear_changed(to);
      log_->begin_anew();
      gear_.store(to, std::memory_order_seq_cst);
    }
  }
  drain_leftovers(kNoWorker);
  return true;
}

[[gnu::noinline]] void PolicyGate::push_in_gear(graph::Task& task, WorkerId releasing) {
  if (has_gears()) {
    const Inside inside(*this, releasing);
    if (inside) return push_at_once(task, releasing);
  }
  post({Event::Kind::push, &task, nullptr, releasing, {}}, releasing);
}

[[gnu::noinline]] graph::Task* PolicyGate::pop_in_gear(WorkerId worker) {
  if (has_gears()) {
    const Inside inside(*this, worker);
    if (inside) return pop_at_once(worker);
  }
  return pop_serial(worker);
}

[[gnu::noinline]] bool PolicyGate::may_move_in_gear(graph::Task& task, WorkerId to) {
  if (has_gears()) {
    const Inside inside(*this, to);
    if (inside) return may_move_at_once(task, to);
  }
  return may_move_serial(task, to);
}

[[gnu::noinline]] void PolicyGate::push_watched(graph::Task& task, WorkerId releasing) {
  if (recorder_.on(trace::Category::scheduler)) {
    recorder_.record<trace::Event::task_ready>(releasing.value, graph::TaskPool::id(task).value);
  }
  const base::Stopwatch::Lap lap(watch_.get());
  try {
    policy_.push(task, releasing);
  } catch (const std::bad_alloc&) {
    refuse(task);
  }
}

[[gnu::noinline]] graph::Task* PolicyGate::pop_watched(WorkerId worker) {
  graph::Task* task = nullptr;
  {
    const base::Stopwatch::Lap lap(watch_.get());
    task = policy_.pop(worker);
  }
  if (task != nullptr && recorder_.on(trace::Category::scheduler)) {
    recorder_.record<trace::Event::task_scheduled>(worker.value, graph::TaskPool::id(*task).value);
  }
  return task;
}

[[gnu::noinline]] void PolicyGate::refuse(graph::Task& task) {
  {
    const std::lock_guard lock(inbox_mutex_);
    refused_.append(task);
    any_refused_.store(true, std::memory_order_relaxed);
  }
  tell_refused_();
}

graph::ReadyList PolicyGate::take_refused() {
  const std::lock_guard lock(inbox_mutex_);
  any_refused_.store(false, std::memory_order_relaxed);
  return std::exchange(refused_, {});
}

void PolicyGate::apply(const Event& event, WorkerId current) {
  const auto tell = [this](const auto& call) {
    const base::Stopwatch::Lap lap(watch_.get());
    call();
  };
  switch (event.kind) {
    case Event::Kind::push:
      push_at_once(*event.task, event.worker);
      break;
    case Event::Kind::done:
      apply_done(event, current);
      break;
    case Event::Kind::loaded:
      if (hears_copies()) tell([&] { policy_.data_loaded(*event.handle, event.node); });
      break;
    case Event::Kind::evicted:
      if (hears_copies()) tell([&] { policy_.data_evicted(*event.handle, event.node); });
      break;
  }
}

void PolicyGate::apply_done(const Event& event, WorkerId current) {
  if (hears_ends()) {
    const base::Stopwatch::Lap lap(watch_.get());
    policy_.task_done(*event.task, event.worker);
  }
  if (has_gears()) log_->ended(*event.task);
  if (let_slot_go(*event.task)) retire_(*event.task, current);
}

void PolicyGate::drain(WorkerId current) {
  while (inbox_filled_.load(std::memory_order_seq_cst)) {
    {
      const std::lock_guard lock(inbox_mutex_);
      draining_.swap(inbox_);
      inbox_filled_.store(false, std::memory_order_seq_cst);
    }
    for (const Event& event : draining_) apply(event, current);
    draining_.clear();
  }
}

// Whoever left an event behind found the policy held; its holder comes here after it has let go, so
// one of the two sees the event.
void PolicyGate::drain_leftovers(WorkerId current) {
  while (inbox_filled_.load(std::memory_order_seq_cst) && mutex_.try_lock()) {
    const std::lock_guard lock(mutex_, std::adopt_lock);
    drain(current);
  }
}

[[gnu::noinline]] void PolicyGate::post(const Event& event, WorkerId current) {
  if (mutex_.try_lock()) {
    const std::lock_guard lock(mutex_, std::adopt_lock);
    drain(current);
    apply(event, current);
  } else {
    const std::lock_guard lock(inbox_mutex_);
    inbox_.push_back(event);
    inbox_filled_.store(true, std::memory_order_seq_cst);
  }
  drain_leftovers(current);
}

[[gnu::noinline]] graph::Task* PolicyGate::pop_serial(WorkerId worker) {
  graph::Task* task = nullptr;
  {
    const std::lock_guard lock(mutex_);
    drain(worker);
    task = pop_at_once(worker);
  }
  drain_leftovers(worker);
  return task;
}

[[gnu::noinline]] bool PolicyGate::may_move_serial(graph::Task& task, WorkerId to) {
  bool may = false;
  {
    const std::lock_guard lock(mutex_);
    drain(to);
    may = may_move_at_once(task, to);
  }
  drain_leftovers(to);
  return may;
}

// The task's state was stored before: either this sees that the gear has changed, or who plans in that sees the task done.
void PolicyGate::task_done(graph::Task& task, WorkerId worker) {
  if (has_gears()) {
    base::light_fence();
    if (!hears_ends()) {
      static_cast<void>(let_slot_go(task));  // the first of the two
      return;
    }
  }
  post({Event::Kind::done, &task, nullptr, worker, {}}, worker);
}

void PolicyGate::notice(const memory::Notice& notice) {
  if (concurrent_ || !hears_copies()) return;
  post({notice.loaded ? Event::Kind::loaded : Event::Kind::evicted, nullptr, notice.handle,
        kNoWorker, notice.node},
       kNoWorker);
}

void PolicyGate::submission_closed() {
  {
    const std::lock_guard lock(mutex_);
    drain(kNoWorker);
    const base::Stopwatch::Lap lap(watch_.get());
    policy_.submission_closed();
  }
  drain_leftovers(kNoWorker);
}

void PolicyGate::plan(const sched::KnownTasks& known, const Failed& failed) {
  {
    const std::lock_guard lock(mutex_);
    drain(kNoWorker);
    const base::Stopwatch::Lap lap(watch_.get());
    try {
      policy_.plan(known);
    } catch (...) {
      failed(std::current_exception());
    }
  }
  drain_leftovers(kNoWorker);
}

void PolicyGate::passed_on() {
  {
    const std::lock_guard lock(mutex_);
    drain(kNoWorker);
    const base::Stopwatch::Lap lap(watch_.get());
    policy_.passed_on();
  }
  drain_leftovers(kNoWorker);
}

void PolicyGate::defer(std::function<bool()> slice) {
  const std::lock_guard lock(inbox_mutex_);
  deferred_.push_back(std::move(slice));
  deferred_count_.store(deferred_.size(), std::memory_order_seq_cst);
}

PolicyGate::Slice PolicyGate::run_slice(WorkerId current, const Failed& failed) {
  if (!has_deferred() || in_slice_.exchange(true, std::memory_order_seq_cst)) return Slice::none;
  Slice what = Slice::none;
  {
    const std::lock_guard lock(mutex_);
    drain(current);
    if (has_deferred()) what = run_first(failed);
  }
  in_slice_.store(false, std::memory_order_seq_cst);
  drain_leftovers(current);
  return what;
}

// Under the policy's lock, and nothing else: a slice may defer more.
PolicyGate::Slice PolicyGate::run_first(const Failed& failed) {
  std::unique_lock list(inbox_mutex_);
  std::function<bool()>& slice = deferred_.front();  // which stays where it is when others come
  list.unlock();
  const base::Stopwatch::Lap lap(watch_.get());
  try {
    if (slice()) return Slice::done;
  } catch (...) {
    failed(std::current_exception());
  }
  list.lock();
  const std::function<bool()> finished = std::move(slice);
  deferred_.pop_front();
  deferred_count_.store(deferred_.size(), std::memory_order_seq_cst);
  list.unlock();
  return Slice::last;
}

void PolicyGate::forget(graph::Handle& handle) {
  {
    const std::lock_guard lock(mutex_);
    drain(kNoWorker);
    const base::Stopwatch::Lap lap(watch_.get());
    if (has_gears()) log_->forget(handle);
    policy_.data_forgotten(handle);
  }
  drain_leftovers(kNoWorker);
}

graph::Handle* PolicyGate::choose_victim(const memory::VictimQuery& query,
                                         memory::Candidates& candidates) {
  graph::Handle* victim = nullptr;
  {
    const std::lock_guard lock(mutex_);
    drain(kNoWorker);
    memory::VictimChoice* choice = policy_.victims();
    try {
      if (choice != nullptr) {
        const base::Stopwatch::Lap lap(watch_.get());
        victim = choice->choose(query.node, query.needed, query.reason, candidates);
      }
    } catch (const std::bad_alloc&) {  // a refusal
    }
  }
  drain_leftovers(kNoWorker);
  return victim;
}

}  // namespace vicinal::engine
