#include "engine/kinds/recursion.hpp"

#include <algorithm>
#include <utility>

#include "engine/application.hpp"
#include "engine/lifecycle.hpp"
#include "graph/dependencies.hpp"
#include "vicinal/error.hpp"

namespace vicinal::engine {

using graph::Partition;
using graph::Task;

namespace {
thread_local RecursiveTask* current_task = nullptr;

bool has_worker(const Engine& engine, const Task& task) {
  return std::ranges::any_of(engine.machine().workers, [&](const WorkerDescription& worker) {
    return engine.eligibility().can_run(task, worker.id);
  });
}
}  // namespace

RecursiveTask* Recursions::current() {
  return current_task;
}

// --- one task

RecursiveTask::RecursiveTask(Application& application, Task& task)
    : application_(application), task_(task) {
  for (const graph::Access& access : task.accesses()) {
    takes_room_ = takes_room_ || application.handles.confines(*access.handle);
  }
}

const graph::Access& RecursiveTask::access(std::size_t operand) const {
  const std::vector<std::uint16_t>& views = task_.extension->view_of;
  const std::size_t operands = views.empty() ? task_.accesses().size() : views.size();
  if (operand >= operands) {
    throw UsageError("task " + std::string(task_.name()) + " has no operand " +
                     std::to_string(operand) + " to divide; it has " + std::to_string(operands));
  }
  return task_.accesses()[views.empty() ? operand : views[operand]];
}

Partition& RecursiveTask::divide(std::size_t operand, const Divide& how) {
  const graph::Access& access = this->access(operand);
  if (access.mode == AccessMode::scratch) {
    throw UsageError("task " + std::string(task_.name()) +
                     " divides its scratch; give each task inside some of its own");
  }
  for (const Partition* other : divided_) {
    if (other->whole != access.handle || !writes(access.mode)) continue;
    throw UsageError("task " + std::string(task_.name()) + " divides handle " +
                     access.handle->name + " twice, which it writes; divide it once");
  }
  Partition& partition =
      application_.partitions.divide_held({*access.handle, access.mode, takes_room_}, how);
  divided_.push_back(&partition);
  return partition;
}

void RecursiveTask::check_inside(const graph::Handle& handle) const {
  for (const graph::Access& access : task_.accesses()) {
    if (access.handle != &handle) continue;
    throw UsageError("a task inside " + std::string(task_.name()) + " names its operand " +
                     handle.name +
                     ", which is not free before that ends; name parts of it (Recursion::parts), "
                     "or all of it (Recursion::whole)");
  }
  if (takes_room_ && !handle.home.ram_only) {
    throw UsageError("a task inside " + std::string(task_.name()) + " names handle " + handle.name +
                     ", which is no part of its operands: under a memory limit it might wait for "
                     "room that the outer task holds; make it an operand of that");
  }
}

void RecursiveTask::check_after(std::span<const TaskId> after) const {
  const auto is_this = [this](TaskId id) { return id.value == graph::TaskPool::id(task_).value; };
  if (std::ranges::none_of(after, is_this)) return;
  throw UsageError("a task inside " + std::string(task_.name()) +
                   " is declared after that, which ends behind the tasks inside; leave it out");
}

// It may be a part of a part.
bool RecursiveTask::is_part(const graph::Handle& handle) const {
  const graph::Family* family = handle.family.load(std::memory_order_acquire);
  while (family != nullptr && family->of != nullptr) {
    if (std::ranges::find(divided_, family->of) != divided_.end()) return true;
    family = family->of->whole->family.load(std::memory_order_acquire);
  }
  return false;
}

bool RecursiveTask::add_inside(Task& task) {
  bool uses_others = false;
  bool uses_parts = false;
  for (const graph::Access& access : task.accesses()) {
    if (access.mode == AccessMode::scratch) continue;
    const bool part = is_part(*access.handle);
    uses_parts = uses_parts || part;
    uses_others = uses_others || !part;
  }
  if (uses_others && !uses_parts) return false;
  if (!task.extension) task.extension = std::make_unique<graph::TaskExtension>();
  task.extension->outer = this;
  coming_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void RecursiveTask::inner_ended(Outcome outcome) {
  if (outcome == Outcome::failed) any_failed_.store(true, std::memory_order_relaxed);
  if (outcome == Outcome::cancelled) any_cancelled_.store(true, std::memory_order_relaxed);
  application_.recursions.one_came(*this);
}

// A part that does not come back without any of them is the fault of a device.
Outcome RecursiveTask::outcome() const {
  if (error_ || any_failed_.load(std::memory_order_relaxed)) return Outcome::failed;
  if (any_cancelled_.load(std::memory_order_relaxed)) return Outcome::cancelled;
  return lost_.load(std::memory_order_relaxed) ? Outcome::failed : Outcome::done;
}

// --- all of them

void Recursions::note(Task& task, Recursive requested) const {
  if (requested == Recursive::never) return;
  Engine& engine = application_.engine;
  const memory::Residency& residency = engine.residency();
  const bool takes_room = std::ranges::any_of(task.accesses(), [&](const graph::Access& access) {
    return application_.handles.confines(*access.handle);
  });
  const bool has_cores =
      std::ranges::any_of(engine.machine().workers,
                          [](const WorkerDescription& worker) { return worker.node == kRam; });
  const bool divisible = (!takes_room || has_cores) && residency.fits(task, kRam);
  const bool runs = has_worker(engine, task);
  if (divisible) {
    task.extension->recursive = runs ? requested : Recursive::always;
  } else if (requested == Recursive::always || !runs) {
    throw CapacityError("task " + std::string(task.name()) +
                        " is to be divided, but its operands of " +
                        std::to_string(residency.working_set(task, kRam).value) +
                        " bytes do not fit in RAM under its limit, or no core is there to work on "
                        "them; raise the option memory");
  }
}

void Recursions::ready(Task& task) {
  const SimulatedSubmitter::Within within(application_.submissions.submitter());
  auto owned = std::make_unique<RecursiveTask>(application_, task);
  RecursiveTask& recursive = *owned;
  {
    const std::lock_guard lock(mutex_);
    divided_.push_back(&recursive);
  }
  task.extension->kind_data = std::move(owned);
  recursive.hold_.take(application_.engine, task, *this);
}

void Recursions::held(Task& task, const std::exception_ptr& error) {
  auto& recursive = static_cast<RecursiveTask&>(*task.extension->kind_data);
  recursive.error_ = error;
  recursive.held_.store(true, std::memory_order_relaxed);
  if (!error) submit_inside(recursive);
  close(recursive);
}

void Recursions::submit_inside(RecursiveTask& recursive) {
  struct Current {
    RecursiveTask* before;
    ~Current() { current_task = before; }
  } const current{std::exchange(current_task, &recursive)};
  try {
    application_.engine.call_apart([&] {
      Recursion recursion(recursive);
      recursive.task_.codelet->recursive(recursion);
    });
  } catch (...) {
    recursive.error_ = std::current_exception();
  }
}

// Behind the tasks inside: their parts come back to RAM.
void Recursions::close(RecursiveTask& recursive) {
  for (const Partition* partition : recursive.divided_) {
    recursive.coming_.fetch_add(1, std::memory_order_relaxed);
    try {
      application_.submissions.submit_return(*partition, [this, &recursive](Outcome outcome) {
        if (outcome != Outcome::done) recursive.lost_.store(true, std::memory_order_relaxed);
        one_came(recursive);
      });
    } catch (...) {  // no memory: the tasks inside end, but what they leave cannot be told
      application_.engine.errors().cancel(std::current_exception());
      recursive.lost_.store(true, std::memory_order_relaxed);
      recursive.coming_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  one_came(recursive);
}

void Recursions::one_came(RecursiveTask& recursive) {
  if (recursive.coming_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  count_ending_.fetch_add(1, std::memory_order_acq_rel);
  if (end_or_keep(recursive)) count_ending_.fetch_sub(1, std::memory_order_acq_rel);
}

// A thread that looks meanwhile does not find the task among the waiting ones: so the attempt is repeated after such a
// look.
bool Recursions::end_or_keep(RecursiveTask& recursive) {
  for (;;) {
    std::uint64_t looks = 0;
    {
      const std::lock_guard lock(mutex_);
      looks = looks_;
    }
    if (try_end(recursive)) return true;
    const std::lock_guard lock(mutex_);
    if (looks_ != looks) continue;
    ending_.push_back(&recursive);
    return false;
  }
}

// True: it has ended, and is gone.
bool Recursions::try_end(RecursiveTask& recursive) {
  Engine& engine = application_.engine;
  for (const Partition* partition : recursive.divided_) {
    for (graph::Handle* part : partition->parts) {
      if (!engine.data().remove_replicas(*part)) return false;
    }
  }
  {
    const std::lock_guard lock(mutex_);
    std::erase(divided_, &recursive);
  }
  for (Partition* partition : recursive.divided_) application_.partitions.leave(*partition);
  recursive.hold_.let_go(engine, recursive.outcome(), recursive.error_);
  return true;
}

std::string Recursions::describe() const {
  std::string text;
  const std::lock_guard lock(mutex_);
  for (const RecursiveTask* recursive : divided_) {
    const std::size_t coming = recursive->coming_.load(std::memory_order_relaxed);
    text += "divided task " + std::string(recursive->task_.name()) + ": ";
    text += !recursive->held_.load(std::memory_order_relaxed) ? "its operands come to RAM"
            : coming > 0 ? std::to_string(coming) + " tasks inside and divisions are in use"
                         : "copies of its parts are in flight";
    text += "\n";
  }
  return text;
}

void Recursions::end_what_can() {
  std::vector<RecursiveTask*> tried;
  {
    const std::lock_guard lock(mutex_);
    tried.swap(ending_);
    ++looks_;
  }
  for (RecursiveTask* const task : tried) {
    if (end_or_keep(*task)) count_ending_.fetch_sub(1, std::memory_order_acq_rel);
  }
}

}  // namespace vicinal::engine

namespace vicinal {

namespace {
engine::RecursiveTask& opened(internals::RecursiveTask& task) {
  return static_cast<engine::RecursiveTask&>(task);
}
}  // namespace

std::size_t Recursion::operands() const {
  const std::vector<std::uint16_t>& views = opened(task_).task().extension->view_of;
  return views.empty() ? opened(task_).task().accesses().size() : views.size();
}

AccessMode Recursion::mode(std::size_t operand) const {
  return opened(task_).access(operand).mode;
}

const Layout& Recursion::layout(std::size_t operand) const {
  return opened(task_).access(operand).handle->layout;
}

int Recursion::priority() const {
  return opened(task_).task().priority;
}

const std::byte* Recursion::parameter_bytes(std::size_t wanted) const {
  const graph::Task& task = opened(task_).task();
  const std::vector<std::byte>& large = task.extension->parameters;
  const std::size_t given = large.empty() ? task.parameter_bytes : large.size();
  if (given != wanted) {
    throw UsageError("task " + std::string(task.name()) + " was given a parameter of " +
                     std::to_string(given) + " bytes, its recursive codelet asks for " +
                     std::to_string(wanted));
  }
  return large.empty() ? task.parameters : large.data();
}

Parts Recursion::parts(std::size_t operand, const Divide& divide) {
  return opened(task_).application().partitions.names_of(opened(task_).divide(operand, divide));
}

Handle Recursion::whole(std::size_t operand) {
  return parts(operand, row_blocks(1))[0];
}

TaskId Recursion::submit(const TaskSpec& spec) {
  return opened(task_).application().submissions.submit_inside(spec);
}

}  // namespace vicinal
