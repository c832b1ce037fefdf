#include "graphs/task_names.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace vicinal::graphs {

namespace {

using graph::Graph;

// Kernels of these have as many indices as operands.
constexpr std::array<std::string_view, 3> kNamed{"cholesky", "lu", "gemm3d"};

// Empty: an operand is no tile.
std::string name_of(const Graph& graph, const Graph::Task& task) {
  const std::span<const Graph::Access> accesses = graph.accesses_of(task);
  const auto read = graph.tile(accesses.front().datum);
  const auto written = graph.tile(accesses.back().datum);
  if (!read || !written) return {};
  return task_name(graph.kernels()[task.kernel].name, accesses.size(), written->row,
                   written->column, read->column);
}

}  // namespace

std::string task_name(std::string_view kernel, std::size_t indices, std::uint32_t i,
                      std::uint32_t j, std::uint32_t k) {
  if (indices == 1) return fmt::format("{}({})", kernel, k);
  if (indices == 3) return fmt::format("{}({},{},{})", kernel, i, j, k);
  // syrk writes a tile on the diagonal.
  return fmt::format("{}({},{})", kernel, i, i == j ? k : j);
}

void name_tasks(Graph& graph) {
  if (std::ranges::find(kNamed, graph.application().name) == kNamed.end()) return;
  if (graph.has_task_names()) return;
  for (std::size_t task = 0; task < graph.tasks().size(); ++task) {
    graph.name_task(task, name_of(graph, graph.tasks()[task]));
  }
}

}  // namespace vicinal::graphs
