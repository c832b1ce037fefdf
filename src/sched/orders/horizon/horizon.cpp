#include "sched/orders/horizon/horizon.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sched/orders/horizon/blocks.hpp"
#include "sched/orders/horizon/deal.hpp"
#include "sched/orders/horizon/list_schedule.hpp"
#include "sched/orders/horizon/moves.hpp"
#include "sched/orders/horizon/units.hpp"

namespace vicinal::sched::orders::horizon {

namespace {

// Bytes count beside the time, as this part of the time of their copies over one link, or over two where more of them can
// work at once: links are shared, and the model knows least about what runs beside copies.
constexpr double kBytesCount = 0.2;
constexpr double kLinks = 2;

// Where memory is short, copies beside tasks take so much longer than the model says, as a part: the data of a running task
// cannot leave, and data leave in their place that are used sooner.
constexpr double kCopiedAgain = 0.25;

struct Variant {
  Family family = Family::writers;
  double size = 1;  // of blocks, in memories
  double falls = 1;
  double owners_count = 0;
};

// For graphs in which the same data are written again and again, and for others. Chosen by greed, one after the other, as
// what lowers the geometric mean most over some 300 graphs: Cholesky, LU, QR, products of three kinds, a stencil,
// bipartite and layered random ones; memories of 50 to 320 tiles; copies of 1.2 to 4.3 tasks' time.
struct Kinds {
  std::vector<Variant> of_chains;
  std::vector<Variant> of_others;
};

Kinds kinds(bool several) {
  using enum Family;
  if (several) {
    return {{{writers, 0.4, 2, 0.01},
             {writers, 0.08, 0.5},
             {writers, 0.8, 2, 0.01},
             {writers, 0.95, 1.5},
             {writers, 0.65, 1},
             {writers, 0.4, 1.5},
             {writers, 0.3, 0.5, 0.01},
             {tasks, 0.5, 0.5},
             {writers, 0.22, 2},
             {writers, 0.3, 1},
             {writers, 0.5, 2},
             {writers, 0.15, 1}},
            {{tasks, 1.5, 0.5},
             {writers, 0.08, 2, 0.01},
             {writers, 0.8, 1},
             {writers, 0.22, 2, 0.01},
             {writers, 0.65, 2, 0.01},
             {readers, 0.7, 2},
             {writers, 0.4, 1, 0.01},
             {tasks, 0.08, 0.5}}};
  }
  return {{{writers, 0.9, 1},
           {writers, 0.6, 3},
           {writers, 0.75, 1},
           {writers, 0.95, 1},
           {writers, 0.9, 1.5, 0.03},
           {writers, 1, 3, 0.01},
           {writers, 0.4, 2, 0.01},
           {writers, 0.8, 2, 0.01},
           {tasks, 1.6, 0.5},
           {writers, 0.3, 3, 0.03},
           {writers, 0.6, 2, 0.01},
           {tasks, 1, 0.5},
           {writers, 0.95, 2, 0.03},
           {writers, 0.95, 3}},
          {{tasks, 1.3, 0.5},
           {tasks, 1.6, 0.5},
           {tasks, 1, 0.5},
           {writers, 0.5, 2, 0.01},
           {readers, 0.85, 0.5},
           {writers, 0.4, 0.5, 0.01},
           {tasks, 1, 1},
           {writers, 0.3, 1.5, 0.01},
           {tasks, 0.5, 2}}};
}

// What a variant adds is less than a task on each of many, what it costs is not.
constexpr std::size_t kFewest = 100;       // tasks are moved one by one,
constexpr std::size_t kMostMoved = 20000;  // so often that all moves look at so many uses and data
constexpr std::size_t kFewTasks = 3000;    // variants of all kinds are tried
constexpr std::size_t kManyTasks = 15000;  // above: few ones
constexpr std::size_t kFewVariants = 8;
// Of the one memory that may be better than several.
constexpr std::size_t kFewestVariants = 2;

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

std::vector<Number> as_numbered(const PlanGraph& graph) {
  std::vector<Number> order(graph.tasks());
  std::iota(order.begin(), order.end(), Number{0});
  return order;
}

// The longest path first: where all data fit, workers matter alone.
std::vector<Number> by_path(const PlanGraph& graph) {
  const std::vector<std::int64_t> left = paths_left(graph.successors, graph.durations);
  std::vector<Number> order = as_numbered(graph);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](Number task) { return left[task]; });
  return order;
}

