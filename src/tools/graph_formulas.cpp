// Which formula of src/bounds/dense.hpp belongs to a graph.
#include <vector>

#include "tools/graph_borders.hpp"

namespace vicinal::tools {

namespace {

using bounds::BytesBound;

// What comes into being without a load, as often as it does: tasks overwrite it, or it has no content
// at the start.
Bytes created_bytes(const TaskGraph& graph) {
  std::vector<bool> seen(graph.data.size(), false);
  Bytes created;
  for (const GraphTask& task : graph.tasks) {
    for (const auto& [d, mode] : graph.accesses_of(task)) {
      const bool first = !seen[d] && !graph.data[d].has_home;
      if (first || mode == AccessMode::W) created += graph.data[d].bytes;
      seen[d] = true;
    }
  }
  return created;
}

// A formula counts that as loads. Gemm and syrk that overwrite C have allowed for C.
BytesBound less_created(BytesBound loads, Bytes created, Bytes allowed_for) {
  const Bytes excess = created > allowed_for ? created - allowed_for : Bytes{0};
  loads.value = loads.value > excess ? loads.value - excess : Bytes{0};
  return loads;
}

BytesBound larger(const BytesBound& a, const BytesBound& b) {
  return b.value > a.value ? b : a;
}

}  // namespace

BytesBound formula_loads(const TaskGraph& graph, bounds::LimitedMemory memory) {
  if (!graph.dense) return {};
  const auto& [tiles, tile, depth, element] = *graph.dense;
  const std::uint64_t n = tiles * tile;
  const std::uint64_t k = depth == 0 ? n : depth;
  const std::string& name = graph.name;
  const Bytes created = created_bytes(graph);
  if (name == "cholesky") {
    return less_created(bounds::cholesky_loads(n, element, memory), created, {});
  }
  if (name == "lu") return less_created(bounds::lu_loads(n, element, memory), created, {});

  const AccessMode c = created.value > 0 ? AccessMode::W : AccessMode::RW;
  if (name == "syrk") {
    return less_created(bounds::syrk_loads({n, k, c}, element, memory), created,
                        element * (n * (n + 1) / 2));
  }
  if (name != "gemm2d" && name != "gemm3d") return {};
  const BytesBound gemm =
      less_created(bounds::gemm_loads({n, n, k, c}, element, memory), created, element * (n * n));
  if (name == "gemm3d") return gemm;
  // A task reads a block row of A and a block column of B, whole.
  const Bytes block = element * (tile * k);
  return larger(gemm,
                less_created(bounds::grid_loads(tiles, block, memory), created, element * (n * n)));
}

}  // namespace vicinal::tools
