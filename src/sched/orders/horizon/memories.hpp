// What it costs to run tasks in given orders in one memory or several: the bytes that come and go if the datum leaves a memory
// whose next use there comes last (Belady), and how long it takes, copies beside tasks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sched/orders/horizon/plan_graph.hpp"

namespace vicinal::sched::orders::horizon {

// Of memories that are alike.
struct Memories {
  std::uint32_t count = 1;
  std::uint64_t bytes = 0;    // of each
  std::uint64_t reserve = 0;  // of them: kept free for copies that run ahead of the tasks
  BytesPerSecond in = {};     // of each, from where data are at home; 0: not limited
  BytesPerSecond out = {};    // likewise
  Time latency = {};          // of each copy
  std::uint32_t workers = 1;  // of each, that run its tasks
  bool one_by_one = false;  // the copies of a task wait for the end of the task before; one worker

  // What several copies pass: bandwidth of all of them together.
  std::vector<BytesPerSecond> bridges = {};
  // Which of them, a bit each, a copy passes that comes from home, goes there, or comes from another memory; by memory,
  // or by pair. Empty: none.
  std::vector<std::uint64_t> in_passes = {};
  std::vector<std::uint64_t> out_passes = {};
  // By source times `count` of all, plus destination. 0: from there copies go by way of home.
  std::vector<BytesPerSecond> between = {};
  std::vector<std::uint64_t> between_passes = {};

  // The first of them alone.
  Memories first(std::uint32_t some) const;
  // So many copies from home go on at full speed at once: as many as there are memories, or fewer where these share bridges.
  double links_at_once() const;
  // A copy from the one to the other; 0: there is no such way.
  BytesPerSecond from_to(std::uint32_t from, std::uint32_t to) const {
    return between.empty() ? BytesPerSecond{} : between[std::size_t{from} * count + to];
  }
};

struct Cost {
  Time time;
  std::uint64_t loaded = 0;     // bytes, from home
  std::uint64_t exchanged = 0;  // from another memory
  std::uint64_t written = 0;  // bytes, of changed data that left a memory, or were read in another
};

// A task of the plan graph, and the memory whose workers run it.
struct Placed {
  Number task = 0;
  std::uint32_t memory = 0;
};

// A copy starts when the copies before it on its way have ended and there is room: the last task that used what
// leaves has ended, and its content has been written if it was changed. What another memory has changed comes
// from there; where there is no way between them, it is written home first.
// `order`: each task behind its predecessors. O(uses * log(uses)).
Cost cost_of(const PlanGraph& graph, std::span<const Placed> order, const Memories& memories);

}  // namespace vicinal::sched::orders::horizon
