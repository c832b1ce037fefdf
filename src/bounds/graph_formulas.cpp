// Which formula of src/bounds/dense.hpp belongs to a graph.
#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "bounds/graph_borders.hpp"
#include "bounds/recognise.hpp"

namespace vicinal::bounds {

namespace {

// What comes into being without a load, as often as it does: tasks overwrite it, or it has no content
// at the start.
Bytes created_bytes(const graph::Graph& graph) {
  std::vector<bool> seen(graph.data().size(), false);
  Bytes created;
  for (const graph::Graph::Task& task : graph.tasks()) {
    for (const auto& [d, mode] : graph.accesses_of(task)) {
      if (mode == AccessMode::scratch) continue;
      const bool first = !seen[d] && !graph.data()[d].home;
      if (first || mode == AccessMode::W) created += graph.data()[d].bytes;
      seen[d] = true;
    }
  }
  return created;
}

Bytes less(Bytes a, Bytes b) {
  return a > b ? a - b : Bytes{0};
}

// A formula counts that as loads. Gemm and syrk that overwrite C have allowed for C.
BytesBound less_created(BytesBound loads, Bytes created, Bytes allowed_for) {
  loads.value = less(loads.value, less(created, allowed_for));
  return loads;
}

BytesBound larger(const BytesBound& a, const BytesBound& b) {
  BytesBound bound = b.value > a.value ? b : a;
  bound.leading = std::max(a.leading, b.leading);
  return bound;
}

// With what its inner tasks need in whole tiles, if that is more.
Formula with_tiles(Formula formula, const TileWork& work, LimitedMemory memory) {
  if (formula.tile.value == 0) return formula;
  formula.split.emplace(work, memory.each.value / formula.tile.value, memory.count);
  BytesBound tiles = tile_loads(*formula.split, formula.tile);
  tiles.value = less(tiles.value, formula.free);
  tiles.name = formula.loads.name;
  formula.loads = larger(formula.loads, tiles);
  return formula;
}

// Of QR by tiles of A. What tasks write first stands beside them and is not counted. No formula is known for the inner
// tasks of binary trees.
Formula qr_formula(const graph::Graph& graph, const graph::DenseShape& shape,
                   LimitedMemory memory) {
  const bool is_flat =
      std::ranges::count(graph.kernels(), "tsmqr", &graph::Graph::Kernel::name) > 0;
  const Bytes square = shape.element * (shape.tile * shape.tile);
  const BytesBound loads = qr_loads(shape.tiles * shape.tile, shape.element, memory);
  std::vector<bool> seen(graph.data().size(), false);
  Bytes created;
  for (const graph::Graph::Access& access : graph.accesses()) {
    const graph::Graph::Datum& datum = graph.data()[access.datum];
    const bool is_first = !seen[access.datum];
    seen[access.datum] = true;
    if (is_first && access.mode != AccessMode::W && !datum.home) created += datum.bytes;
  }
  const BytesBound matrix = less_created(loads, created, {});
  if (!is_flat) return {matrix, {}, {}, {}};
  return with_tiles({matrix, {}, square, created},
                    tile_work(TileKernel::lu, shape.tiles, shape.tiles), memory);
}

}  // namespace

Formula formula_of(const graph::Graph& graph, LimitedMemory memory) {
  // They count no private copies, which are made without a load.
  if (!graph.reductions().empty()) return {};
  const auto& said = graph.application().dense;
  const auto dense =
      said ? std::optional(DenseKernel{graph.application().name, *said}) : recognise(graph);
  if (!dense) return {};
  const auto& [tiles, tile, depth, element] = dense->shape;
  const std::uint64_t n = tiles * tile;
  const std::uint64_t k = depth == 0 ? n : depth;
  const std::string_view name = dense->name;
  const Bytes created = created_bytes(graph);
  const Bytes square = element * (tile * tile);
  if (name == "cholesky" || name == "lu") {
    const bool lu = name == "lu";
    const BytesBound loads = lu ? lu_loads(n, element, memory) : cholesky_loads(n, element, memory);
    const auto kernel = lu ? TileKernel::lu : TileKernel::cholesky;
    return with_tiles({less_created(loads, created, {}), {}, square, created},
                      tile_work(kernel, tiles, tiles), memory);
  }
  if (name == "qr") return qr_formula(graph, dense->shape, memory);
  const AccessMode c = created.value > 0 ? AccessMode::W : AccessMode::RW;
  const std::uint64_t steps = k / tile;  // whole tiles
  if (name == "syrk") {
    const BytesBound loads =
        less_created(syrk_loads({n, k, c}, element, memory), created, element * (n * (n + 1) / 2));
    return with_tiles({loads, {}, square, created}, tile_work(TileKernel::syrk, tiles, steps),
                      memory);
  }
  if (name != "gemm2d" && name != "gemm3d") return {};
  const BytesBound gemm =
      less_created(gemm_loads({n, n, k, c}, element, memory), created, element * (n * n));
  if (name == "gemm3d") {
    return with_tiles({gemm, {}, square, created}, tile_work(TileKernel::gemm, tiles, steps),
                      memory);
  }
  // A task reads a block row of A and a block column of B, whole. C is not among the blocks.
  const Bytes block = element * (tile * k);
  const Bytes blocks = less(created, element * (n * n));
  const BytesBound grid = less_created(grid_loads(tiles, block, memory), blocks, {});
  return with_tiles({larger(gemm, grid), {}, block, blocks}, tile_work(TileKernel::grid, tiles, 1),
                    memory);
}

}  // namespace vicinal::bounds
