#include "engine/deferred_graph.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>

#include "graph/bottom_level.hpp"
#include "graph/task_pool.hpp"

namespace vicinal::engine {

namespace {

using graph::Graph;

// Of a task, in nanoseconds: 19 hours, so that a path of all deferred tasks can be counted.
constexpr std::int64_t kLongestTask = std::int64_t{1} << 46;

Time planned_time(const TaskFacts& facts) {
  if (!graph::is_scheduled(facts.kind)) return {0};
  Time time;
  for (const Time expected : facts.times) time = std::max(time, expected);
  if (time.ns == 0) {
    const double seconds = std::max(1e-6, facts.flops * 1e-9);
    time = Time::from_seconds(std::min(seconds, static_cast<double>(kLongestTask) * 1e-9));
  }
  return {std::min(time.ns, kLongestTask)};
}

// Microseconds up to 2^29 of them, 9 minutes. From there on 2^24 steps for each doubling, which is enough
// for 2^62 ns: the function is the same for all tasks, grows, and never saturates.
int priority_of(Time level) {
  constexpr int kExactBits = 29;
  constexpr int kStepBits = 24;
  const auto microseconds = static_cast<std::uint64_t>(level.ns / 1000);
  const auto doublings = static_cast<int>(std::bit_width(microseconds >> kExactBits));
  if (doublings == 0) return static_cast<int>(microseconds);
  const std::uint64_t steps = microseconds >> (kExactBits - kStepBits + doublings - 1);
  const std::uint64_t first = std::uint64_t{1} << kStepBits;
  return static_cast<int>((std::uint64_t{1} << kExactBits) +
                          static_cast<std::uint64_t>(doublings - 1) * first + (steps - first));
}

using Numbers = std::unordered_map<std::uint64_t, Graph::Number>;

// By id, if any task follows others whatever their data.
Numbers numbers_of(std::span<const DeferredTask> list) {
  Numbers numbers;
  if (std::ranges::all_of(list, [](const DeferredTask& entry) { return entry.after.empty(); }))
    return {};
  for (const DeferredTask& entry : list) {
    numbers.emplace(graph::TaskPool::id(*entry.task).value,
                    static_cast<Graph::Number>(numbers.size()));
  }
  return numbers;
}

}  // namespace

DeferredGraph::DeferredGraph(std::span<const DeferredTask> list, Predecessors predecessors) {
  const Numbers numbers = predecessors == Predecessors::named ? numbers_of(list) : Numbers();
  std::vector<Access> accesses;
  std::vector<Graph::Number> before;
  for (const DeferredTask& entry : list) {
    accesses.clear();
    for (const graph::Access& access : entry.task->accesses()) {
      accesses.push_back({access.handle, access.mode});
    }
    before.clear();
    for (const TaskId id : entry.after) {
      if (const auto found = numbers.find(id.value); found != numbers.end()) {
        before.push_back(found->second);
      }
    }
    const TaskFacts facts(*entry.task);
    const std::string_view name =
        facts.codelet != nullptr ? std::string_view(facts.codelet->name) : std::string_view();
    add(*entry.task, facts, name, accesses, before);
    durations_.push_back(planned_time(facts));
  }
}

std::vector<int> DeferredGraph::urgencies() const {
  std::vector<int> urgencies;
  for (const Time level : graph::bottom_levels(graph, durations_)) {
    urgencies.push_back(priority_of(level));
  }
  return urgencies;
}

}  // namespace vicinal::engine
