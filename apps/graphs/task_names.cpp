#include "graphs/task_names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace vicinal::graphs {

namespace {

using graph::Graph;

// Kernels of these have as many indices as operands.
constexpr std::array<std::string_view, 3> kNamed{"cholesky", "lu", "gemm3d"};

// After linalg::Application::task_name. Empty: an operand is no tile.
std::string name_of(const Graph& graph, const Graph::Task& task) {
  const std::span<const Graph::Access> accesses = graph.accesses_of(task);
  const auto read = graph.tile(accesses.front().datum);
  const auto written = graph.tile(accesses.back().datum);
  if (!read || !written) return {};
  const std::string& kernel = graph.kernels()[task.kernel].name;
  const std::uint32_t i = written->row;
  const std::uint32_t j = written->column;
  const std::uint32_t k = read->column;
  if (accesses.size() == 1) return fmt::format("{}({})", kernel, k);
  if (accesses.size() == 3) return fmt::format("{}({},{},{})", kernel, i, j, k);
  return fmt::format("{}({},{})", kernel, i, i == j ? k : j);
}

}  // namespace

void name_tasks(Graph& graph) {
  if (std::ranges::find(kNamed, graph.application().name) == kNamed.end()) return;
  if (graph.has_task_names()) return;
  for (std::size_t task = 0; task < graph.tasks().size(); ++task) {
    graph.name_task(task, name_of(graph, graph.tasks()[task]));
  }
}

}  // namespace vicinal::graphs
