// What an order of tasks costs in one memory: the bytes that come and go if the datum leaves whose next use comes last
// (Belady), and how long it takes, copies beside tasks.
#pragma once

#include <cstdint>
#include <span>

#include "sched/orders/horizon/plan_graph.hpp"

namespace vicinal::sched::orders::horizon {

struct Memory {
  std::uint64_t bytes = 0;
  BytesPerSecond in = {};     // 0: not limited
  BytesPerSecond out = {};    // likewise
  std::uint32_t workers = 1;  // that run its tasks
};

struct Cost {
  Time time;
  std::uint64_t loaded = 0;   // bytes
  std::uint64_t written = 0;  // bytes: changed data that left, or have a home, or no later use
};

// A copy starts when the copy before it in its direction has ended and there is room: the last task that used what
// leaves has ended, and its content has been written if it was changed. `order`: tasks of the plan graph, each behind its
// predecessors. O(uses * log(uses)).
Cost cost_of(const PlanGraph& graph, std::span<const Number> order, const Memory& memory);

}  // namespace vicinal::sched::orders::horizon
