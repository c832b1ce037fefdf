#include "play/play.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "graph/last_uses.hpp"
#include "memory/rules.hpp"
#include "play/graph_codelets.hpp"
#include "play/tile_advice.hpp"
#include "vicinal/error.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::play {

namespace {

// By datum: it is a part of another.
std::vector<bool> parts_of(const graph::Graph& graph) {
  std::vector<bool> is_part(graph.data().size());
  for (const auto& [whole, first, count] : graph.partitions()) {
    std::fill_n(is_part.begin() + first, count, true);
  }
  return is_part;
}

// A part may be in parts itself: wholes come first.
void divide(Runtime& runtime, const graph::Graph& graph, std::vector<Handle>& handles) {
  std::vector<graph::Graph::Partition> partitions(graph.partitions().begin(),
                                                  graph.partitions().end());
  std::ranges::sort(partitions, {}, &graph::Graph::Partition::whole);
  for (const auto& [whole, first, count] : partitions) {
    const Parts parts = runtime.partition(
        handles[whole], [&, first = first, count = count](const Layout& /*whole*/) {
          Division division;
          std::uint64_t at = 0;
          for (std::uint32_t part = first; part < first + count; ++part) {
            const std::uint64_t bytes = graph.data()[part].bytes.value;
            division.blocks.push_back({.row = at, .column = 0, .rows = bytes, .columns = 1});
            at += bytes;
          }
          return division;
        });
    for (std::size_t i = 0; i < parts.size(); ++i) handles[first + i] = parts[i];
  }
}

std::vector<Handle> fill_data(Runtime& runtime, const graph::Graph& graph) {
  Codelet fill{.name = std::string(kFill)};
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
  const std::vector<bool> is_part = parts_of(graph);
  for (const graph::Graph::Datum& datum : graph.data()) {
    if (is_part[handles.size()]) {
      handles.emplace_back();
      continue;
    }
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
  const std::vector<bool> is_part = parts_of(graph);
  for (const graph::Graph::Datum& datum : graph.data()) {
    std::string name = base::legible_name(graph.data_name(handles.size()));
    if (is_part[handles.size()]) {
      handles.emplace_back();
    } else if (!datum.home) {
      handles.push_back(runtime.register_empty(datum.bytes, std::move(name)));
    } else if (datum.home == NodeKind::disk && !disk) {
      throw UsageError("data " + name +
                       ": its home is the disk, which this machine does not have; choose another "
                       "machine or \"home\": \"ram\"");
    } else {
      handles.push_back(runtime.register_simulated(
          datum.bytes, datum.home == NodeKind::disk ? *disk : kRam, std::move(name)));
    }
  }
  return handles;
}

void set_reductions(Runtime& runtime, const graph::Graph& graph,
                    const std::vector<Codelet>& codelets, const std::vector<Handle>& handles) {
  for (const auto& [datum, neutral, combine] : graph.reductions()) {
    runtime.set_reduction(handles[datum],
                          {.neutral = &codelets[neutral], .combine = &codelets[combine]});
  }
}

// Advises for each tile of a dense graph the node that a dense application would advise.
void advise_tiles(Runtime& runtime, const graph::Graph& graph, const std::vector<Handle>& handles) {
  const TileAdvice advice(runtime.machine(), {}, {});
  for (std::size_t d = 0; d < handles.size(); ++d) {
    const auto tile = graph.tile(d);
    const auto node = tile ? advice.node(tile->row, tile->column) : std::nullopt;
    if (node) runtime.advise(handles[d], node);
  }
}

// `on_end` outlives the tasks.
std::function<void(Outcome)> end_of(std::size_t task,
                                    const std::function<void(std::size_t)>& on_end) {
  if (!on_end) return {};
  return [task, &on_end](Outcome /*done*/) { on_end(task); };
}

// Behind all tasks: a hint makes a planning policy pass on all tasks known so far.
void hint_wont_use(Runtime& runtime, const graph::Graph& graph, const std::vector<Handle>& handles,
                   const std::vector<std::size_t>& last_use) {
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    for (const auto& access : graph.accesses_of(graph.tasks()[t])) {
      if (last_use[access.datum] != t || access.mode == AccessMode::scratch) continue;
      runtime.wont_use(handles[access.datum]);
    }
  }
}

void submit_tasks(Runtime& runtime, const graph::Graph& graph, const std::vector<Codelet>& codelets,
                  const std::vector<Handle>& handles, const memory::Rules& rules,
                  const std::function<void(std::size_t)>& on_end = {}) {
  const std::vector<std::size_t> last = graph::last_uses(graph);
  const bool hints = graph.application().hints_wont_use && rules.hint;
  std::vector<bool> is_temporary =
      rules.any() ? std::vector<bool>(last.size()) : graph::temporaries_of(graph);
  std::vector<TaskId> ids;  // none where no task names others
  std::vector<TaskId> after;
  std::vector<Operand> operands;
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    const graph::Graph::Task& task = graph.tasks()[t];
    operands.clear();
    for (const auto& access : graph.accesses_of(task)) {
      if (access.mode == AccessMode::scratch) {
        operands.push_back(Scratch(graph.data()[access.datum].bytes));
      } else {
        operands.push_back({handles[access.datum], access.mode});
      }
    }
    after.clear();
    for (const auto before : graph.predecessors_of(t)) after.push_back(ids[before]);
    const TaskId id = runtime.submit({.codelet = &codelets[task.kernel],
                                      .operands = operands,
                                      .priority = task.priority,
                                      .after = after,
                                      .on_end = end_of(t, on_end),
                                      .name = std::string(graph.task_name(t))});
    if (graph.has_predecessors()) ids.push_back(id);
    for (const auto& access : graph.accesses_of(task)) {
      if (last[access.datum] != t || access.mode == AccessMode::scratch) continue;
      if (!is_temporary[access.datum]) continue;
      runtime.invalidate(handles[access.datum]);
      is_temporary[access.datum] = false;  // a task may name it twice
    }
  }
  if (hints) hint_wont_use(runtime, graph, handles, last);
  // They belong to the run, though no task comes behind them.
  for (const auto& reduction : graph.reductions()) runtime.combine(handles[reduction.datum]);
}

}  // namespace

