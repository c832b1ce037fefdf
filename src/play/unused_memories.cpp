#include "play/unused_memories.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/legible.hpp"
#include "base/text.hpp"
#include "graph/kernel_times.hpp"

namespace vicinal::play {

namespace {

constexpr std::uint64_t kPageBytes = 4096;  // replicas are padded to pages

struct SmallestTask {
  std::size_t task = 0;
  Bytes bytes{std::numeric_limits<std::uint64_t>::max()};
};

Bytes working_set(const graph::Graph& graph, const graph::Graph::Task& task) {
  Bytes sum;
  for (const graph::Graph::Access& access : graph.accesses_of(task)) {
    sum +=
        Bytes{(graph.data()[access.datum].bytes.value + kPageBytes - 1) / kPageBytes * kPageBytes};
  }
  return sum;
}

// By kind of processor, of the tasks that one can run; without a value: it runs none.
std::array<std::optional<SmallestTask>, kProcessorKinds> smallest_tasks(
    const graph::Graph& graph, const machine::MachineModel& machine) {
  const graph::KernelSeconds seconds = graph::kernel_seconds(graph, machine);
  std::array<std::optional<SmallestTask>, kProcessorKinds> smallest;
  for (std::size_t t = 0; t < graph.tasks().size(); ++t) {
    const graph::Graph::Task& task = graph.tasks()[t];
    const Bytes bytes = working_set(graph, task);
    for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
      if (seconds[task.kernel][kind] <= 0) continue;
      if (!smallest[kind] || bytes < smallest[kind]->bytes) smallest[kind] = SmallestTask{t, bytes};
    }
  }
  return smallest;
}

std::string name_of(const graph::Graph& graph, std::size_t task) {
  const std::string_view own = graph.task_name(task);
  return base::legible_name(own.empty() ? graph.kernels()[graph.tasks()[task].kernel].name : own);
}

}  // namespace

std::vector<std::string> unused_memories(const graph::Graph& graph,
                                         const machine::MachineModel& machine) {
  const auto smallest = smallest_tasks(graph, machine);
  const std::vector<NodeDescription>& nodes = machine.description.nodes;
  struct Alike {
    std::string first;
    std::size_t more = 0;
    Bytes limit;
    SmallestTask task;
  };
  std::vector<Alike> found;
  std::vector<bool> seen(nodes.size());
  bool any_used = false;
  for (const WorkerDescription& worker : machine.description.workers) {
    const std::size_t node = worker.node.value;
    const auto& task = smallest[static_cast<std::size_t>(worker.kind)];
    if (node >= nodes.size() || seen[node] || !task) continue;
    seen[node] = true;
    if (!nodes[node].limit || task->bytes <= *nodes[node].limit) {
      any_used = true;
      continue;
    }
    const Bytes limit = *nodes[node].limit;
    const auto alike = std::ranges::find(found, limit, &Alike::limit);
    if (alike == found.end()) {
      found.push_back({nodes[node].name, 0, limit, *task});
    } else {
      ++alike->more;
    }
  }
  std::vector<std::string> sentences;
  if (!any_used) return sentences;
  for (const Alike& one : found) {
    sentences.push_back(fmt::format(
        "no task fits in the memory of {}{}, {} bytes, so its workers stand still: the smallest, "
        "{}, needs {} bytes "
        "({}); give it more memory, or take smaller data",
        base::legible_name(one.first),
        one.more == 0 ? "" : fmt::format(" (and {} like it)", one.more), one.limit.value,
        name_of(graph, one.task.task), one.task.bytes.value, base::format_bytes(one.task.bytes)));
  }
  return sentences;
}

}  // namespace vicinal::play
