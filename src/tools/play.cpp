#include "tools/play.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/random.hpp"
#include "memory/rules.hpp"
#include "tools/graph_bounds.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::tools {

namespace {

bool has(const MachineDescription& machine, ProcessorKind kind) {
  for (const WorkerDescription& worker : machine.workers) {
    if (worker.kind == kind) return true;
  }
  return false;
}

std::vector<Codelet> codelets_of(const TaskGraph& graph, const machine::MachineModel& machine,
                                 double scale) {
  const KernelSeconds seconds = kernel_seconds(graph, machine);
  std::vector<Codelet> codelets(graph.kernels.size());
  for (std::size_t k = 0; k < codelets.size(); ++k) {
    const GraphKernel& kernel = graph.kernels[k];
    codelets[k].name = kernel.name;
    codelets[k].flops = kernel.flops;
    codelets[k].synchronous = kernel.synchronous || machine.is_synchronous(kernel.name);
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      if (seconds[k][kind] <= 0) continue;
      // Not less than a nanosecond, which says that it can run there.
      codelets[k].expected[kind] =
          std::max(Time{1}, Time::from_seconds(seconds[k][kind] * scale + 0.5e-9));
    }
  }
  return codelets;
}

std::vector<Handle> fill_data(Runtime& runtime, const TaskGraph& graph) {
  Codelet fill{.name = "fill"};
  fill.expected.fill(Time{1000});
  std::vector<Handle> handles;
  handles.reserve(graph.data.size());
  for (const GraphDatum& datum : graph.data) {
    handles.push_back(runtime.register_empty(datum.bytes, datum.name));
    if (datum.has_home) runtime.submit({.codelet = &fill, .operands = {W(handles.back())}});
  }
  runtime.wait();
  return handles;
}

std::vector<Handle> register_data(Runtime& runtime, const TaskGraph& graph) {
  const std::optional<NodeId> disk = runtime.machine().disk();
  std::vector<Handle> handles;
  handles.reserve(graph.data.size());
  for (const GraphDatum& datum : graph.data) {
    if (!datum.has_home) {
      handles.push_back(runtime.register_empty(datum.bytes, datum.name));
      continue;
    }
    if (datum.home == NodeKind::disk && !disk) {
      throw UsageError("data " + datum.name +
                       ": its home is the disk, which this machine does not have; choose another "
                       "machine or \"home\": \"ram\"");
    }
    handles.push_back(runtime.register_simulated(
        datum.bytes, datum.home == NodeKind::disk ? *disk : kRam, datum.name));
  }
  return handles;
}

void submit_tasks(Runtime& runtime, const TaskGraph& graph, const std::vector<Codelet>& codelets,
                  const std::vector<Handle>& handles, bool hints) {
  std::vector<std::size_t> last_use(graph.data.size());
  for (std::size_t t = 0; hints && t < graph.tasks.size(); ++t) {
    for (const GraphAccess& access : graph.accesses_of(graph.tasks[t])) last_use[access.datum] = t;
  }
  std::vector<Operand> operands;
  for (std::size_t t = 0; t < graph.tasks.size(); ++t) {
    const GraphTask& task = graph.tasks[t];
    operands.clear();
    for (const GraphAccess& access : graph.accesses_of(task)) {
      operands.push_back({handles[access.datum], access.mode});
    }
    runtime.submit({.codelet = &codelets[task.kernel],
                    .operands = operands,
                    .priority = task.priority,
                    .name = task.name});
    if (!hints) continue;
    for (const GraphAccess& access : graph.accesses_of(task)) {
      if (last_use[access.datum] == t) runtime.wont_use(handles[access.datum]);
    }
  }
}

}  // namespace

KernelSeconds kernel_seconds(const TaskGraph& graph, const machine::MachineModel& machine) {
  KernelSeconds all(graph.kernels.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    const GraphKernel& kernel = graph.kernels[k];
    bool runs = false;
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      const auto processor = static_cast<ProcessorKind>(kind);
      if (!has(machine.description, processor)) continue;
      double seconds = kernel.seconds[kind];
      if (seconds <= 0) {
        seconds = machine.seconds(kernel.name, graph.precision, kernel.flops, processor, graph.name)
                      .value_or(0);
      }
      all[k][kind] = seconds;
      runs |= seconds > 0;
    }
    if (!runs) {
      throw UsageError(
          fmt::format("kernel {}: neither the graph nor machine {} says how long it "
                      "takes on a processor of the machine; give it \"seconds\", or "
                      "the machine file a speed for it",
                      kernel.name, machine.name));
    }
  }
  return all;
}

TaskGraph with_varied_times(TaskGraph graph, const machine::MachineModel& machine, double share,
                            std::uint64_t seed) {
  const KernelSeconds seconds = kernel_seconds(graph, machine);
  base::Random random(seed);
  std::vector<GraphKernel> kernels;
  kernels.reserve(graph.tasks.size());
  for (GraphTask& task : graph.tasks) {
    GraphKernel& kernel = kernels.emplace_back(graph.kernels[task.kernel]);
    const double factor = 1 + share * (2 * random.uniform() - 1);
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      kernel.seconds[kind] = seconds[task.kernel][kind] * factor;
    }
    task.kernel = static_cast<std::uint32_t>(kernels.size() - 1);
  }
  graph.kernels = std::move(kernels);
  return graph;
}

Played play(const TaskGraph& graph, const machine::MachineModel& machine, const Options& options,
            double scale, StartingPlace place) {
  const auto started = std::chrono::steady_clock::now();
  const std::vector<Codelet> codelets = codelets_of(graph, machine, scale);
  Played played;
  {
    Runtime runtime(machine.description, options);
    const std::vector<Handle> handles =
        place == StartingPlace::filled ? fill_data(runtime, graph) : register_data(runtime, graph);
    played.before = runtime.statistics();
    submit_tasks(runtime, graph, codelets, handles,
                 graph.gives_up_data && memory::parse_rules(options.memory_rules).hint);
    runtime.wait();
    played.after = runtime.statistics();
    for (const Handle handle : handles) runtime.unregister(handle);
    played.last = runtime.statistics();
  }
  played.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return played;
}

RunBounds play_bounds(const TaskGraph& graph, const machine::MachineModel& machine) {
  const KernelSeconds seconds = kernel_seconds(graph, machine);
  RunBounds bounds = run_bounds(graph_bounds(graph, machine.description, seconds));
  bounds.compulsory_out =
      graph_bounds(graph, machine.description, seconds, bounds::FinalPlace::outside).out.value;
  return bounds;
}

RunRecord play_record(const TaskGraph& graph, const machine::MachineModel& machine,
                      const Options& options, const RunBounds& bounds) {
  const Played played = play(graph, machine, options);
  Statistics whole = played.last;
  whole.now = played.after.now;
  whole.workers = played.after.workers;
  whole.tasks_done = played.after.tasks_done;
  RunRecord record = make_record(options.policy, machine.description, played.before, whole);
  record.flops = graph.flops();
  record.bounds = bounds;
  record.simulation =
      SimulationCost{played.wall_seconds, (whole.scheduling - played.before.scheduling).seconds()};
  return record;
}

}  // namespace vicinal::tools
