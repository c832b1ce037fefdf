#include "reproduction/measure.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "bounds/graph_borders.hpp"
#include "bounds/transfer.hpp"
#include "graph/bottom_level.hpp"
#include "memory/rules.hpp"
#include "play/play.hpp"
#include "reports/play_record.hpp"
#include "vicinal/error.hpp"

namespace vicinal::reproduction {

namespace {

// Run times that other runs have learned are not to change a figure.
Options options_of(std::string_view policy) {
  Options options;
  options.policy = policy;
  options.models = "none";
  return options;
}

double bus_rate(const MachineDescription& machine) {
  for (const bounds::Border& border : bounds::borders_of(machine)) {
    if (border.limited) return bounds::joint_bandwidth(machine, border.in).value;
  }
  return 0;
}

// StarPU's examples of LU and of products say as that of Cholesky does which data they will not use any more.
void hint_as_starpu(graph::Graph& graph, std::string_view memory_rules) {
  if (memory::parse_rules(memory_rules).hint) graph.application().hints_wont_use = true;
}

// The same, but that the first task that writes a datum does not read it.
graph::Graph with_results_anew(const graph::Graph& graph) {
  graph::Graph anew;
  for (const auto& kernel : graph.kernels()) anew.add_kernel(kernel);
  for (std::size_t d = 0; d < graph.data().size(); ++d) {
    anew.add_datum(graph.data()[d], graph.data_name(d));
  }
  std::vector<bool> is_written(graph.data().size());
  for (const auto& task : graph.tasks()) {
    const auto accesses = graph.accesses_of(task);
    std::vector<graph::Graph::Access> changed(accesses.begin(), accesses.end());
    for (auto& access : changed) {
      if (access.mode != AccessMode::RW || is_written[access.datum]) continue;
      is_written[access.datum] = true;
      access.mode = AccessMode::W;
    }
    anew.add_task(task.kernel, changed, task.priority);
  }
  anew.application() = graph.application();
  return anew;
}

// The row and the column in "A7_3".
std::pair<std::uint32_t, std::uint32_t> position(std::string_view name) {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  const char* const end = name.data() + name.size();
  const auto first = std::from_chars(name.data() + std::min<std::size_t>(1, name.size()), end, row);
  if (first.ec == std::errc{} && first.ptr != end) {
    std::from_chars(first.ptr + 1, end, column);
  }
  return {row, column};
}

}  // namespace

void add_bytes(Measures& measures, const MachineDescription& machine,
               const Statistics& statistics) {
  const auto kind = [&](NodeId node) { return machine.nodes[node.value].kind; };
  for (const LinkStatistics& link : statistics.links) {
    if (!machine.nodes[link.to.value].limit && !machine.nodes[link.from.value].limit) continue;
    const auto bytes = static_cast<double>(link.bytes.value);
    if (kind(link.from) == NodeKind::device && kind(link.to) == NodeKind::device) {
      measures.between_gpus += bytes;
    } else if (kind(link.to) == NodeKind::device || kind(link.from) == NodeKind::disk) {
      measures.from_below += bytes;
    } else {
      measures.written_back += bytes;
    }
  }
}

// Of GPUs if there are any: RAM is then what lies below.
double memory_of(const MachineDescription& machine) {
  double devices = 0;
  double ram = 0;
  for (const NodeDescription& node : machine.nodes) {
    if (!node.limit) continue;
    if (node.kind == NodeKind::device) devices += static_cast<double>(node.limit->value);
    if (node.kind == NodeKind::ram) ram += static_cast<double>(node.limit->value);
  }
  return devices > 0 ? devices : ram;
}

machine::MachineModel machine_of(const Point& point) {
  return machine::load_machine(
      point.machine,
      {.gpus = point.gpus, .cpu_workers = point.cpus, .gpu_memory = point.gpu_memory});
}

Measures measure(const Point& point, graph::Graph graph) {
  if (point.application.empty()) return measure_broadcast(point);
  if (point.bottom_levels) graph::set_bottom_level_priorities(graph);
  if (point.results_anew) graph = with_results_anew(graph);
  if (point.on_ranks.ranks > 0) return measure_on_ranks(point, std::move(graph));
  if (point.on_disk) {
    for (std::size_t d = 0; d < graph.data().size(); ++d) graph.set_home(d, NodeKind::disk);
  }
  const machine::MachineModel machine = machine_of(point);
  const reports::RunBounds bounds = reports::play_bounds(graph, machine);
  Options options = options_of(point.policy);
  options.memory_rules = point.memory_rules;
  options.look_ahead = point.look_ahead;
  hint_as_starpu(graph, point.memory_rules);
  const play::Played played = play::play(graph, machine, options);

  Measures measures;
  measures.seconds = (played.after.now - played.before.now).seconds();
  measures.flops = graph.flops();
  add_bytes(measures, machine.description, played.last);
  for (const auto& datum : graph.data()) {
    if (datum.home) measures.working_set += static_cast<double>(datum.bytes.value);
  }
  measures.memory = memory_of(machine.description);
  measures.least_seconds = std::max(bounds.work_seconds, bounds.area_seconds);
  measures.bus_bytes = bus_rate(machine.description) * measures.least_seconds;
  measures.formula_bytes = static_cast<double>(bounds.formula_in.value);
  measures.least_bytes = static_cast<double>(bounds.bytes_in().value);
  return measures;
}

OrderedRun order_of(const OrderView& view, const OrderRun& run, Effort effort, graph::Graph graph) {
  const auto which = static_cast<std::size_t>(effort);
  if (run.bottom_levels) graph::set_bottom_level_priorities(graph);
  const machine::MachineModel machine = machine::load_machine(
      std::string(view.machine), {.gpus = run.gpus, .gpu_memory = view.gpu_memory[which]});
  Options options = options_of(run.policy);
  options.memory_rules = run.memory_rules;
  const std::vector<play::Ended> ends = play::ends_in_order(graph, machine, options);

  // Each task writes one tile; the n-th that does so belongs to the n-th step of the factorisation.
  std::vector<std::uint32_t> steps(graph.tasks().size());
  std::vector<std::uint32_t> written(graph.data().size());
  std::vector<std::uint32_t> tile_of(graph.tasks().size());
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    for (const auto& access : graph.accesses_of(graph.tasks()[t])) {
      if (access.mode == AccessMode::R) continue;
      tile_of[t] = access.datum;
      steps[t] = written[access.datum]++;
    }
  }
  OrderedRun ordered{.name = std::string(run.name),
                     .capacity = view.gpu_memory[which].value / graph.data().front().bytes.value,
                     .colour = view.colour[which],
                     .tasks = {}};
  for (std::size_t place = 0; place < ends.size(); ++place) {
    const std::size_t t = ends[place].task;
    const auto [row, column] = position(graph.data_name(tile_of[t]));
    OrderedTask task{.place = place,
                     .worker = ends[place].worker.value,
                     .step = steps[t],
                     .row = row,
                     .column = column};
    for (const auto& access : graph.accesses_of(graph.tasks()[t])) {
      if (access.datum != tile_of[t]) task.tiles.push_back(access.datum);
    }
    task.tiles.push_back(tile_of[t]);
    ordered.tasks.push_back(std::move(task));
  }
  return ordered;
}

}  // namespace vicinal::reproduction
