#include "sched/orders/horizon/horizon.hpp"

#include <numeric>
#include <utility>

#include "sched/orders/horizon/blocks.hpp"
#include "sched/orders/horizon/units.hpp"

namespace vicinal::sched::orders::horizon {

namespace {

// Of the memory: left to copies that run ahead of the tasks.
constexpr double kReserve = 0.1;

struct Variant {
  Family family = Family::writers;
  bool squares_users = false;
  std::vector<double> sizes;  // of blocks, in memories
};

std::vector<Variant> variants() {
  return {{Family::writers, false, {0.5, 0.7, 0.9, 1.1}},
          {Family::writers, true, {0.5, 0.7, 0.9, 1.1}},
          {Family::readers, false, {0.6, 1}},
          {Family::tasks, false, {1, 1.5}}};
}

std::uint64_t part_of(std::uint64_t bytes, double part) {
  return static_cast<std::uint64_t>(part * static_cast<double>(bytes));
}

}  // namespace

Planned best_order(const PlanGraph& graph, const Memory& memory) {
  Memory planned = memory;
  planned.bytes = part_of(memory.bytes, 1 - kReserve);
  Planned best;
  best.order.resize(graph.tasks());
  std::iota(best.order.begin(), best.order.end(), Number{0});
  best.cost = cost_of(graph, best.order, planned);
  for (const Variant& variant : variants()) {
    const Units units = units_of(graph, variant.family);
    for (const double size : variant.sizes) {
      Blocks blocks = grow_blocks(graph, units,
                                  {.capacity = part_of(memory.bytes, size),
                                   .counts_bytes = variant.family == Family::tasks,
                                   .squares_users = variant.squares_users});
      const Cost cost = cost_of(graph, blocks.order, planned);
      if (cost.time < best.cost.time) best = {std::move(blocks.order), cost};
    }
  }
  return best;
}

}  // namespace vicinal::sched::orders::horizon
