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
#include <vector>

#include "base/spin_lock.hpp"
#include "base/warm.hpp"
#include "sched/entry_queue.hpp"
#include "sched/policy.hpp"
#include "sched/priority_list.hpp"

namespace vicinal::sched {
namespace {

// A length that is changed under a lock and read without.
class Length {
 public:
  bool zero() const { return value_.load(std::memory_order_relaxed) == 0; }
  void add(std::uint32_t change) {  // the lock is held: no read-modify-write is needed
    value_.store(value_.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
  }
  void subtract_one() { add(~std::uint32_t{0}); }

 private:
  std::atomic<std::uint32_t> value_{0};
};

constexpr std::size_t kMostTaken = 64;

// Tasks of one priority that a worker has taken from those of the application, in their order. An
// array, so that they are asked for some steps ahead and are not touched before they run.
class Taken {
 public:
  bool empty() const { return first_ == last_; }
  int priority() const { return priority_; }
  graph::Task& pop_front() {
    constexpr std::size_t kAhead = 4;
    if (first_ + kAhead < last_) base::warm(tasks_[first_ + kAhead]);
    return *tasks_[first_++];
  }
  graph::Task& pop_back() { return *tasks_[--last_]; }
  // Only if it is empty.
  void fill(std::span<graph::Task* const> tasks, int priority) {
    std::ranges::copy(tasks, tasks_.begin());
    priority_ = priority;
    first_ = 0;
    last_ = tasks.size();
  }

 private:
  std::array<graph::Task*, kMostTaken> tasks_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  int priority_ = 0;
};

struct alignas(64) Deque {
  base::SpinLock lock;
  Length shared_length;
  Length bound_length;
  // The task that its worker has just released, if there was no other: for that worker, which asks
  // next, without the lock. Put there by its worker alone; taken by whoever exchanges it.
  std::atomic<graph::Task*> next{nullptr};
  // Its worker can run all of them, others may take those they can run; `taken` are before their
  // equals in `shared`, and `shared_length` counts both.
  Taken taken;
  TaskList shared;
  TaskList bound;  // submitted for its worker alone

  bool only_next() const { return shared_length.zero() && bound_length.zero(); }
  graph::Task* take_next() {
    if (next.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return next.exchange(nullptr, std::memory_order_acquire);  // pairs with the store
  }

  // --- of `taken` and `shared`, under the lock
  bool taken_first() const {
    return !taken.empty() && (shared.empty() || shared.top_priority() <= taken.priority());
  }
  bool taken_last() const {
    return !taken.empty() && (shared.empty() || shared.top_priority() < taken.priority());
  }
  bool nothing_shared() const { return taken.empty() && shared.empty(); }
  int top_priority() const { return taken_first() ? taken.priority() : shared.top_priority(); }
  graph::Task* pop_front() {
    if (nothing_shared()) return nullptr;
    shared_length.subtract_one();
    return taken_first() ? &taken.pop_front() : shared.pop_front();
  }
};

class Lws final : public Policy {
 public:
  std::string_view name() const override { return "lws"; }
  PolicyTraits traits() const override { return {.concurrent = true, .moves_tasks = true}; }
  void start(PolicyContext& context) override;
  void push(graph::Task& task, WorkerId releasing) override;
  graph::Task* pop(WorkerId worker) override;

 private:
  enum class Patience : bool { none, waits };

  std::uint32_t home_of(const graph::Task& task, WorkerId releasing);
  graph::Task* take_entries(Deque& deque);
  std::uint32_t next_turn();
  graph::Task* take_own(Deque& deque);
  graph::Task* steal_from_all(std::uint32_t thief, Patience patience, bool& passed_over);
  graph::Task* steal(std::uint32_t thief, std::uint32_t victim, Patience patience,
                     bool& passed_over);

