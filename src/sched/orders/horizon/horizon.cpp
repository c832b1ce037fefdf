#include "sched/orders/horizon/horizon.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "sched/orders/horizon/blocks.hpp"
#include "sched/orders/horizon/deal.hpp"
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

std::vector<Variant> variants(bool several) {
  // Smaller blocks are dealt more evenly.
  if (several) {
    return {{Family::writers, false, {0.15, 0.3, 0.5, 0.9}},
            {Family::writers, true, {0.15, 0.3, 0.5, 0.9}},
            {Family::tasks, false, {0.3, 1}}};
  }
  return {{Family::writers, false, {0.5, 0.7, 0.9, 1.1}},
          {Family::writers, true, {0.5, 0.7, 0.9, 1.1}},
          {Family::readers, false, {0.6, 1}},
          {Family::tasks, false, {1, 1.5}}};
}

// A memory without a limit has all the bytes that there can be.
std::uint64_t part_of(std::uint64_t bytes, double part) {
  constexpr double kMost = 0x1p63;
  return static_cast<std::uint64_t>(std::min(part * static_cast<double>(bytes), kMost));
}

std::vector<Placed> in_one_memory(const std::vector<Number>& order) {
  std::vector<Placed> placed;
  placed.reserve(order.size());
  for (const Number task : order) placed.push_back({task, 0});
  return placed;
}

}  // namespace

Planned best_plan(const PlanGraph& graph, const Memories& memories) {
  Memories planned = memories;
  planned.bytes = part_of(memories.bytes, 1 - kReserve);
  Planned best;
  for (Number task = 0; task < graph.tasks(); ++task) best.order.push_back({task, 0});
  best.cost = cost_of(graph, best.order, planned);
  for (const Variant& variant : variants(memories.count > 1)) {
    const Units units = units_of(graph, variant.family);
    for (const double size : variant.sizes) {
      const Blocks blocks = grow_blocks(graph, units,
                                        {.capacity = part_of(memories.bytes, size),
                                         .counts_bytes = variant.family == Family::tasks,
                                         .squares_users = variant.squares_users});
      for (std::uint32_t count = 1; count <= memories.count; ++count) {
        planned.count = count;
        std::vector<Placed> order =
            count == 1 ? in_one_memory(blocks.order) : deal(graph, blocks, planned);
        const Cost cost = cost_of(graph, order, planned);
        if (cost.time < best.cost.time) best = {std::move(order), cost};
      }
    }
  }
  return best;
}

}  // namespace vicinal::sched::orders::horizon
