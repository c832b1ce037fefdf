#include "bounds/graph_bounds.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "bounds/area.hpp"
#include "bounds/graph_borders.hpp"
#include "graph/combinations.hpp"
#include "graph/without_parts.hpp"

namespace vicinal::bounds {

namespace {

WorkersPerKind workers_of(const MachineDescription& machine) {
  WorkersPerKind workers{};
  for (const WorkerDescription& worker : machine.workers) {
    ++workers[static_cast<std::size_t>(worker.kind)];
  }
  return workers;
}

// Per kernel, only kinds that the machine has.
std::vector<TaskType> types_of(const graph::Graph& graph, const WorkersPerKind& workers,
                               const std::vector<SecondsPerKind>& seconds) {
  std::vector<TaskType> types(graph.kernels().size());
  for (std::size_t k = 0; k < types.size(); ++k) {
    for (std::size_t w = 0; w < kProcessorKinds; ++w) {
      types[k].seconds[w] = workers[w] == 0 ? 0 : std::max(0.0, seconds.at(k)[w]);
    }
  }
  for (const graph::Graph::Task& task : graph.tasks()) ++types[task.kernel].count;
  // One private copy, begun once; and the datum, if it has no content.
  for (const graph::Combination& combination : graph::combinations_of(graph)) {
    const graph::Graph::Reduction& reduction = graph.reductions()[combination.reduction];
    ++types[reduction.combine].count;
    types[reduction.neutral].count += combination.accumulates ? 1 : 2;
  }
  return types;
}

// 0 if it has no time.
double shortest(const SecondsPerKind& seconds) {
  double least = 0;
  for (const double s : seconds) {
    if (s > 0 && (least == 0 || s < least)) least = s;
  }
  return least;
}

// The one kind that runs tasks of this type.
std::optional<std::size_t> only_kind(const TaskType& type) {
  std::optional<std::size_t> kind;
  for (std::size_t w = 0; w < kProcessorKinds; ++w) {
    if (type.seconds[w] <= 0) continue;
    if (kind) return std::nullopt;
    kind = w;
  }
  return kind;
}

// Of all tasks in their shortest times over all workers that run any, and of each kind those that
// only it runs: the largest.
TimeBound pooled_work(const std::vector<TaskType>& types, const WorkersPerKind& workers) {
  SecondsPerKind bound_to{};
  std::array<bool, kProcessorKinds> used{};
  double all = 0;
  for (const TaskType& type : types) {
    const double seconds = static_cast<double>(type.count) * shortest(type.seconds);
    all += seconds;
    if (const auto kind = only_kind(type)) bound_to[*kind] += seconds;
    for (std::size_t w = 0; w < kProcessorKinds; ++w) used[w] = used[w] || type.seconds[w] > 0;
  }
  std::uint32_t together = 0;
  double most = 0;
  for (std::size_t w = 0; w < kProcessorKinds; ++w) {
    if (!used[w]) continue;
    together += workers[w];
    most = std::max(most, bound_to[w] / workers[w]);
  }
  if (together > 0) most = std::max(most, all / together);
  return {.value = rounded_down(most), .name = "work", .source = kCounting};
}

TimeBound longest_path(const graph::Graph& graph, const std::vector<TaskType>& types) {
  const auto length = [&](graph::Graph::Number kernel) {
    return rounded_down(shortest(types[kernel].seconds));
  };
  std::vector<Time> durations;
  durations.reserve(graph.tasks().size());
  for (const graph::Graph::Task& task : graph.tasks()) durations.push_back(length(task.kernel));
  std::vector<Time> combinations(graph.reductions().empty() ? 0 : graph.data().size());
  for (const graph::Graph::Reduction& reduction : graph.reductions()) {
    combinations[reduction.datum] = length(reduction.combine);
  }
  return critical_path_bound(graph, std::move(durations), combinations);
}

void describe(GraphBounds& bounds, const graph::Graph& graph, const std::vector<TaskType>& types) {
  bounds.graph = graph.application().name;
  bounds.tasks = graph.tasks().size();
  bounds.data = graph.data().size();
  bounds.flops = graph.flops();
  for (const graph::Graph::Datum& datum : graph.data()) bounds.bytes += datum.bytes;
  for (const TaskType& type : types) {
    if (shortest(type.seconds) <= 0) bounds.tasks_without_time += type.count;
  }
}

// Sources and names are those of the larger part.
void add(BytesBound& sum, const BytesBound& part) {
  if (part.value >= sum.value) {
    sum.name = part.name;
    sum.source = part.source;
  }
  sum.value += part.value;
  sum.leading += part.leading;
}

// By the formula, where there is one, or counted: so that those of several borders add up.
BytesBound proved_or_compulsory(const BorderTraffic& traffic) {
  if (traffic.proved_in.leading.value == 0) return traffic.in;
  BytesBound bound = traffic.proved_in;
  bound.value = std::max(bound.value, traffic.in.value);
  return bound;
}

}  // namespace

GraphBounds graph_bounds(const graph::Graph& graph, const MachineDescription& machine,
                         const std::vector<SecondsPerKind>& seconds, FinalPlace results) {
  if (!graph.partitions().empty()) {
    return graph_bounds(graph::without_parts(graph), machine, seconds, results);
  }
  const WorkersPerKind workers = workers_of(machine);
  const auto types = types_of(graph, workers, seconds);
  GraphBounds bounds;
  describe(bounds, graph, types);
  bounds.work = pooled_work(types, workers);
  bounds.area = area_bound(types, workers);
  bounds.path = longest_path(graph, types);
  for (const Border& border : borders_of(machine)) {
    const BorderTraffic traffic = traffic_across(border, {graph, machine, types, results});
    const auto times = crossing_times(border, machine, traffic);
    bounds.links.insert(bounds.links.end(), times.begin(), times.end());
    if (!border.limited) continue;
    add(bounds.compulsory_in, traffic.in);
    add(bounds.proved_in, proved_or_compulsory(traffic));
    add(bounds.out, traffic.out);
  }
  if (bounds.proved_in.leading.value == 0) bounds.proved_in = {};
  return bounds;
}

std::vector<TimeBound> GraphBounds::times() const {
  std::vector<TimeBound> all{work, area, path};
  all.insert(all.end(), links.begin(), links.end());
  return all;
}

TimeBound GraphBounds::time() const {
  const auto all = times();
  return *std::max_element(all.begin(), all.end(),
                           [](const auto& a, const auto& b) { return a.value < b.value; });
}

BytesBound GraphBounds::in() const {
  return proved_in.value > compulsory_in.value ? proved_in : compulsory_in;
}

}  // namespace vicinal::bounds
