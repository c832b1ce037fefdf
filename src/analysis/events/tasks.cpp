#include "analysis/events/tasks.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "analysis/events/contradiction.hpp"

namespace vicinal::analysis {

namespace {

using trace::Event;
using trace::RecordedEvent;

constexpr std::uint64_t kMostNs = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kTask = 1;  // where the field stands in all events that have one

}  // namespace

void TasksOfRun::refuse(const TaskOfRun& task, std::string_view what) const {
  refuse_events(path_, fmt::format("the task with the id {:#x} {}", task.id, what));
}

TaskOfRun& TasksOfRun::at(std::uint64_t id, std::int64_t time) {
  std::uint32_t& place = by_id_[id];
  if (place == base::IdMap::kNone) {
    place = static_cast<std::uint32_t>(run_.tasks.size());
    TaskOfRun& task = run_.tasks.emplace_back();
    task.id = id;
    task.name = kNobody;
    first_seen_.push_back(time);
  }
  return run_.tasks[place];
}

bool TasksOfRun::take(const RecordedEvent& event) {
  switch (event.event) {
    case Event::codelet:
      take_codelet(event);
      break;
    case Event::task_submitted:
      take_submitted(event);
      break;
    case Event::task_named:
      at(event.field(kTask), event.time).own_name = parts_.names.add(event.text());
      break;
    case Event::task_after:
      late_.push_back({.before = event.field(2), .task = event.field(kTask)});
      break;
    case Event::task_inside:
      inside_.push_back({.before = event.field(2), .task = event.field(kTask)});
      break;
    case Event::reduction_set:
      take_reduction(event);
      break;
    case Event::task_ready:
      take_ready(event);
      break;
    case Event::task_scheduled:
      at(event.field(kTask), event.time).scheduled = event.time;
      break;
    case Event::task_moved:
      take_moved(event);
      break;
    case Event::operands_wanted:
    case Event::room_granted:
    case Event::operands_ready:
      take_request(event);
      break;
    case Event::task_started:
      take_started(event);
      break;
    case Event::task_ended:
      take_ended(event);
      break;
    case Event::processor_time:
      run_.processor_times.push_back(
          {parts_.machine.worker_or_none(event.first), event.time,
           static_cast<std::int64_t>(std::min(event.field(1), kMostNs))});
      break;
    default:
      return false;
  }
  return true;
}

void TasksOfRun::take_codelet(const RecordedEvent& event) {
  enum Field : std::size_t { name, flops, synchronous, first_kind };
  CodeletOfRun codelet{.name = parts_.names.place(event.first),
                       .flops = event.field(flops),
                       .synchronous = event.field(synchronous) != 0};
  for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
    codelet.ns[kind] = std::min(event.field(first_kind + kind), kMostNs);
  }
  codelets_[event.first] = static_cast<std::uint32_t>(run_.codelets.size());
  run_.codelets.push_back(codelet);
}

// One that was not described is known by its name.
CodeletOfRun TasksOfRun::codelet_of(std::uint64_t name) {
  const std::uint32_t described = codelets_.find(name);
  if (described != base::IdMap::kNone) return run_.codelets[described];
  return {.name = parts_.names.place(name)};
}

void TasksOfRun::take_reduction(const RecordedEvent& event) {
  enum Field : std::size_t { neutral, handle, combine };
  run_.reductions.push_back({.datum = parts_.data.place(event.field(handle)),
                             .neutral = codelet_of(event.first),
                             .combine = codelet_of(event.field(combine))});
}

void TasksOfRun::take_submitted(const RecordedEvent& event) {
  enum Field : std::size_t { priority, task_id, name, kind };
  TaskOfRun& task = at(event.field(task_id), event.time);
  if (task.submitted != kUnknown) refuse(task, "is submitted twice");
  task.submitted = event.time;
  task.priority = static_cast<std::int32_t>(event.first);
  task.name = parts_.names.place(event.field(name));
  task.codelet = codelets_.find(event.field(name));
  task.kind = static_cast<KindOfTask>(event.field(kind));
  task.first_access = static_cast<std::uint32_t>(run_.accesses.size());
  task.access_count = static_cast<std::uint32_t>(event.tail().size());
  for (const std::uint64_t access : event.tail()) {
    constexpr unsigned kModeBits = 4;
    run_.accesses.push_back({.datum = parts_.data.place(access >> kModeBits),
                             .mode = static_cast<AccessMode>(access & 0xfU)});
  }
  submitted_.push_back(static_cast<std::uint32_t>(&task - run_.tasks.data()));
}

// The policy is given it once.
void TasksOfRun::take_ready(const RecordedEvent& event) {
  TaskOfRun& task = at(event.field(kTask), event.time);
  if (task.ready != kUnknown) return;
  task.ready = event.time;
  task.releasing = parts_.machine.worker_or_none(event.first);
}

// What it asked for on its former node is taken back. Where it goes its operands may be there already: then it
// asks for nothing.
void TasksOfRun::take_moved(const RecordedEvent& event) {
  TaskOfRun& task = at(event.field(kTask), event.time);
  task.moved = true;
  task.wanted = task.granted = task.operands = kUnknown;
}

