#include "engine/known_graph.hpp"

#include <iterator>
#include <utility>

namespace vicinal::engine {

using graph::Graph;
using graph::Task;

namespace {

double known_flops(const Task& task) {
  if (!graph::is_scheduled(task.kind)) return 0;
  const bool has_own = task.extension && task.extension->flops > 0;
  return has_own ? task.extension->flops : task.codelet->flops;
}

ExpectedTimes known_times(const Task& task) {
  ExpectedTimes times{};
  if (!graph::is_scheduled(task.kind)) return times;
  for (std::size_t kind = 0; kind < times.size(); ++kind) {
    times[kind] = graph::expected_time(task, static_cast<ProcessorKind>(kind));
  }
  return times;
}

// Not what is divided for sure.
bool is_ever_pushed(const Task& task) {
  const bool is_divided = task.extension && task.extension->recursive == Recursive::always;
  return graph::is_scheduled(task.kind) && !is_divided;
}

}  // namespace

TaskFacts::TaskFacts(const Task& task)
    : kind(task.kind),
      codelet(graph::is_scheduled(task.kind) ? task.codelet : nullptr),
      flops(known_flops(task)),
      times(known_times(task)),
      priority(task.priority),
      synchronous(graph::is_scheduled(task.kind) && graph::is_synchronous(task)),
      is_pushed(is_ever_pushed(task)) {}

KnownGraph::Number KnownGraph::add(Task& task, const TaskFacts& facts, std::string_view name,
                                   std::span<const Access> accesses,
                                   std::span<const Number> before) {
  std::vector<Graph::Access> numbered;
  numbered.reserve(accesses.size());
  for (const Access& access : accesses) {
    numbered.push_back({number_of(*access.handle), access.mode});
  }
  const Number number =
      graph.add_task(kernel_of(facts, name), numbered, facts.priority, {}, before);
  tasks.push_back(facts.is_pushed ? &task : nullptr);
  return number;
}

KnownGraph::Number KnownGraph::number_of(graph::Handle& handle) {
  const auto next = static_cast<Number>(data.size());
  const auto [place, is_new] = data_numbers_.try_emplace(&handle, next);
  if (!is_new) return place->second;
  data.push_back(&handle);
  Graph::Datum datum{.bytes = handle.bytes()};
  if (handle.home.kind == graph::HomeKind::buffer) datum.home = NodeKind::ram;
  if (handle.home.kind == graph::HomeKind::file) datum.home = NodeKind::disk;
  return graph.add_datum(datum);
}

KnownGraph::Number KnownGraph::kernel_of(const TaskFacts& facts, std::string_view name) {
  const auto next = static_cast<Number>(graph.kernels().size());
  const auto [place, is_new] =
      kernel_numbers_.try_emplace({facts.kind, facts.codelet, facts.flops, facts.times}, next);
  if (!is_new) return place->second;
  Graph::Kernel kernel{.name = std::string(graph::to_string(facts.kind))};
  if (graph::is_scheduled(facts.kind)) {
    kernel = {.name = std::string(name), .flops = facts.flops, .synchronous = facts.synchronous};
    for (std::size_t kind = 0; kind < kernel.seconds.size(); ++kind) {
      kernel.seconds[kind] = static_cast<double>(facts.times[kind].ns) * 1e-9;
    }
  }
  return graph.add_kernel(std::move(kernel));
}

void KnownGraph::forget(graph::Handle& handle) {
  const auto found = data_numbers_.find(&handle);
  if (found == data_numbers_.end()) return;
  data[found->second] = nullptr;
  data_numbers_.erase(found);
}

void KnownGraph::shrink() {
  const Graph before = std::exchange(graph, Graph());
  const std::vector<Task*> all = std::exchange(tasks, {});
  const std::vector<graph::Handle*> handles = std::exchange(data, {});
  constexpr Number kNone = ~Number{0};
  std::vector<Number> tasks_now(all.size(), kNone);
  std::vector<Number> data_now(handles.size(), kNone);
  std::vector<Number> kernels_now(before.kernels().size(), kNone);
  std::vector<Graph::Access> accesses;
  std::vector<Number> predecessors;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] == nullptr) continue;
    const Graph::Task& task = before.tasks()[i];
    Number& kernel = kernels_now[task.kernel];
    if (kernel == kNone) kernel = graph.add_kernel(before.kernels()[task.kernel]);
    accesses.clear();
    for (const Graph::Access& access : before.accesses_of(task)) {
      Number& datum = data_now[access.datum];
      if (datum == kNone) {
        datum = graph.add_datum(before.data()[access.datum]);
        data.push_back(handles[access.datum]);
      }
      accesses.push_back({datum, access.mode});
    }
    predecessors.clear();
    for (const Number first : before.predecessors_of(i)) {
      if (tasks_now[first] != kNone) predecessors.push_back(tasks_now[first]);
    }
    tasks_now[i] = graph.add_task(kernel, accesses, task.priority, {}, predecessors);
    tasks.push_back(all[i]);
  }
  data_numbers_.clear();
  for (Number number = 0; number < data.size(); ++number) {
    if (data[number] != nullptr) data_numbers_.emplace(data[number], number);
  }
  for (auto kernel = kernel_numbers_.begin(); kernel != kernel_numbers_.end();) {
    kernel->second = kernels_now[kernel->second];
    kernel = kernel->second == kNone ? kernel_numbers_.erase(kernel) : std::next(kernel);
  }
}

}  // namespace vicinal::engine
