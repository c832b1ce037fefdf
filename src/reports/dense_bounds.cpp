#include "reports/dense_bounds.hpp"

#include <algorithm>

#include "bounds/bounds.hpp"
#include "bounds/dense.hpp"
#include "bounds/graph_bounds.hpp"
#include "bounds/tiles.hpp"
#include "reports/bounds_report.hpp"

namespace vicinal::reports {

namespace {

// Time in kernels. Tasks on the smaller tiles at the edge are counted by their flops at the rate of
// gemm, which is the fastest.
double kernel_seconds(const CholeskyWork& work) {
  const std::uint64_t whole = work.order / work.tile;  // tiles in a row that are whole
  const auto n = static_cast<double>(whole);
  const auto b = static_cast<double>(work.tile);
  const double pairs = n * (n - 1) / 2;
  const double triples = n * (n - 1) * (n - 2) / 6;
  const double seconds = n * work.potrf + pairs * (work.trsm + work.syrk) + triples * work.gemm;
  const double edge_flops = std::max(0.0, work.flops - n * n * n * b * b * b / 3);
  return whole * work.tile == work.order ? seconds
                                         : seconds + edge_flops * work.gemm / (2 * b * b * b);
}

// The longer of two chains over the whole tiles: along the diagonal,
//   n potrf + (n - 1) (trsm + syrk),
// and into the last row, potrf(0), then trsm and gemm from column to column, trsm, syrk, potrf:
//   2 potrf + (n - 1) trsm + (n - 2) gemm + syrk.
double path_seconds(const CholeskyWork& work) {
  const std::uint64_t whole = work.order / work.tile;
  const auto n = static_cast<double>(whole);
  if (n < 2) return n * work.potrf;
  const double diagonal = n * work.potrf + (n - 1) * (work.trsm + work.syrk);
  const double last_row = 2 * work.potrf + (n - 1) * work.trsm + (n - 2) * work.gemm + work.syrk;
  return std::max(diagonal, last_row);
}

struct Limited {
  bool everywhere = true;  // every worker computes from a limited memory
  Bytes largest;
  Bytes all;
  Bytes resident;
  std::uint32_t count = 0;
};

Limited limited_memories(const MachineDescription& machine, const Statistics& before) {
  Limited limited;
  for (const WorkerDescription& worker : machine.workers) {
    limited.everywhere = limited.everywhere && machine.nodes[worker.node.value].limit.has_value();
  }
  for (std::size_t n = 0; n < machine.nodes.size(); ++n) {
    // The space for what does not fit may be limited too, but no task computes there.
    if (!machine.nodes[n].limit || machine.nodes[n].kind == NodeKind::disk) continue;
    limited.largest = std::max(limited.largest, *machine.nodes[n].limit);
    limited.all += *machine.nodes[n].limit;
    limited.resident += before.nodes[n].resident;
    ++limited.count;
  }
  return limited;
}

// Of the links into limited memories together; 0 if one is not known.
BytesPerSecond load_rate(const MachineDescription& machine) {
  BytesPerSecond rate;
  for (const LinkDescription& link : machine.links) {
    const NodeDescription& to = machine.nodes[link.to.value];
    if (!to.limit || to.kind == NodeKind::disk) continue;
    if (link.bandwidth.value <= 0) return {0};
    rate.value += link.bandwidth.value;
  }
  return rate;
}

// Of the tasks on whole tiles.
Bytes whole_tile_loads(const CholeskyWork& work, bounds::LimitedMemory memory) {
  using enum bounds::TileKernel;
  const std::uint64_t whole = work.order / work.tile;
  const Bytes tile = work.element * (work.tile * work.tile);
  const bounds::SplitTiles split(bounds::tile_work(cholesky, whole, whole),
                                 memory.each.value / tile.value, memory.count);
  return bounds::tile_loads(split, tile).value;
}

Bytes difference(Bytes a, Bytes b) {
  return a > b ? a - b : Bytes{0};
}

// What is there at the beginning need not be loaded; the links carry the rest.
void subtract_resident(RunBounds& bounds, const Limited& limited,
                       const MachineDescription& machine) {
  bounds.compulsory_in = difference(bounds.compulsory_in, limited.resident);
  bounds.proved_in = difference(bounds.proved_in, limited.resident);
  bounds::BytesBound loads;
  loads.value = bounds.bytes_in();
  bounds.transfer_seconds = bounds::transfer_bound(loads, load_rate(machine)).value.seconds();
}

}  // namespace

RunBounds cholesky_bounds(const CholeskyWork& work, const MachineDescription& machine,
                          const Statistics& before) {
  RunBounds bounds;
  const auto workers = static_cast<std::uint32_t>(machine.workers.size());
  const double seconds = kernel_seconds(work);
  if (seconds > 0) {
    bounds.work_seconds =
        bounds::work_bound(work.flops, workers, {work.flops / seconds}).value.seconds();
  }
  bounds.path_seconds = path_seconds(work);

  const Limited limited = limited_memories(machine, before);
  if (!limited.everywhere || limited.count == 0) return bounds;
  const bounds::LimitedMemory memory{limited.largest, limited.count};
  const bounds::BytesBound loads = bounds::cholesky_loads(work.order, work.element, memory);
  bounds.compulsory_in = work.matrix;
  bounds.proved_in = std::max(loads.value, whole_tile_loads(work, memory));
  bounds.formula_in = loads.leading;
  bounds.compulsory_out = difference(work.matrix, limited.all);
  subtract_resident(bounds, limited, machine);
  return bounds;
}

RunBounds bounds_of_filled(graph::Graph graph, const MachineDescription& machine,
                           const std::vector<std::array<double, kProcessorKinds>>& seconds,
                           const Statistics& before) {
  const Limited limited = limited_memories(machine, before);
  const bool all_limited = limited.everywhere && limited.count > 0;
  const NodeKind home = all_limited && machine.disk() ? NodeKind::disk : NodeKind::ram;
  for (std::size_t d = 0; d < graph.data().size(); ++d) graph.set_home(d, home);
  const RunBounds all = run_bounds(bounds::graph_bounds(graph, machine, seconds));
  RunBounds bounds;
  if (all_limited) {
    bounds = all;
    subtract_resident(bounds, limited, machine);
  }
  bounds.work_seconds = all.work_seconds;
  bounds.area_seconds = all.area_seconds;
  bounds.path_seconds = all.path_seconds;
  return bounds;
}

}  // namespace vicinal::reports
