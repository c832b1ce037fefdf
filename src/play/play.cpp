#include "play/play.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "memory/rules.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::play {

namespace {

std::vector<Codelet> codelets_of(const graph::Graph& graph, const machine::MachineModel& machine,
                                 double scale) {
  const graph::KernelSeconds seconds = graph::kernel_seconds(graph, machine);
  std::vector<Codelet> codelets(graph.kernels().size());
  for (std::size_t k = 0; k < codelets.size(); ++k) {
    const graph::Graph::Kernel& kernel = graph.kernels()[k];
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

std::vector<Handle> fill_data(Runtime& runtime, const graph::Graph& graph) {
  Codelet fill{.name = "fill"};
  // Its code is that of a core, unless there is none.
  const bool cores = std::ranges::any_of(runtime.machine().workers, [](const auto& worker) {
    return worker.kind == ProcessorKind::cpu;
  });
  for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
    const auto processor = static_cast<ProcessorKind>(kind);
    const bool is_device = processor == ProcessorKind::opencl || processor == ProcessorKind::cuda;
    if (!cores || !is_device) fill.expected[kind] = Time{1000};
  }
  std::vector<Handle> handles;
  handles.reserve(graph.data().size());
  for (const graph::Graph::Datum& datum : graph.data()) {
    handles.push_back(
        runtime.register_empty(datum.bytes, std::string(graph.data_name(handles.size()))));
    if (datum.home) runtime.submit({.codelet = &fill, .operands = {W(handles.back())}});
  }
  runtime.wait();
  return handles;
}

std::vector<Handle> register_data(Runtime& runtime, const graph::Graph& graph) {
  const std::optional<NodeId> disk = runtime.machine().disk();
  std::vector<Handle> handles;
  handles.reserve(graph.data().size());
  for (const graph::Graph::Datum& datum : graph.data()) {
    std::string name(graph.data_name(handles.size()));
    if (!datum.home) {
      handles.push_back(runtime.register_empty(datum.bytes, std::move(name)));
      continue;
    }
    if (datum.home == NodeKind::disk && !disk) {
      throw UsageError("data " + name +
                       ": its home is the disk, which this machine does not have; choose another "
                       "machine or \"home\": \"ram\"");
    }
    handles.push_back(runtime.register_simulated(
        datum.bytes, datum.home == NodeKind::disk ? *disk : kRam, std::move(name)));
  }
  return handles;
}

// The last task that uses it, per datum.
std::vector<std::size_t> last_uses(const graph::Graph& graph) {
  std::vector<std::size_t> last(graph.data().size());
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    for (const auto& access : graph.accesses_of(graph.tasks()[t])) last[access.datum] = t;
  }
  return last;
}

void submit_tasks(Runtime& runtime, const graph::Graph& graph, const std::vector<Codelet>& codelets,
                  const std::vector<Handle>& handles, bool hints) {
  const std::vector<std::size_t> last = hints ? last_uses(graph) : std::vector<std::size_t>{};
  std::vector<TaskId> ids;  // none where no task names others
  std::vector<TaskId> after;
  std::vector<Operand> operands;
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    const graph::Graph::Task& task = graph.tasks()[t];
    operands.clear();
    for (const auto& access : graph.accesses_of(task)) {
      operands.push_back({handles[access.datum], access.mode});
    }
    after.clear();
    for (const auto before : graph.predecessors_of(t)) after.push_back(ids[before]);
    const TaskId id = runtime.submit({.codelet = &codelets[task.kernel],
                                      .operands = operands,
                                      .priority = task.priority,
                                      .after = after,
                                      .name = std::string(graph.task_name(t))});
    if (graph.has_predecessors()) ids.push_back(id);
    if (!hints) continue;
    for (const auto& access : graph.accesses_of(task)) {
      if (last[access.datum] == t) runtime.wont_use(handles[access.datum]);
    }
  }
}

}  // namespace

Played play(const graph::Graph& graph, const machine::MachineModel& machine, const Options& options,
            double scale, StartingPlace place) {
  const auto started = std::chrono::steady_clock::now();
  const std::vector<Codelet> codelets = codelets_of(graph, machine, scale);
  Played played;
  {
    Runtime runtime(machine.description, options);
    const std::vector<Handle> handles =
        place == StartingPlace::filled ? fill_data(runtime, graph) : register_data(runtime, graph);
    played.before = runtime.statistics();
    submit_tasks(
        runtime, graph, codelets, handles,
        graph.application().gives_up_data && memory::parse_rules(options.memory_rules).hint);
    runtime.wait();
    played.after = runtime.statistics();
    for (const Handle handle : handles) runtime.unregister(handle);
    played.last = runtime.statistics();
  }
  played.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return played;
}

}  // namespace vicinal::play
