#include "sched/orders/horizon/deal.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "sched/orders/horizon/held.hpp"

namespace vicinal::sched::orders::horizon {

namespace {

struct BlockFacts {
  std::vector<Number> data;  // each once
  Time work;                 // of a memory's workers together
  Time left;                 // the longest chain of blocks from it on
  Number blocked = 0;        // by tasks of blocks that have not been dealt
};

class Deal {
 public:
  Deal(const PlanGraph& graph, const Blocks& blocks, const Memories& memories)
      : graph_(graph),
        blocks_(blocks),
        memories_(memories),
        facts_(blocks.ends.size()),
        block_of_(graph.tasks()),
        offset_(graph.tasks()),
        ends_(graph.tasks()),
        starts_(graph.tasks()),
        free_(memories.count),
        held_(held_at_first(graph, memories)),
        copies_(facts_.size() * memories.count) {
    note_blocks();
  }

  std::vector<Placed> run() {
    std::vector<Number> ready;
    for (Number block = 0; block < facts_.size(); ++block) {
      if (facts_[block].blocked == 0) ready.push_back(block);
    }
    while (!ready.empty()) {
      const auto [index, memory] = best_of(ready);
      const Number block = ready[index];
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(index));
      place(block, memory, ready);
    }
    std::vector<Number> order(blocks_.order);
    std::ranges::stable_sort(order, {}, [&](Number task) { return starts_[task]; });
    std::vector<Placed> placed;
    placed.reserve(order.size());
    for (const Number task : order) placed.push_back({task, memory_of_[block_of_[task]]});
    return placed;
  }

 private:
  std::span<const Number> tasks_of(Number block) const {
    const std::size_t first = block == 0 ? 0 : blocks_.ends[block - 1];
    return std::span(blocks_.order).subspan(first, blocks_.ends[block] - first);
  }

  void note_blocks() {
    for (Number block = 0; block < facts_.size(); ++block) {
      for (const Number task : tasks_of(block)) block_of_[task] = block;
    }
    std::vector<Number> seen(graph_.data(), kNone);
    for (Number block = 0; block < facts_.size(); ++block) {
      BlockFacts& facts = facts_[block];
      for (const Number task : tasks_of(block)) {
        offset_[task] = facts.work;
        if (!graph_.elsewhere[task])
          facts.work += Time{graph_.durations[task].ns / memories_.workers};
        for (const Use& use : graph_.uses_of(task)) {
          if (std::exchange(seen[use.datum], block) != block) facts.data.push_back(use.datum);
        }
        for (const Number after : graph_.successors[task]) {
          if (block_of_[after] != block) ++facts_[block_of_[after]].blocked;
        }
      }
    }
    memory_of_.resize(facts_.size());
    before_.resize(facts_.size());
    // Blocks stand behind those that they wait for.
    for (std::size_t block = facts_.size(); block-- > 0;) {
      Time longest;
      for (const Number task : tasks_of(static_cast<Number>(block))) {
        for (const Number after : graph_.successors[task]) {
          if (block_of_[after] != block) {
            longest = std::max(longest, facts_[block_of_[after]].left);
          }
        }
      }
      facts_[block].left = facts_[block].work + longest;
    }
  }

  struct Choice {
    std::size_t index = 0;
    std::uint32_t memory = 0;
  };

  // So many of the blocks that are ready, those that have been so for longest: in graphs of thousands of independent blocks
  // all would be looked at for each.
  static constexpr std::size_t kLooked = 128;

  // The pair with the earliest end of the copies and start of the work; of those alike the block with most behind it.
  Choice best_of(const std::vector<Number>& ready) {
    Choice best;
    std::optional<std::pair<Time, Time>> least;
    for (std::size_t i = 0; i < std::min(kLooked, ready.size()); ++i) {
      const BlockFacts& facts = facts_[ready[i]];
      for (std::uint32_t memory = 0; memory < memories_.count; ++memory) {
        const Time start = std::max(free_[memory], before_[ready[i]]);
        const Time cost = start + copies_to(ready[i], memory) - Time{facts.left.ns / 4};
        const std::pair<Time, Time> score{cost, Time{-facts.left.ns}};
        if (least && *least <= score) continue;
        least = score;
        best = {i, memory};
      }
    }
    return best;
  }

  // A block is looked at until it is dealt, and most memories stay as they are meanwhile.
  Time copies_to(Number block, std::uint32_t memory) {
    Copies& copies = copies_[std::size_t{block} * memories_.count + memory];
    const Held& held = held_[memory];
    if (std::exchange(copies.version, held.version()) == held.version()) return copies.time;
    std::uint64_t missing = 0;
    for (const Number datum : facts_[block].data) {
      if (!held.has(datum)) missing += graph_.bytes[datum];
    }
    copies.time = memories_.in.value > 0 ? duration(Bytes{missing}, memories_.in) : Time{};
    return copies.time;
  }

  void place(Number block, std::uint32_t memory, std::vector<Number>& ready) {
    const BlockFacts& facts = facts_[block];
    const Time begin = std::max(free_[memory], before_[block]);
    // Copies beside the work: the longer of both.
    const Time length = std::max(facts.work, copies_to(block, memory));
    Time now = begin;
    for (const Number task : tasks_of(block)) {
      starts_[task] = now;
      if (!graph_.elsewhere[task]) {
        const double part = static_cast<double>(graph_.durations[task].ns) / memories_.workers /
                            static_cast<double>(std::max<std::int64_t>(facts.work.ns, 1));
        now += Time{static_cast<std::int64_t>(part * static_cast<double>(length.ns))};
      }
      ends_[task] = now;
    }
    free_[memory] = std::max(now, begin + length);
    memory_of_[block] = memory;
    for (const Number datum : facts.data) held_[memory].use(datum, graph_.bytes[datum]);
    held_[memory].shrink(graph_.bytes);
    for (const Number task : tasks_of(block)) {
      for (const Use& use : graph_.uses_of(task)) {
        if (!use.writes) continue;
        for (std::uint32_t other = 0; other < memories_.count; ++other) {
          if (other != memory) held_[other].forget(use.datum, graph_.bytes[use.datum]);
        }
      }
      for (const Number after : graph_.successors[task]) {
        const Number next = block_of_[after];
        if (next == block) continue;
        before_[next] = std::max(before_[next], ends_[task] - offset_[after]);
        if (--facts_[next].blocked == 0) ready.push_back(next);
      }
    }
  }

  const PlanGraph& graph_;
  const Blocks& blocks_;
  const Memories memories_;
  std::vector<BlockFacts> facts_;
  std::vector<Number> block_of_;  // by task
  std::vector<Time> offset_;      // by task: the work of its block before it
  std::vector<Time> ends_;        // by task
  std::vector<Time> starts_;      // by task
  std::vector<Time> before_;      // by block: it may begin then, for those that its tasks wait for
  std::vector<std::uint32_t> memory_of_;  // by block
  std::vector<Time> free_;                // by memory
  std::vector<Held> held_;
  struct Copies {
    std::uint64_t version = 0;  // of the memory, for which the time counts
    Time time;
  };
  std::vector<Copies> copies_;  // by block and memory
};

}  // namespace

std::vector<Placed> deal(const PlanGraph& graph, const Blocks& blocks, const Memories& memories) {
  return Deal(graph, blocks, memories).run();
}

}  // namespace vicinal::sched::orders::horizon
