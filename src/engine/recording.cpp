// What is recorded of the way of a task, and of copies: see trace/event.hpp. Only while it is recorded.
#include "engine/recording.hpp"

#include <algorithm>
#include <array>

#include "base/sure_memory.hpp"
#include "engine/lifecycle.hpp"
#include "graph/task_pool.hpp"

namespace vicinal::engine {

using graph::Task;
using graph::TaskPool;
using trace::Event;

namespace {

// A number that is new has its description behind it.
std::uint32_t name_of(trace::Recorder& recorder, const Codelet& codelet) {
  if (const auto known = recorder.known_name(&codelet, codelet.name)) [[likely]]
    return *known;
  const std::uint32_t name = recorder.name(&codelet, codelet.name);
  if (!recorder.on(trace::Category::submission)) return name;
  static_assert(kProcessorKinds == 5);
  constexpr double kMost = 1e18;
  recorder.record<Event::codelet>(
      name, static_cast<std::uint64_t>(std::clamp(codelet.flops, 0.0, kMost)), codelet.synchronous,
      codelet.expected[0].ns, codelet.expected[1].ns, codelet.expected[2].ns,
      codelet.expected[3].ns, codelet.expected[4].ns);
  return name;
}

// What a name stands for: a codelet, or what the application asks for beside tasks.
std::uint32_t name_of(trace::Recorder& recorder, const Task& task) {
  if (is_scheduled(task.kind)) return name_of(recorder, *task.codelet);
  const std::string_view kind = graph::to_string(task.kind);
  return recorder.name(kind.data(), kind);
}

}  // namespace

[[gnu::noinline]] void Engine::record_submitted(const Task& task, std::span<const TaskId> after) {
  constexpr std::size_t kFew = 16;
  const std::uint64_t id = TaskPool::id(task).value;
  const std::size_t words = 3 + task.accesses().size();
  std::array<std::uint64_t, 3 + kFew> few;
  base::SureVector<std::uint64_t> many;
  if (words > few.size()) many.resize(words);
  const std::span<std::uint64_t> fields =
      many.empty() ? std::span(few).first(words) : std::span(many);
  fields[0] = id;
  fields[1] = name_of(recorder_, task);
  // Readers know a combination by its codelet.
  fields[2] =
      static_cast<std::uint64_t>(is_scheduled(task.kind) ? graph::TaskKind::compute : task.kind);
  std::size_t at = 3;
  for (const graph::Access& access : task.accesses()) {
    fields[at++] = access.handle->id.value << 4 | static_cast<std::uint64_t>(access.mode);
  }
  recorder_.record_words(Event::task_submitted, static_cast<std::uint32_t>(task.priority), fields);
  if (task.extension && !task.extension->name.empty()) {
    recorder_.record_text<Event::task_named>(task.extension->name, 0, id);
  }
  for (const TaskId before : after) recorder_.record<Event::task_after>(0, id, before.value);
}

void record_reduction(trace::Recorder& recorder, const graph::Reduction& reduction) {
  const std::uint32_t neutral = name_of(recorder, *reduction.codelets.neutral);
  const std::uint32_t combine = name_of(recorder, *reduction.codelets.combine);
  recorder.record<Event::reduction_set>(neutral, reduction.of->id.value, combine);
}

void record_inside(trace::Recorder& recorder, const Task& task, const Task& outer) {
  recorder.record<Event::task_inside>(0, TaskPool::id(task).value, TaskPool::id(outer).value);
}

[[gnu::noinline]] void Engine::record_moved(const Task& task, WorkerId worker) {
  recorder_.record<Event::task_moved>(worker.value, TaskPool::id(task).value);
}

[[gnu::noinline]] void Engine::record_started(const memory::Copy& copy) {
  recorder_.record<Event::copy_started>(copy.to.node.value, copy.handle->id.value,
                                        copy.from.node.value, copy.number, copy.bytes().value,
                                        copy.cause, copy.urgent);
}

// --- how long tasks run

inline void Engine::record_started(const Task& task, WorkerId worker) {
  const std::uint32_t name = name_of(recorder_, *task.codelet);
  recorder_.record<Event::task_started>(worker.value, TaskPool::id(task).value, name);
}

void Engine::record_ended(const Task& task, WorkerId worker, Outcome outcome, Time run_time) {
  recorder_.record<Event::task_ended>(worker.value, TaskPool::id(task).value, outcome, run_time.ns);
}

// Kernels of accelerators run elsewhere than on the thread that drives them, and those of simulations not at all.
void Engine::record_processor_time(WorkerId worker) {
  if (config_.simulated) return;
  if (config_.machine.workers[worker.value].kind != ProcessorKind::cpu) return;
  if (const auto time = processor_timers_[worker.value].look(config_.now())) {
    recorder_.record<Event::processor_time>(worker.value, time->ns);
  }
}

// A driver that runs the task inside start_task needs no clock of its own: what lies between this and
// task_done is the kernel and the call of it. A run that there is no memory to note is not noted.
[[gnu::noinline]] void Engine::begin_watched(const Task& task, WorkerId worker) {
  if (records(trace::Category::tasks)) {
    record_started(task, worker);
    record_processor_time(worker);
  }
  if (!timed_) return;
  try {
    timers_[worker.value].begin(task, config_.now);
  } catch (const std::bad_alloc&) {
  }
}

[[gnu::noinline]] void Engine::end_watched(const Task& task, WorkerId worker, Outcome outcome,
                                           std::optional<Time> run_time) {
  if (records(trace::Category::tasks)) {
    record_ended(task, worker, outcome, run_time.value_or(Time{}));
    record_processor_time(worker);
  }
  if (!timed_ || outcome != Outcome::done) return;
  RunTimer& timer = timers_[worker.value];
  try {
    if (run_time) {
      timer.note(task, *run_time);
    } else {
      timer.end(config_.now);
    }
  } catch (const std::bad_alloc&) {
  }
}

}  // namespace vicinal::engine
