// lws: locality work stealing (Gonthier et al. 2024, section 4; StarPU's policy of that name).
//
// Each worker has a deque. A task goes to the back of the deque of the worker that released it,
// where its data are warm; a worker takes from the front of its own: highest priority first, first
// in first out among equals. A worker that finds its own empty looks at the others by increasing
// distance of their numbers, and takes one task: the last of the highest priority.
//
// Tasks that no worker released are not dealt to the deques in turn, as StarPU does, but wait in one
// queue, of which a worker that has nothing else takes up to 64 at a time into its deque: the
// submitting thread and the workers would meet at every task. (Where workers differ in what they can
// run they are dealt.)
//
// A deque has a lock of its own, on its own cache lines; there is nothing that all workers write but
// that queue. An empty deque is passed over by reading its size without the lock. The sizes are
// relaxed: whoever learns of a push by any synchronisation (the engine's wake of a sleeping worker)
// sees the size it left, and a stale size costs only a look.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/warm.hpp"
#include "sched/decisions.hpp"
#include "sched/entry_queue.hpp"
#include "sched/policies/lws_deque.hpp"
#include "sched/policy.hpp"

namespace vicinal::sched {
namespace {

using lws::Deque;
using lws::kMostTaken;

class Lws final : public Policy {
 public:
  std::string_view name() const override { return "lws"; }
  PolicyTraits traits() const override { return {.concurrent = true, .moves_tasks = true}; }
  void start(PolicyContext& context) override;
  void push(graph::Task& task, WorkerId releasing) override;
  graph::Task* pop(WorkerId worker) override;

 private:
  enum class Patience : bool { none, waits };
  // A worker that has nothing looks at the others.
  struct Theft {
    std::uint32_t thief;
    Patience patience = Patience::none;
    bool passed_over = false;  // a victim whose lock was held
    std::optional<Telling> told = {};
  };

  void push_bound(graph::Task& task);
  void push_shared(graph::Task& task, Deque& deque);
  std::uint32_t home_of(const graph::Task& task, WorkerId releasing);
  graph::Task* take_entries(Deque& deque);
  std::uint32_t next_turn();
  graph::Task* take_own(Deque& deque);
  graph::Task* take_waiting(Deque& deque) const;
  graph::Task* steal_for(WorkerId worker);
  graph::Task* steal_from_all(Theft& theft);
  graph::Task* steal(Theft& theft, std::uint32_t victim);
  graph::Task* take_last(Deque& deque, std::uint32_t victim, std::uint32_t thief) const;
  // What is told, only if somebody listens, and apart from the rest, which many tasks pass. Of a deque under its lock.
  WorkerId worker_of(const Deque& deque) const {
    return WorkerId{static_cast<std::uint32_t>(&deque - deques_.data())};
  }
  [[gnu::cold]] void tell_turn(const graph::Task& task, std::uint32_t turn, WorkerId taken) const;
  [[gnu::cold]] void tell_released(const graph::Task& task, const Deque& deque) const;
  [[gnu::cold]] graph::Task* tell_waiting(Deque& deque) const;
  [[gnu::cold]] void tell_taken(std::span<graph::Task* const> tasks, const Deque& deque) const;
  Telling own_tasks(const Deque& deque) const;
  Telling others_with_tasks(std::uint32_t thief);
  Telling last_tasks(const Deque& deque, std::uint32_t victim, std::uint32_t thief) const;

