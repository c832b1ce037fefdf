#include "engine/deferred_tasks.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <new>
#include <string>
#include <utility>

#include "base/start_thread.hpp"

namespace vicinal::engine {

namespace {
// When so many are deferred half of them go on: the others are what those are planned by.
constexpr std::size_t kMostDeferred = 1 << 16;
// Of a worker's sleep while the application goes on submitting, in pauses.
constexpr int kLongest = 25;
}  // namespace

DeferredTasks::DeferredTasks(Engine& engine, Priorities priorities,
                             std::chrono::duration<double> pause,
                             const std::atomic<std::uint32_t>& waiting)
    : engine_(engine),
      computes_priorities_(priorities == Priorities::computed),
      waiting_(waiting),
      pause_(pause) {
  // Who asks for priorities alone waits for them.
  if (pause.count() <= 0 || !engine.policy_traits().plans) return;
  watcher_ = base::start_thread("that passes deferred tasks on", [this] { watch(); });
}

DeferredTasks::~DeferredTasks() {
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(list_mutex_);
    stopping_ = true;
  }
  any_listed_.notify_one();
  watcher_.join();
}

void DeferredTasks::watch() {
  std::unique_lock lock(list_mutex_);
  for (;;) {
    any_listed_.wait(lock, [this] { return stopping_ || !list_.empty(); });
    if (stopping_) return;
    std::size_t before = 0;
    for (int pauses = 0; pauses < kLongest && before != list_.size(); ++pauses) {
      before = list_.size();
      if (any_listed_.wait_for(lock, pause_, [this] { return stopping_; })) return;
    }
    lock.unlock();
    try {
      if (engine_.any_asleep()) flush();
    } catch (const std::bad_alloc&) {  // next time, or whoever waits
    }
    lock.lock();
  }
}

// Under list_mutex_.
void DeferredTasks::put(DeferredTask entry) {
  const bool is_first = list_.empty();
  list_.push_back(std::move(entry));
  count_.fetch_add(1, std::memory_order_seq_cst);
  if (is_first && watcher_.joinable()) any_listed_.notify_one();
}

[[gnu::noinline]] TaskId DeferredTasks::add(graph::Task& task, std::span<const TaskId> after,
                                            WorkerId submitter, Deferral deferral,
                                            graph::Content leaves) {
  MadeTask made(engine_, task, submitter);
  DeferredTask entry{&task, {after.begin(), after.end()}, submitter, deferral};
  std::unique_lock lock(list_mutex_);
  if (list_.size() == list_.capacity()) list_.reserve(2 * list_.size() + 1);
  const TaskId id =
      engine_.submit(made.take(), entry.after, submitter,
                     {.step = When::Step::announcement, .leaves = leaves, .order = &lock});
  put(std::move(entry));
  const bool full = list_.size() >= kMostDeferred;
  lock.unlock();
  go_on(deferral, submitter, full);
  return id;
}

void DeferredTasks::go_on(Deferral deferral, WorkerId submitter, bool full) {
  // Somebody who waits may wait for this one.
  if (deferral == Deferral::none || waiting_.load(std::memory_order_seq_cst) > 0) {
    flush(0, submitter);
  } else if (full) {
    flush(kMostDeferred / 2);
  }
}

void DeferredTasks::add_announced(const DeferredTask& entry) {
  const bool is_scheduled = graph::is_scheduled(entry.task->kind);
  const bool is_deferred = entry.deferral == Deferral::allowed || engine_.policy_traits().plans;
  if ((is_scheduled && is_deferred) || any()) {
    bool full = false;
    {
      const std::lock_guard lock(list_mutex_);
      put(entry);
      full = list_.size() >= kMostDeferred;
    }
    return go_on(entry.deferral, entry.submitter, full);
  }
  engine_.submit(*entry.task, entry.after, entry.submitter, {.step = When::Step::announced});
}

TaskId DeferredTasks::add_behind(graph::Task& task, std::span<const TaskId> after,
                                 WorkerId submitter) {
  const bool is_planned = engine_.policy_traits().plans && graph::is_scheduled(task.kind);
  std::unique_lock lock(list_mutex_);
  if (is_planned || any()) {
    lock.unlock();
    return add(task, after, submitter, Deferral::none);
  }
  return engine_.submit(task, after, submitter, {.order = &lock});
}