StartingPlace starting_place(const graph::Graph& graph, const MachineDescription& machine) {
  const bool is_limited = machine.nodes[kRam.value].limit.has_value();
  const bool any_on_disk = std::ranges::any_of(
      graph.data(), [](const auto& datum) { return datum.home == NodeKind::disk; });
  return is_limited && machine.disk() && !any_on_disk ? StartingPlace::filled
                                                      : StartingPlace::homes;
}

Played play(const graph::Graph& graph, const machine::MachineModel& machine, const Options& options,
            double scale, StartingPlace place, const Hooks& hooks) {
  const auto started = std::chrono::steady_clock::now();
  const std::vector<Codelet> codelets = codelets_of(graph, machine, scale);
  Played played;
  {
    Runtime runtime(machine.description, options);
    if (hooks.begun) hooks.begun(runtime);
    std::vector<Handle> handles =
        place == StartingPlace::filled ? fill_data(runtime, graph) : register_data(runtime, graph);
    divide(runtime, graph, handles);
    set_reductions(runtime, graph, codelets, handles);
    if (follows_advice(options.policy)) advise_tiles(runtime, graph, handles);
    played.before = runtime.statistics();
    submit_tasks(runtime, graph, codelets, handles, memory::parse_rules(options.memory_rules));
    runtime.wait();
    played.after = runtime.statistics();
    const std::vector<bool> is_part = parts_of(graph);
    for (std::size_t d = 0; d < handles.size(); ++d) {
      if (!is_part[d]) runtime.unregister(handles[d]);
    }
    played.last = runtime.statistics();
    if (hooks.ended) hooks.ended(runtime, played);
  }
  played.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return played;
}

// A task counts among those of its worker only after its on_end. So whose count has grown since is the worker of the
// task that ended before, and one more look is needed at the end.
std::vector<Ended> ends_in_order(const graph::Graph& graph, const machine::MachineModel& machine,
                                 const Options& options) {
  if (!graph.reductions().empty()) {
    throw std::invalid_argument(
        "the order of the ends of tasks that reduce is not told apart from "
        "that of the combinations: give a graph without reductions");
  }
  const std::vector<Codelet> codelets = codelets_of(graph, machine, 1);
  Runtime runtime(machine.description, options);
  const std::vector<Handle> handles = register_data(runtime, graph);
  std::vector<Ended> ends;
  std::vector<std::uint64_t> counts(machine.description.workers.size());
  const auto note_worker = [&] {
    const Statistics statistics = runtime.statistics();
    for (std::size_t w = 0; w < counts.size(); ++w) {
      if (statistics.workers[w].tasks == counts[w]) continue;
      counts[w] = statistics.workers[w].tasks;
      ends.back().worker = WorkerId{static_cast<std::uint32_t>(w)};
    }
  };
  const std::function<void(std::size_t)> note_end = [&](std::size_t task) {
    if (!ends.empty()) note_worker();
    ends.push_back({task, {}});
  };
  submit_tasks(runtime, graph, codelets, handles, memory::parse_rules(options.memory_rules),
               note_end);
  runtime.wait();
  if (!ends.empty()) note_worker();
  return ends;
}

}  // namespace vicinal::play