  PolicyContext* context_ = nullptr;
  Decisions decisions_;
  std::uint32_t count_ = 0;
  std::vector<Deque> deques_;         // by worker
  std::vector<std::uint32_t> alike_;  // by worker: equal where the same tasks can run
  bool all_alike_ = true;             // unless a task is bound, any worker can run it
  EntryQueue entries_;                // only if all are alike
  alignas(64) std::atomic<std::uint32_t> turn_{0};
};

void Lws::start(PolicyContext& context) {
  context_ = &context;
  decisions_.start(context);
  const auto& workers = context.machine().workers;
  count_ = static_cast<std::uint32_t>(workers.size());
  deques_ = std::vector<Deque>(count_);
  // What can run depends on the kind of the worker (an implementation) and on its node (room).
  for (const auto& worker : workers) {
    std::uint32_t first = 0;
    while (workers[first].kind != worker.kind || workers[first].node != worker.node) ++first;
    alike_.push_back(first);
    all_alike_ = all_alike_ && first == 0;
  }
}

std::uint32_t Lws::next_turn() {
  // Not one operation: two submitters that take the same turn do no harm.
  const std::uint32_t turn = turn_.load(std::memory_order_relaxed);
  turn_.store(turn + 1 < count_ ? turn + 1 : 0, std::memory_order_relaxed);
  return turn;
}

// The worker whose deque takes the task, which is not bound.
[[gnu::noinline]] std::uint32_t Lws::home_of(const graph::Task& task, WorkerId releasing) {
  if (releasing != kNoWorker && context_->can_run(task, releasing)) {
    if (decisions_.heard()) decisions_.tell_home(task, trace::Reason::released_here, releasing);
    return releasing.value;
  }
  const std::uint32_t turn = next_turn();
  for (std::uint32_t tried = 0; tried < count_; ++tried) {
    const WorkerId worker{(turn + tried) % count_};
    if (!context_->can_run(task, worker)) continue;
    if (decisions_.heard()) tell_turn(task, turn, worker);
    return worker.value;
  }
  throw std::logic_error("lws: no worker can run the ready task " + std::string(task.name()));
}

void Lws::push(graph::Task& task, WorkerId releasing) {
  if (task.extension && task.extension->worker) [[unlikely]]
    return push_bound(task);
  if (!all_alike_) return push_shared(task, deques_[home_of(task, releasing)]);
  if (releasing == kNoWorker) return entries_.push(task);
  Deque& deque = deques_[releasing.value];
  if (!deque.only_next() || deque.next.load(std::memory_order_relaxed) != nullptr) {
    return push_shared(task, deque);
  }
  deque.next.store(&task, std::memory_order_release);  // pairs with the exchange
}

[[gnu::noinline]] void Lws::push_bound(graph::Task& task) {
  Deque& deque = deques_[task.extension->worker->value];
  const std::lock_guard held(deque.lock);
  deque.bound.push_back(task);
  deque.bound_length.add(1);
}

[[gnu::noinline]] void Lws::push_shared(graph::Task& task, Deque& deque) {
  const std::lock_guard held(deque.lock);
  deque.shared.push_back(task);
  deque.shared_length.add(1);
}

graph::Task* Lws::pop(WorkerId worker) {
  Deque& own = deques_[worker.value];
  do {
    if (graph::Task* task = take_own(own)) return task;
    if (graph::Task* task = take_entries(own)) return task;
  } while (!own.only_next());  // an entry that went before its own was taken by another worker
  return count_ == 1 ? nullptr : steal_for(worker);
}

// A victim whose lock is held is left for later, that is until all others turned out to be empty.
[[gnu::noinline]] graph::Task* Lws::steal_for(WorkerId worker) {
  Theft theft{
      .thief = worker.value,
      .told = decisions_.heard() ? std::optional(others_with_tasks(worker.value)) : std::nullopt};
  graph::Task* task = steal_from_all(theft);
  if (task == nullptr && theft.passed_over) {
    theft.patience = Patience::waits;
    task = steal_from_all(theft);
  }
  return task;
}

// A bound task goes first among equals: others can help with the shared ones only. `next` came before
// those in the list.
graph::Task* Lws::take_own(Deque& deque) {
  if (graph::Task* const next = deque.take_next()) {
    if (deque.only_next() && !entries_.above(next->priority)) {
      if (decisions_.heard()) tell_released(*next, deque);
      return next;
    }
    const std::lock_guard held(deque.lock);
    deque.shared.push_front(*next);
    deque.shared_length.add(1);
  }
  if (deque.bound_length.zero() && deque.shared_length.zero()) return nullptr;
  const std::lock_guard held(deque.lock);
  return decisions_.heard() ? tell_waiting(deque) : take_waiting(deque);
}

// Under the lock.
inline graph::Task* Lws::take_waiting(Deque& deque) const {
  const bool none = deque.nothing_shared();
  const bool any_bound = !deque.bound_length.zero();
  if (!none && entries_.above(deque.top_priority()) &&
      (!any_bound || entries_.above(deque.bound.top_priority()))) {
    return nullptr;  // take_entries comes next
  }
  if (any_bound && (none || deque.bound.top_priority() >= deque.top_priority())) {
    deque.bound_length.subtract_one();
    return deque.bound.pop_front();
  }
  return deque.pop_front();
}

// The first of them; the others go to the deque.
graph::Task* Lws::take_entries(Deque& deque) {
  if (entries_.empty()) return nullptr;
  std::array<graph::Task*, kMostTaken> tasks;
  const auto [count, priority] = entries_.take(tasks, count_);
  if (count == 0) return nullptr;
  base::warm(tasks[0]);
  if (decisions_.heard()) tell_taken(std::span(tasks).first(count), deque);
  const std::span others(tasks.data() + 1, count - 1);
  if (others.empty()) return tasks[0];
  const std::lock_guard held(deque.lock);
  if (deque.taken.empty()) {
    deque.taken.fill(others, priority);
  } else {
    for (graph::Task* const task : others) deque.shared.push_back(*task);
  }
  deque.shared_length.add(static_cast<std::uint32_t>(others.size()));
  return tasks[0];
}

graph::Task* Lws::steal_from_all(Theft& theft) {
  const std::uint32_t thief = theft.thief;
  for (std::uint32_t distance = 1; distance < count_; ++distance) {
    if (thief + distance < count_) {
      if (auto* task = steal(theft, thief + distance)) return task;
    }
    if (thief >= distance) {
      if (auto* task = steal(theft, thief - distance)) return task;
    }
  }
  return nullptr;
}

// With workers that differ, a thief may walk past all that it cannot run, holding the lock.
graph::Task* Lws::steal(Theft& theft, std::uint32_t victim) {
  Deque& deque = deques_[victim];
  std::unique_lock held(deque.lock, std::defer_lock);
  graph::Task* task = nullptr;
  if (deque.shared_length.zero()) {
    task = deque.take_next();
  } else {
    if (theft.patience == Patience::waits) {
      held.lock();
    } else if (!held.try_lock()) {
      theft.passed_over = true;
      return nullptr;
    }
    if (graph::Task* const next = deque.take_next()) {  // the first of its priority
      deque.shared.push_front(*next);
      deque.shared_length.add(1);
    }
    task = take_last(deque, victim, theft.thief);
  }
  if (task == nullptr || !theft.told) return task;
  theft.told->choose(victim);
  theft.told->of(*task).tell();
  return task;
}

graph::Task* Lws::take_last(Deque& deque, std::uint32_t victim, std::uint32_t thief) const {
  std::optional<Telling> decision;
  if (decisions_.heard()) decision = last_tasks(deque, victim, thief);
  graph::Task* task = nullptr;
  if (deque.taken_last()) {  // any worker can run them
    task = &deque.taken.pop_back();
  } else {
    const bool alike = alike_[thief] == alike_[victim];
    task = deque.shared.find_last_of_highest([&](const graph::Task& ready) {
      return alike || context_->can_run(ready, WorkerId{thief});
    });
    if (task == nullptr) return nullptr;
    deque.shared.remove(*task);
  }
  deque.shared_length.subtract_one();
  if (decision) {
    decision->choose(id_of(*task));
    decision->tell();
  }
  return task;
}

// --- what is told of the choices

void Lws::tell_turn(const graph::Task& task, std::uint32_t turn, WorkerId taken) const {
  Telling decision = decisions_.about(task, trace::Reason::next_in_turn, trace::Among::workers);
  for (std::uint32_t place = 0; place < count_; ++place) {
    const WorkerId worker{(turn + place) % count_};
    decision.consider({worker.value,
                       {{trace::Measure::place, place},
                        {trace::Measure::can_run, context_->can_run(task, worker) ? 1 : 0}}},
                      worker == taken);
  }
  decision.tell();
}

void Lws::tell_released(const graph::Task& task, const Deque& deque) const {
  Telling decision =
      decisions_.asked_by(worker_of(deque), trace::Reason::just_released, trace::Among::tasks);
  decision.consider({id_of(task), Decisions::ranks(task, 0)}, true);
  decision.tell();
}

graph::Task* Lws::tell_waiting(Deque& deque) const {
  Telling decision = own_tasks(deque);
  graph::Task* const task = take_waiting(deque);
  if (task == nullptr) return nullptr;
  decision.choose(id_of(*task));
  decision.tell();
  return task;
}

// From those of the application.
void Lws::tell_taken(std::span<graph::Task* const> tasks, const Deque& deque) const {
  Telling decision =
      decisions_.asked_by(worker_of(deque), trace::Reason::highest_priority, trace::Among::tasks);
  for (const graph::Task* task : tasks) {
    const auto place = static_cast<std::int64_t>(decision.candidates.size());
    decision.consider({id_of(*task), Decisions::ranks(*task, place)}, task == tasks.front());
  }
  decision.tell();
}

// The front of each of its parts, in the order in which equals go.
Telling Lws::own_tasks(const Deque& deque) const {
  constexpr std::size_t kOfEach = 3;  // this is asked for each task
  Telling decision =
      decisions_.asked_by(worker_of(deque), trace::Reason::highest_priority, trace::Among::tasks);
  std::size_t most = 0;
  const auto list = [&](const graph::Task& task) {
    const auto place = static_cast<std::int64_t>(decision.candidates.size());
    decision.consider({id_of(task), Decisions::ranks(task, place)});
    return decision.candidates.size() == most;
  };
  const auto more = [&] { most = decision.candidates.size() + kOfEach; };
  more();
  deque.bound.find_first(list);
  more();
  std::ranges::any_of(deque.taken.tasks(), [&](const graph::Task* task) { return list(*task); });
  more();
  deque.shared.find_first(list);
  return decision;
}

// By increasing distance. How many they have is a hint, as others change it meanwhile.
Telling Lws::others_with_tasks(std::uint32_t thief) {
  Telling decision = decisions_.asked_by(WorkerId{thief}, trace::Reason::nearest_with_tasks,
                                         trace::Among::workers);
  const auto look = [&](std::uint32_t victim, std::int64_t distance) {
    Deque& deque = deques_[victim];
    const std::lock_guard held(deque.lock);
    std::int64_t tasks = deque.next.load(std::memory_order_relaxed) != nullptr ? 1 : 0;
    const bool can_run =
        alike_[thief] == alike_[victim] || deque.shared.find_first([&](const graph::Task& task) {
          return context_->can_run(task, WorkerId{thief});
        }) != nullptr;
    if (can_run) tasks += deque.shared_length.get();
    decision.consider(
        {victim, {{trace::Measure::distance, distance}, {trace::Measure::tasks, tasks}}});
  };
  for (std::uint32_t distance = 1; distance < count_; ++distance) {
    if (thief + distance < count_) look(thief + distance, distance);
    if (thief >= distance) look(thief - distance, distance);
  }
  return decision;
}

// From the back.
Telling Lws::last_tasks(const Deque& deque, std::uint32_t victim, std::uint32_t thief) const {
  Telling decision =
      decisions_.asked_by(WorkerId{thief}, trace::Reason::last_of_highest, trace::Among::tasks);
  const bool alike = alike_[thief] == alike_[victim];
  const auto list = [&](const graph::Task& task) {
    const auto place = static_cast<std::int64_t>(decision.candidates.size());
    if (alike || context_->can_run(task, WorkerId{thief})) {
      decision.consider({id_of(task), Decisions::ranks(task, place)});
    }
    return 2 * decision.candidates.size() >= trace::Decision::kMostListed;
  };
  deque.shared.find_last_of_highest(list);
  const auto taken = deque.taken.tasks();
  for (std::size_t i = taken.size(); i > 0 && !decision.full(); --i) list(*taken[i - 1]);
  return decision;
}

}  // namespace

std::unique_ptr<Policy> make_lws() {
  return std::make_unique<Lws>();
}

}  // namespace vicinal::sched
