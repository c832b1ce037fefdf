// From what the application says to a task in the graph.
#include <algorithm>
#include <cstring>
#include <utility>

#include "base/warm.hpp"
#include "graph/bottom_level.hpp"
#include "memory/arena.hpp"
#include "runtime/runtime_impl.hpp"
#include "vicinal/error.hpp"

namespace vicinal {

struct GroupAccess {
  static void begin_one(Group& group) { group.pending_.fetch_add(1, std::memory_order_relaxed); }
  static void take_back(Group& group) { group.pending_.fetch_sub(1, std::memory_order_relaxed); }
};

}  // namespace vicinal

namespace vicinal::runtime {

namespace {

graph::TaskExtension& extension(graph::Task& task) {
  if (!task.extension) task.extension = std::make_unique<graph::TaskExtension>();
  return *task.extension;
}

constexpr std::size_t kPlanAtMost = 1 << 16;

}  // namespace

// One access per handle, in the strongest mode; operands keep their numbers through view_of.
void RuntimeImpl::fill_accesses(graph::Task& task, std::span<const Operand> operands) {
  graph::Access* const accesses = task.accesses().data();
  const bool outside = task.outside;
  std::size_t count = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    graph::Handle& handle = check(operands[i].handle, "submit");
    if (writes(operands[i].mode) && !handle.home.writable) {
      throw UsageError("task " + std::string(task.name()) + " writes handle " + handle.name +
                       ", whose file was registered read-only; register it writable");
    }
    std::size_t at = 0;
    while (at < count && accesses[at].handle != &handle) ++at;
    if (at < count) {  // named before
      accesses[at].mode = strongest(accesses[at].mode, operands[i].mode);
      auto& views = extension(task).view_of;
      while (views.size() < i) views.push_back(static_cast<std::uint16_t>(views.size()));
    } else {
      accesses[at] = graph::Access(handle, operands[i].mode, at, outside);
      ++count;
    }
    if (task.extension && !task.extension->view_of.empty()) {
      task.extension->view_of.push_back(static_cast<std::uint16_t>(at));
    }
  }
  task.access_count = static_cast<std::uint16_t>(count);
}

graph::Task& RuntimeImpl::make_task(const TaskSpec& spec, WorkerId worker) {
  if (spec.codelet == nullptr) throw UsageError("submit: the task has no codelet");
  if (spec.operands.span().size() > kMostOperands) {
    throw UsageError("task " + spec.codelet->name + " has " +
                     std::to_string(spec.operands.span().size()) + " operands; there are at most " +
                     std::to_string(kMostOperands));
  }
  graph::Task& task = engine_->new_task(worker, spec.operands.span().size());
  try {
    task.codelet = spec.codelet;
    task.priority = spec.priority;
    task.access_count = 0;
    if (!spec.name.empty()) extension(task).name = spec.name;
    if (spec.worker) extension(task).worker = spec.worker;
    if (spec.group != nullptr) extension(task).group = spec.group;
    if (spec.on_end) extension(task).on_end = spec.on_end;
    const std::size_t bytes = spec.parameters.size();
    if (bytes > sizeof(task.parameters)) {
      extension(task).parameters.assign(spec.parameters.data(), spec.parameters.data() + bytes);
    } else {  // zeros where nothing was given, not what the slot's last task was
      std::memcpy(task.parameters, spec.parameters.data(), sizeof(task.parameters));
    }
    fill_accesses(task, spec.operands.span());
    check_task(task);
  } catch (...) {
    engine_->discard(task, worker);
    throw;
  }
  return task;
}

void RuntimeImpl::check_task(const graph::Task& task) {
  engine_->check_can_run(task);
  if (!options_.memory || setup_.machine.disk() || setup_.simulated) return;
  check_sole_copies(task);
}

// RAM is limited and there is no disk: what the runtime allocates must fit in RAM altogether, since
// it has nowhere else to go. Said at the first write that would break it, not when a run is stuck.
[[gnu::noinline]] void RuntimeImpl::check_sole_copies(const graph::Task& task) {
  const auto counts = [](const graph::Access& access) {
    return writes(access.mode) && access.handle->home.kind == graph::HomeKind::none &&
           !access.handle->counts_unhomed.load(std::memory_order_relaxed);
  };
  if (std::ranges::none_of(task.accesses(), counts)) return;
  const std::lock_guard lock(handles_mutex_);
  Bytes added;
  for (const graph::Access& access : task.accesses()) {
    const graph::Handle& handle = *access.handle;
    if (!counts(access)) continue;
    const Bytes bytes = memory::Arena::padded(handle.bytes());
    added += bytes;
    if (unhomed_ + added > *options_.memory) {
      throw CapacityError(
          "task " + std::string(task.name()) + " writes " + handle.name +
          ": the data written so far and this need " + std::to_string((unhomed_ + added).value) +
          " bytes, the memory limit is " + std::to_string(options_.memory->value) +
          " bytes and there is no disk; give a folder with the option disk, or raise "
          "the option memory");
    }
  }
  unhomed_ += added;
  for (const graph::Access& access : task.accesses()) {
    if (writes(access.mode) && access.handle->home.kind == graph::HomeKind::none) {
      access.handle->counts_unhomed.store(true, std::memory_order_relaxed);
    }
  }
}