  PolicyContext* context_ = nullptr;
  std::uint32_t count_ = 0;
  std::vector<Deque> deques_;         // by worker
  std::vector<std::uint32_t> alike_;  // by worker: equal where the same tasks can run
  bool all_alike_ = true;             // unless a task is bound, any worker can run it
  EntryQueue entries_;                // only if all are alike
  alignas(64) std::atomic<std::uint32_t> turn_{0};
};

void Lws::start(PolicyContext& context) {
  context_ = &context;
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
std::uint32_t Lws::home_of(const graph::Task& task, WorkerId releasing) {
  if (all_alike_) return releasing.value;
  if (releasing != kNoWorker && context_->can_run(task, releasing)) return releasing.value;
  for (std::uint32_t tried = 0, worker = next_turn(); tried < count_; ++tried) {
    if (context_->can_run(task, WorkerId{worker})) return worker;
    worker = (worker + 1) % count_;
  }
  throw std::logic_error("lws: no worker can run the ready task " + std::string(task.name()));
}

void Lws::push(graph::Task& task, WorkerId releasing) {
  if (const std::optional<WorkerId> only = task.only_worker()) {
    Deque& deque = deques_[only->value];
    const std::lock_guard held(deque.lock);
    deque.bound.push_back(task);
    deque.bound_length.add(1);
    return;
  }
  if (releasing == kNoWorker && all_alike_) return entries_.push(task);
  Deque& deque = deques_[home_of(task, releasing)];
  if (releasing != kNoWorker && all_alike_ && deque.only_next() &&
      deque.next.load(std::memory_order_relaxed) == nullptr) {
    deque.next.store(&task, std::memory_order_release);  // pairs with the exchange
    return;
  }
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
  if (count_ == 1) return nullptr;
  // A victim whose lock is held is left for later, that is until all others turned out to be empty.
  bool passed_over = false;
  graph::Task* task = steal_from_all(worker.value, Patience::none, passed_over);
  if (task == nullptr && passed_over) {
    task = steal_from_all(worker.value, Patience::waits, passed_over);
  }
  return task;
}

// A bound task goes first among equals: others can help with the shared ones only. `next` came before
// those in the list.
graph::Task* Lws::take_own(Deque& deque) {
  if (graph::Task* const next = deque.take_next()) {
    if (deque.only_next() && !entries_.above(next->priority)) return next;
    const std::lock_guard held(deque.lock);
    deque.shared.push_front(*next);
    deque.shared_length.add(1);
  }
  const bool bound_empty = deque.bound_length.zero();
  if (bound_empty && deque.shared_length.zero()) return nullptr;
  const std::lock_guard held(deque.lock);
  const bool none = deque.nothing_shared();
  if (!none && entries_.above(deque.top_priority()) &&
      (deque.bound.empty() || entries_.above(deque.bound.top_priority()))) {
    return nullptr;  // take_entries comes next
  }
  if (!bound_empty && !deque.bound.empty() &&
      (none || deque.bound.top_priority() >= deque.top_priority())) {
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

graph::Task* Lws::steal_from_all(std::uint32_t thief, Patience patience, bool& passed_over) {
  for (std::uint32_t distance = 1; distance < count_; ++distance) {
    if (thief + distance < count_) {
      if (auto* task = steal(thief, thief + distance, patience, passed_over)) return task;
    }
    if (thief >= distance) {
      if (auto* task = steal(thief, thief - distance, patience, passed_over)) return task;
    }
  }
  return nullptr;
}

// With workers that differ, a thief may walk past all that it cannot run, holding the lock.
graph::Task* Lws::steal(std::uint32_t thief, std::uint32_t victim, Patience patience,
                        bool& passed_over) {
  Deque& deque = deques_[victim];
  if (deque.shared_length.zero()) return deque.take_next();
  std::unique_lock held(deque.lock, std::defer_lock);
  if (patience == Patience::waits) {
    held.lock();
  } else if (!held.try_lock()) {
    passed_over = true;
    return nullptr;
  }
  if (graph::Task* const next = deque.take_next()) {  // the first of its priority
    deque.shared.push_front(*next);
    deque.shared_length.add(1);
  }
  if (deque.taken_last()) {  // any worker can run them
    deque.shared_length.subtract_one();
    return &deque.taken.pop_back();
  }
  const bool alike = alike_[thief] == alike_[victim];
  graph::Task* const task = deque.shared.find_last_of_highest(
      [&](const graph::Task& ready) { return alike || context_->can_run(ready, WorkerId{thief}); });
  if (task == nullptr) return nullptr;
  deque.shared.remove(*task);
  deque.shared_length.subtract_one();
  return task;
}

}  // namespace

std::unique_ptr<Policy> make_lws() {
  return std::make_unique<Lws>();
}

}  // namespace vicinal::sched
