#include "sched/orders/horizon/deal.hpp"

#include <algorithm>
#include <list>
#include <numeric>
#include <optional>
#include <utility>

namespace vicinal::sched::orders::horizon {

namespace {

// Which data a memory holds, if what was not used for longest has left. For the comparison of memories alone: costs are
// counted with better evictions.
class Held {
 public:
  Held(std::size_t data, std::uint64_t bytes) : room_(bytes), places_(data) {}
  bool has(Number datum) const { return places_[datum].has_value(); }
  void use(Number datum, std::uint64_t bytes) {
    ++version_;
    forget(datum, bytes);
    recent_.push_front(datum);
    places_[datum] = recent_.begin();
    used_ += bytes;
  }
  // Rises whenever other data are there.
  std::uint64_t version() const { return version_; }
  void forget(Number datum, std::uint64_t bytes) {
    if (!places_[datum]) return;
    ++version_;
    recent_.erase(*places_[datum]);
    places_[datum].reset();
    used_ -= bytes;
  }
  void shrink(const std::vector<std::uint64_t>& bytes) {
    while (used_ > room_ && recent_.size() > 1) {
      const Number last = recent_.back();
      forget(last, bytes[last]);
    }
  }

 private:
  const std::uint64_t room_;
  std::uint64_t used_ = 0;
  std::uint64_t version_ = 1;
  std::list<Number> recent_;
  std::vector<std::optional<std::list<Number>::iterator>> places_;
};

// As it is before the first task.
std::vector<Held> held_at_first(const PlanGraph& graph, const Memories& memories) {
  std::vector<Held> held(memories.count, Held(graph.data(), memories.bytes));
  for (Number datum = 0; datum < graph.initially.size(); ++datum) {
    for (std::uint32_t memory = 0; memory < memories.count; ++memory) {
      if ((graph.initially[datum].held >> memory & 1) != 0) {
        held[memory].use(datum, graph.bytes[datum]);
      }
    }
  }
  return held;
}

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

// Where a task begins clearly first, copies counted, much as in HEFT.
class ListSchedule {
 public:
  ListSchedule(const PlanGraph& graph, const Memories& memories)
      : graph_(graph),
        memories_(memories),
        ready_at_(graph.tasks()),
        free_(memories.count),
        link_free_(memories.count),
        held_(held_at_first(graph, memories)) {}

  std::vector<Placed> run(std::span<const Number> order) {
    std::vector<std::pair<Time, Placed>> placed;
    placed.reserve(order.size());
    for (const Number task : order) {
      const Placed where{task, graph_.elsewhere[task] ? 0 : best_for(task)};
      placed.emplace_back(place(where), where);
    }
    std::ranges::stable_sort(placed, {}, &std::pair<Time, Placed>::first);
    std::vector<Placed> by_start;
    by_start.reserve(order.size());
    for (const auto& [start, where] : placed) by_start.push_back(where);
    return by_start;
  }

 private:
  struct Ends {
    Time copies;
    Time start;
  };

  Ends ends_on(Number task, std::uint32_t memory) const {
    std::uint64_t missing = 0;
    for (const Use& use : graph_.uses_of(task)) {
      if (use.reads && !held_[memory].has(use.datum)) missing += graph_.bytes[use.datum];
    }
    Time copies = link_free_[memory];
    if (missing > 0 && memories_.in.value > 0) copies += duration(Bytes{missing}, memories_.in);
    const Time ready = std::max(free_[memory], ready_at_[task]);
    return {copies, missing > 0 ? std::max(ready, copies) : ready};
  }

  std::uint32_t best_for(Number task) const {
    // Less is chance: times differ a little in every run.
    const Time clearly{graph_.durations[task].ns / 4};
    std::uint32_t best = 0;
    Time first = ends_on(task, 0).start;
    for (std::uint32_t memory = 1; memory < memories_.count; ++memory) {
      const Time start = ends_on(task, memory).start;
      if (start + clearly >= first) continue;
      best = memory;
      first = start;
    }
    return best;
  }

  // When it starts.
  Time place(const Placed& placed) {
    const auto [task, memory] = placed;
    const Time duration = graph_.durations[task];
    Time start = ready_at_[task];
    if (!graph_.elsewhere[task]) {
      const Ends ends = ends_on(task, memory);
      start = ends.start;
      link_free_[memory] = ends.copies;
      free_[memory] = start + Time{duration.ns / memories_.workers};
      for (const Use& use : graph_.uses_of(task)) {
        held_[memory].use(use.datum, graph_.bytes[use.datum]);
      }
      held_[memory].shrink(graph_.bytes);
    }
    for (const Use& use : graph_.uses_of(task)) {
      if (!use.writes) continue;
      for (std::uint32_t other = 0; other < memories_.count; ++other) {
        if (other != memory || graph_.elsewhere[task]) {
          held_[other].forget(use.datum, graph_.bytes[use.datum]);
        }
      }
    }
    for (const Number after : graph_.successors[task]) {
      ready_at_[after] = std::max(ready_at_[after], start + duration);
    }
    return start;
  }

  const PlanGraph& graph_;
  const Memories memories_;
  std::vector<Time> ready_at_;   // by task
  std::vector<Time> free_;       // by memory: its workers
  std::vector<Time> link_free_;  // by memory: the way there
  std::vector<Held> held_;
};

}  // namespace

std::vector<Placed> deal_tasks(const PlanGraph& graph, std::span<const Number> order,
                               const Memories& memories) {
  return ListSchedule(graph, memories).run(order);
}

std::vector<Placed> deal(const PlanGraph& graph, const Blocks& blocks, const Memories& memories) {
  return Deal(graph, blocks, memories).run();
}

}  // namespace vicinal::sched::orders::horizon