[[gnu::flatten]] TaskId RuntimeImpl::submit(const TaskSpec& spec) {
  const WorkerId worker = engine_->inside_task();
  // Often last written by the worker that ended the last task that used them.
  for (const Operand& operand : spec.operands.span()) base::warm(operand.handle.impl());
  // Before the task is made, for a task that is made counts as submitted.
  const bool windowed = options_.window_tasks > 0 || options_.window_bytes.value > 0;
  const Bytes bytes = windowed ? window_bytes(spec.operands.span()) : Bytes{0};
  if (windowed) respect_window(bytes, worker);
  graph::Task* made = nullptr;
  try {
    made = &make_task(spec, worker);
  } catch (...) {
    if (windowed) submitted_bytes_.fetch_sub(bytes.value, std::memory_order_relaxed);
    throw;
  }
  graph::Task& task = *made;
  if (spec.group != nullptr) GroupAccess::begin_one(*spec.group);
  if (options_.compute_priorities && worker == kNoWorker) {
    const TaskId id = graph::TaskPool::id(task);
    bool full = false;
    {
      const std::lock_guard lock(planned_mutex_);
      planned_.push_back({&task, {spec.after.begin(), spec.after.end()}, bytes});
      planned_count_.store(planned_.size(), std::memory_order_seq_cst);
      // Somebody who waits has flushed already, and may wait for this one.
      full = planned_.size() >= kPlanAtMost || waiting_.load(std::memory_order_seq_cst) > 0;
    }
    if (full) flush_planned();
    return id;
  }
  try {
    return engine_->submit(task, spec.after, worker);
  } catch (...) {
    if (windowed) submitted_bytes_.fetch_sub(bytes.value, std::memory_order_relaxed);
    if (spec.group != nullptr) GroupAccess::take_back(*spec.group);
    throw;
  }
}

// Of the different handles, if the window counts them.
Bytes RuntimeImpl::window_bytes(std::span<const Operand> operands) const {
  Bytes sum;
  if (options_.window_bytes.value == 0) return sum;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto earlier = operands.first(i);
    const bool named_before = std::ranges::any_of(
        earlier, [&](const Operand& other) { return other.handle == operands[i].handle; });
    if (!named_before) sum += check(operands[i].handle, "submit").bytes();
  }
  return sum;
}

// Bottom levels of what has been submitted since the last time, as priorities in microseconds, for
// the tasks that have none. Then the tasks go into the graph. Throws the first refusal after all are
// in.
[[gnu::noinline]] void RuntimeImpl::flush_planned() {
  std::vector<PlannedTask> tasks;
  {
    const std::lock_guard lock(planned_mutex_);
    tasks.swap(planned_);
    planned_count_.store(0, std::memory_order_seq_cst);
  }
  if (tasks.empty()) return;
  std::unordered_map<const graph::Handle*, std::size_t> number;
  std::vector<std::vector<graph::PlannedAccess>> accesses(tasks.size());
  std::vector<graph::PlannedTask> plan(tasks.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    for (const graph::Access& access : tasks[i].task->accesses()) {
      accesses[i].push_back(
          {number.try_emplace(access.handle, number.size()).first->second, access.mode});
    }
    Time time;
    for (const Time expected : tasks[i].task->codelet->expected) time = std::max(time, expected);
    if (time.ns == 0) {
      time = Time::from_seconds(std::max(1e-6, tasks[i].task->codelet->flops * 1e-9));
    }
    plan[i] = {time, accesses[i]};
  }
  const std::vector<Time> levels = graph::bottom_levels(plan, number.size());
  std::exception_ptr error;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    graph::Task& task = *tasks[i].task;
    if (task.priority == 0) {
      task.priority = static_cast<int>(std::min<std::int64_t>(levels[i].ns / 1000, 1 << 30));
    }
    Group* group = task.extension ? task.extension->group : nullptr;
    const Bytes bytes = tasks[i].window_bytes;
    try {
      engine_->submit(task, tasks[i].after, kNoWorker);
    } catch (...) {
      submitted_bytes_.fetch_sub(bytes.value, std::memory_order_relaxed);
      if (group != nullptr) GroupAccess::take_back(*group);
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

// A submitter that runs far ahead works, or sleeps, until the window has room.
// What is submitted inside a task is counted, but does not wait.
[[gnu::noinline]] void RuntimeImpl::respect_window(Bytes bytes, WorkerId worker) {
  const auto room = [&] {
    // Ends first: they are never more than the submissions read afterwards.
    const std::uint64_t ended = engine_->ended_tasks();
    const std::uint64_t ended_bytes = engine_->ended_bytes().value;
    const std::uint64_t pending = engine_->submitted_tasks() - ended;
    const std::uint64_t pending_bytes =
        submitted_bytes_.load(std::memory_order_relaxed) - ended_bytes;
    return pending == 0 || ((options_.window_tasks == 0 || pending < options_.window_tasks) &&
                            (options_.window_bytes.value == 0 ||
                             pending_bytes + bytes.value <= options_.window_bytes.value));
  };
  if (worker == kNoWorker && !room()) {
    const auto flushed_and_room = [&] {
      if (planned_count_.load(std::memory_order_seq_cst) > 0) flush_planned();
      return room();
    };
    wait_until(flushed_and_room, "submit (the submission window is full)");
  }
  submitted_bytes_.fetch_add(bytes.value, std::memory_order_relaxed);
}

}  // namespace vicinal::runtime