void DeferredTasks::add_invalidation(graph::Task& task) {
  std::unique_lock lock(list_mutex_);
  if (any()) {
    lock.unlock();
    add(task, {}, kNoWorker, Deferral::allowed, graph::Content::invalidated);
  } else {
    engine_.submit(task, {}, kNoWorker, {.order = &lock});
  }
}

namespace {
// Also if they cannot be passed on: then the run is cancelled, and the policy gives all that it has.
struct TellsPassedOn {
  Engine& engine;
  bool planned = false;
  ~TellsPassedOn() {
    if (!planned) return;
    try {
      engine.passed_on();
    } catch (const std::bad_alloc&) {
      engine.errors().cancel_all(base::out_of_memory("told the policy of passed tasks"));
    }
  }
};
}  // namespace

[[gnu::noinline]] void DeferredTasks::flush(std::size_t kept, WorkerId here) {
  TellsPassedOn tells{engine_};
  graph::ReadyList later;
  {
    const std::lock_guard order(order_mutex_);
    const DeferredTaskList tasks = take(kept, tells.planned);
    for (const DeferredTask& entry : tasks) {
      // What the policy keeps of a worker is for that worker's thread.
      const WorkerId submitter = entry.submitter == here ? here : kNoWorker;
      engine_.submit(*entry.task, entry.after, submitter,
                     {.step = When::Step::announced, .later = &later});
    }
    count_.fetch_sub(tasks.size(), std::memory_order_seq_cst);
  }
  if (later.head != nullptr) engine_.make_ready(later, here, Releaser::goes_on);
}

// Under order_mutex_: with their priorities, the first of those that are deferred.
DeferredTaskList DeferredTasks::take(std::size_t kept, bool& planned) {
  DeferredTaskList tasks;
  {
    const std::lock_guard lock(list_mutex_);
    if (list_.size() <= kept) return {};
    tasks.swap(list_);
  }
  const std::size_t leaving = tasks.size() - kept;
  planned = prepare(tasks, leaving);
  if (kept > 0) {
    const auto later =
        std::make_move_iterator(tasks.begin() + static_cast<std::ptrdiff_t>(leaving));
    const std::lock_guard lock(list_mutex_);
    list_.insert(list_.begin(), later, std::make_move_iterator(tasks.end()));
    tasks.resize(leaving);
  }
  return tasks;
}

// Where there is no memory there are no priorities; a policy does not run what it has not planned.
bool DeferredTasks::prepare(std::span<const DeferredTask> list, std::size_t leaving) {
  const bool plans = engine_.policy_traits().plans;
  const bool any_new = planned_ < list.size();
  try {
    using Predecessors = DeferredGraph::Predecessors;
    DeferredGraph known(list, plans ? Predecessors::named : Predecessors::left_out);
    if (computes_priorities_) give_priorities(known, list, leaving);
    if (plans && any_new) {
      engine_.plan({known.graph, known.tasks, known.data, left_, planned_});
    }
  } catch (const std::bad_alloc&) {
    if (plans) engine_.errors().cancel_all(base::out_of_memory("planned tasks"));
  }
  planned_ = list.size() - leaving;
  left_ += leaving;
  return plans && any_new;
}

std::string DeferredTasks::describe() const {
  constexpr std::size_t kNamed = 4;
  const std::lock_guard lock(list_mutex_);
  if (list_.empty()) return {};
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamed, list_.size()); ++i) {
    names += (i == 0 ? "" : ", ") + std::string(list_[i].task->name());
  }
  if (list_.size() > kNamed) names += " ...";
  return "deferred until the submission window is full, somebody waits, or submissions pause: " +
         std::to_string(list_.size()) + " tasks: " + names + "\n";
}

// To those that leave. Of the others, whose priorities change when more is known, the graph alone has them.
void DeferredTasks::give_priorities(DeferredGraph& known, std::span<const DeferredTask> list,
                                    std::size_t leaving) const {
  const std::vector<int> urgencies = known.urgencies();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool is_due = list[i].deferral == Deferral::allowed && list[i].task->priority == 0;
    if (!is_due || !graph::is_scheduled(list[i].task->kind)) continue;
    known.graph.set_priority(i, urgencies[i]);
    if (i < leaving) list[i].task->priority = urgencies[i];
  }
}

}  // namespace vicinal::engine