// A task that is moved asks anew, also where the move itself is not recorded.
void TasksOfRun::take_request(const RecordedEvent& event) {
  TaskOfRun& task = at(event.field(kTask), event.time);
  if (event.event == Event::operands_wanted) {
    task.wanted = event.time;
    task.granted = kUnknown;
    task.operands = kUnknown;
  } else if (event.event == Event::room_granted) {
    task.granted = event.time;
  } else if (event.field(2) == 0) {
    task.operands = event.time;
  }
}

void TasksOfRun::take_started(const RecordedEvent& event) {
  TaskOfRun& task = at(event.field(kTask), event.time);
  if (task.started != kUnknown) refuse(task, "starts twice");
  if (task.ended != kUnknown) refuse(task, "starts after its end");
  task.started = event.time;
  task.worker = parts_.machine.worker_or_none(event.first);
  if (task.name == kNobody) task.name = parts_.names.place(event.field(2));
}

void TasksOfRun::take_ended(const RecordedEvent& event) {
  enum Field : std::size_t { worker, task_id, outcome, run };
  TaskOfRun& task = at(event.field(task_id), event.time);
  if (task.ended != kUnknown) refuse(task, "ends twice");
  task.ended = event.time;
  task.outcome = static_cast<Outcome>(event.field(outcome));
  const std::uint32_t by = parts_.machine.worker_or_none(event.field(worker));
  if (task.worker == kNobody) task.worker = by;
  // Longer than it was there is no time that can be.
  const auto most = task.started == kUnknown ? 0 : task.ended - task.started;
  const std::uint64_t told = event.field(run);
  run_ns_.resize(run_.tasks.size());
  run_ns_[by_id_.find(task.id)] =
      told == 0 ? most : std::min(most, static_cast<std::int64_t>(std::min(told, kMostNs)));
}

// An accelerator has a queue, and works along it: what was put there began when the device had done what was there
// before, or later, if the device says how long it took.
void TasksOfRun::begin_when_devices_do() {
  const auto& workers = run_.facts.machine.workers;
  std::vector<std::uint32_t> on_devices;
  for (std::uint32_t i = 0; i < run_.tasks.size(); ++i) {
    const TaskOfRun& task = run_.tasks[i];
    if (task.ran() && task.worker < workers.size() && !runs_on_host(workers[task.worker].kind)) {
      on_devices.push_back(i);
    }
  }
  std::ranges::stable_sort(on_devices, {}, [&](std::uint32_t i) { return run_.tasks[i].ended; });
  std::vector<std::int64_t> free_from(workers.size());
  for (const std::uint32_t i : on_devices) {
    TaskOfRun& task = run_.tasks[i];
    task.started = std::max({task.started, free_from[task.worker], task.ended - run_ns_[i]});
    free_from[task.worker] = task.ended;
  }
}

void TasksOfRun::finish() {
  for (TaskOfRun& task : run_.tasks) {
    if (task.name == kNobody) task.name = parts_.names.unknown();
  }
  run_ns_.resize(run_.tasks.size());
  begin_when_devices_do();
  const std::vector<std::uint32_t> wanted = order();
  if (!std::ranges::is_sorted(wanted)) renumber(wanted);
  resolve_dependencies();
}

// Tasks whose submission was not recorded were submitted before, and are counted in the order of their start.
std::vector<std::uint32_t> TasksOfRun::order() const {
  std::vector<std::uint32_t> order;
  order.reserve(run_.tasks.size());
  for (std::uint32_t i = 0; i < run_.tasks.size(); ++i) {
    if (run_.tasks[i].submitted == kUnknown) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](std::uint32_t i) {
    return run_.tasks[i].started != kUnknown ? run_.tasks[i].started : first_seen_[i];
  });
  order.insert(order.end(), submitted_.begin(), submitted_.end());
  return order;
}

void TasksOfRun::renumber(const std::vector<std::uint32_t>& order) {
  std::vector<TaskOfRun> tasks;
  tasks.reserve(order.size());
  std::vector<std::uint32_t> number(order.size());
  for (const std::uint32_t old : order) {
    number[old] = static_cast<std::uint32_t>(tasks.size());
    tasks.push_back(run_.tasks[old]);
  }
  run_.tasks = std::move(tasks);
  by_id_.for_each_place([&](std::uint32_t& place) { place = number[place]; });
}

// One that ended before the recording began is not known, and held nobody up.
void TasksOfRun::resolve_dependencies() {
  for (const LateDependency& each : late_) {
    const std::uint32_t before = by_id_.find(each.before);
    const std::uint32_t task = by_id_.find(each.task);
    if (before < task && task != base::IdMap::kNone) run_.dependencies.push_back({before, task});
  }
  for (const LateDependency& each : inside_) {
    const std::uint32_t outer = by_id_.find(each.before);
    const std::uint32_t task = by_id_.find(each.task);
    if (outer < task && task != base::IdMap::kNone) run_.inside.push_back({task, outer});
  }
  std::ranges::sort(run_.inside, {}, &TaskInside::task);
}

}  // namespace vicinal::analysis