// The first of the order is the most urgent.
std::vector<std::int64_t> urgency_of(const std::vector<Number>& order) {
  std::vector<std::int64_t> urgency(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) urgency[order[i]] = -static_cast<std::int64_t>(i);
  return urgency;
}

double copy_ns(const Cost& cost, const Memories& memories) {
  if (memories.in.value <= 0) return 0;
  Time copies = duration(Bytes{cost.loaded + cost.written}, memories.in);
  if (cost.exchanged > 0) {
    copies += duration(Bytes{cost.exchanged}, std::ranges::max(memories.between));
  }
  return static_cast<double>(copies.ns);
}

double score(const Cost& cost, const Memories& memories) {
  const double links = std::max(1.0, memories.links_at_once() / kLinks);
  return static_cast<double>(cost.time.ns) + kBytesCount * copy_ns(cost, memories) / links;
}

std::uint64_t largest_of(const PlanGraph& graph) {
  return graph.bytes.empty() ? 0 : std::ranges::max(graph.bytes);
}

class Search {
 public:
  Search(const PlanGraph& graph, const Memories& memories) : graph_(graph), memories_(memories) {
    keep_better(in_one_memory(as_numbered(graph)), 1);
    keep_better(in_one_memory(by_path(graph)), 1);
  }

  void run() {
    // Where all data fit, nothing is loaded twice in any order.
    if (!all_fit()) {
      search(kinds(false), 1, 1, memories_.count > 1 ? kFewestVariants : kFewVariants);
    } else {
      try_blocks(one_block(graph_, units(Family::tasks)), 1);
    }
    if (memories_.count > 1) {
      const std::vector<std::int64_t> urgencies[] = {
          paths_left(graph_.successors, graph_.durations), urgency_of(order_of_best())};
      for (std::uint32_t count = has_many() ? memories_.count : 2; count <= memories_.count;
           ++count) {
        for (const auto& urgency : urgencies) {
          keep_better(list_schedule(graph_, urgency, some(count)), count);
        }
      }
      search(kinds(true), 2, memories_.count, kFewVariants);
    }
  }

  // The best, made a little better.
  Planned take() {
    const bool is_one = memories_.count == 1;
    if (is_one && graph_.tasks() <= kFewest && !all_fit()) move_tasks();
    best_.reserve = memories_.reserve;
    best_.one_by_one = memories_.one_by_one;
    return std::move(best_);
  }

  const Cost& cost() const { return best_.cost; }

 private:
  void move_tasks() {
    const auto score = [&](const std::vector<Number>& order) {
      return score_of(cost_of(graph_, in_one_memory(order), memories_));
    };
    const std::size_t moves = kMostMoved / (graph_.uses.size() + graph_.data() + 1);
    keep_better(in_one_memory(moved_about(graph_, order_of_best(), moves, score)), 1);
  }

  std::vector<Number> order_of_best() const {
    std::vector<Number> order;
    order.reserve(best_.order.size());
    for (const Placed& placed : best_.order) order.push_back(placed.task);
    return order;
  }

  Memories some(std::uint32_t count) const { return memories_.first(count); }

  bool all_fit() const {
    std::uint64_t left = memories_.bytes;
    for (const std::uint64_t bytes : graph_.bytes) {
      if (bytes > left) return false;
      left -= bytes;
    }
    return true;
  }

  bool has_many() const { return graph_.tasks() > kManyTasks; }

  // With as many memories as help the first variant, and with all. `few`: variants where there are many tasks.
  void search(const Kinds& kinds, std::uint32_t least, std::uint32_t most, std::size_t few) {
    const bool has_chains = has_long_units();
    const std::vector<Variant>& main = has_chains ? kinds.of_chains : kinds.of_others;
    const std::uint64_t memory = most > 1 ? share(most) : memories_.bytes;
    // Chains that wait hold up all memories: there the paths decide.
    most_served_first_ = most == 1 || !has_chains;
    const Blocks first = blocks_of(main.front(), memory);
    std::uint32_t count = least;
    double best = try_blocks(first, least);
    for (std::uint32_t more = least + 1; more <= most; ++more) {
      const double score = try_blocks(first, more);
      if (score < best) count = more;
      best = std::min(best, score);
    }
    const auto try_variant = [&](const Variant& variant) {
      const Blocks blocks = blocks_of(variant, memory);
      try_blocks(blocks, count);
      if (count < most && !has_many()) try_blocks(blocks, most);
    };
    const std::size_t tried = has_many() ? std::min(few, main.size()) : main.size();
    for (std::size_t i = 1; i < tried; ++i) try_variant(main[i]);
    if (graph_.tasks() > kFewTasks) return;
    for (const Variant& variant : has_chains ? kinds.of_others : kinds.of_chains) {
      try_variant(variant);
    }
  }

