#include "engine/held_graph.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include "graph/bottom_level.hpp"
#include "graph/task_pool.hpp"

namespace vicinal::engine {

namespace {

using graph::Graph;

// Of a task, in nanoseconds: 19 hours, so that a path of all tasks that are held back can be counted.
constexpr std::int64_t kLongestTask = std::int64_t{1} << 46;

double flops_of(const graph::Task& task) {
  if (!graph::is_scheduled(task.kind)) return 0;
  const bool has_own = task.extension && task.extension->flops > 0;
  return has_own ? task.extension->flops : task.codelet->flops;
}

ExpectedTimes expected_times(const graph::Task& task) {
  ExpectedTimes times{};
  if (!graph::is_scheduled(task.kind)) return times;
  for (std::size_t kind = 0; kind < times.size(); ++kind) {
    times[kind] = graph::expected_time(task, static_cast<ProcessorKind>(kind));
  }
  return times;
}

Time planned_time(const graph::Task& task) {
  if (!graph::is_scheduled(task.kind)) return {0};
  Time time;
  for (const Time expected : expected_times(task)) time = std::max(time, expected);
  if (time.ns == 0) {
    const double seconds = std::max(1e-6, flops_of(task) * 1e-9);
    time = Time::from_seconds(std::min(seconds, static_cast<double>(kLongestTask) * 1e-9));
  }
  return {std::min(time.ns, kLongestTask)};
}

// Microseconds up to 2^29 of them, 9 minutes. From there on 2^24 steps for each doubling, which is enough
// for 2^62 ns: the function is the same for all tasks, grows, and never saturates.
int priority_of(Time level) {
  constexpr int kExactBits = 29;
  constexpr int kStepBits = 24;
  const auto microseconds = static_cast<std::uint64_t>(level.ns / 1000);
  const auto doublings = static_cast<int>(std::bit_width(microseconds >> kExactBits));
  if (doublings == 0) return static_cast<int>(microseconds);
  const std::uint64_t steps = microseconds >> (kExactBits - kStepBits + doublings - 1);
  const std::uint64_t first = std::uint64_t{1} << kStepBits;
  return static_cast<int>((std::uint64_t{1} << kExactBits) +
                          static_cast<std::uint64_t>(doublings - 1) * first + (steps - first));
}

// Not what is divided for sure.
bool is_pushed(const graph::Task& task) {
  const bool is_divided = task.extension && task.extension->recursive == Recursive::always;
  return graph::is_scheduled(task.kind) && !is_divided;
}

using Numbers = std::unordered_map<std::uint64_t, Graph::Number>;

// By id, if any task follows others whatever their data.
Numbers numbers_of(std::span<const HeldTask> list) {
  Numbers numbers;
  if (std::ranges::all_of(list, [](const HeldTask& held) { return held.after.empty(); })) return {};
  for (const HeldTask& held : list) {
    numbers.emplace(graph::TaskPool::id(*held.task).value,
                    static_cast<Graph::Number>(numbers.size()));
  }
  return numbers;
}

}  // namespace

HeldGraph::HeldGraph(std::span<const HeldTask> list, Predecessors predecessors) {
  const Numbers numbers = predecessors == Predecessors::named ? numbers_of(list) : Numbers();
  std::vector<Graph::Access> accesses;
  std::vector<Graph::Number> before;
  for (const HeldTask& held : list) {
    accesses.clear();
    for (const graph::Access& access : held.task->accesses()) {
      accesses.push_back({number_of(*access.handle), access.mode});
    }
    before.clear();
    for (const TaskId id : held.after) {
      if (const auto found = numbers.find(id.value); found != numbers.end()) {
        before.push_back(found->second);
      }
    }
    graph.add_task(kernel_of(*held.task), accesses, held.task->priority, {}, before);
    tasks.push_back(is_pushed(*held.task) ? held.task : nullptr);
    durations_.push_back(planned_time(*held.task));
  }
}

Graph::Number HeldGraph::number_of(graph::Handle& handle) {
  const auto next = static_cast<Graph::Number>(data.size());
  const auto [place, is_new] = data_numbers_.try_emplace(&handle, next);
  if (!is_new) return place->second;
  data.push_back(&handle);
  Graph::Datum datum{.bytes = handle.bytes()};
  if (handle.home.kind == graph::HomeKind::buffer) datum.home = NodeKind::ram;
  if (handle.home.kind == graph::HomeKind::file) datum.home = NodeKind::disk;
  if (handle.home.kind == graph::HomeKind::device) datum.home = NodeKind::device;
  return graph.add_datum(datum);
}

Graph::Number HeldGraph::kernel_of(const graph::Task& task) {
  const auto next = static_cast<Graph::Number>(graph.kernels().size());
  const ExpectedTimes times = expected_times(task);
  const auto [place, is_new] =
      kernel_numbers_.try_emplace({task.kind, task.codelet, flops_of(task), times}, next);
  if (!is_new) return place->second;
  Graph::Kernel kernel{.name = std::string(graph::to_string(task.kind))};
  if (graph::is_scheduled(task.kind)) {
    kernel = {.name = task.codelet->name,
              .flops = flops_of(task),
              .synchronous = graph::is_synchronous(task)};
    for (std::size_t kind = 0; kind < kernel.seconds.size(); ++kind) {
      kernel.seconds[kind] = static_cast<double>(times[kind].ns) * 1e-9;
    }
  }
  return graph.add_kernel(std::move(kernel));
}

std::vector<int> HeldGraph::urgencies() const {
  std::vector<int> urgencies;
  for (const Time level : graph::bottom_levels(graph, durations_)) {
    urgencies.push_back(priority_of(level));
  }
  return urgencies;
}

}  // namespace vicinal::engine