  // What a memory holds, or so much of all data that there are several blocks for each.
  std::uint64_t share(std::uint32_t memories) const {
    const std::uint64_t all =
        std::accumulate(graph_.bytes.begin(), graph_.bytes.end(), std::uint64_t{0});
    return std::min(memories_.bytes, 2 * all / memories);
  }

  bool has_long_units() {
    constexpr std::size_t kLong = 3;  // tasks of a unit, on average
    return units(Family::writers).count() * kLong <= graph_.tasks();
  }

  Blocks blocks_of(const Variant& variant, std::uint64_t memory) {
    return grow_blocks(graph_, units(variant.family),
                       {.capacity = part_of(memory, variant.size),
                        .counts_bytes = variant.family == Family::tasks,
                        .falls = variant.falls,
                        .owners_count = variant.owners_count,
                        .most_served_first = most_served_first_});
  }

  double try_blocks(const Blocks& blocks, std::uint32_t count) {
    return keep_better(count == 1 ? in_one_memory(blocks.order) : deal(graph_, blocks, some(count)),
                       count);
  }

  double keep_better(std::vector<Placed> order, std::uint32_t count) {
    const Cost cost = cost_of(graph_, order, some(count));
    const double score = score_of(cost);
    if (best_.order.empty() || score < score_of(best_.cost)) best_ = {std::move(order), cost};
    return score;
  }

  double score_of(const Cost& cost) const { return score(cost, memories_); }

  const Units& units(Family family) {
    std::optional<Units>& units = units_[static_cast<std::size_t>(family)];
    if (!units) units = units_of(graph_, family);
    return *units;
  }

  const PlanGraph& graph_;
  const Memories memories_;
  std::array<std::optional<Units>, 3> units_;  // by family
  bool most_served_first_ = true;              // inside blocks
  Planned best_;
};

}  // namespace

std::uint64_t room_ahead(std::uint64_t memory, std::uint64_t largest) {
  constexpr std::uint64_t kReserved = 9;
  constexpr double kMostReserved = 0.08;
  return std::min(part_of(memory, kMostReserved), kReserved * largest);
}

std::uint64_t best_room_ahead(const PlanGraph& graph, std::span<const Placed> order,
                              const Memories& memories) {
  Memories tried = memories;
  tried.reserve = room_ahead(memories.bytes, largest_of(graph));
  std::uint64_t best = tried.reserve;
  double least = score(cost_of(graph, order, tried), memories);
  // For a datum of each worker at least.
  const std::uint64_t enough = memories.workers * largest_of(graph);
  while (tried.reserve / 2 >= std::max(enough, std::uint64_t{1})) {
    tried.reserve /= 2;
    const double with_less = score(cost_of(graph, order, tried), memories);
    if (with_less < least) best = tried.reserve;
    least = std::min(least, with_less);
  }
  return best;
}

Planned best_plan(const PlanGraph& graph, const Memories& memories) {
  if (graph.tasks() == 0) return {};
  Memories planned = memories;
  const std::uint64_t largest = largest_of(graph);
  planned.reserve = room_ahead(memories.bytes, largest);
  Search beside(graph, planned);
  beside.run();
  const bool is_one = memories.count == 1 && memories.workers == 1;
  if (!is_one || planned.reserve >= largest || graph.tasks() > kFewTasks) return beside.take();
  // There is no room for copies that run ahead: beside tasks they would take that of what is used soon.
  Memories in_turn = memories;
  in_turn.one_by_one = true;
  Search apart(graph, in_turn);
  apart.run();
  const double again = kCopiedAgain * copy_ns(beside.cost(), planned);
  const bool is_better = score(apart.cost(), in_turn) < score(beside.cost(), planned) + again;
  return is_better ? apart.take() : beside.take();
}

}  // namespace vicinal::sched::orders::horizon
