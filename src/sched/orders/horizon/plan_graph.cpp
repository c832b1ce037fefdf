#include "sched/orders/horizon/plan_graph.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sched/orders/successors.hpp"
#include "vicinal/access.hpp"

namespace vicinal::sched::orders::horizon {

void Lists::counted() {
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  items_.resize(ends_.back());
}

void Lists::placed() {
  // Each end has moved to the next one.
  ends_.insert(ends_.begin(), 0);
  ends_.pop_back();
}

std::vector<std::int64_t> paths_left(const Lists& successors, std::span<const Time> durations) {
  std::vector<Time> left(durations.begin(), durations.end());
  for (std::size_t task = left.size(); task-- > 0;) {
    Time longest;
    for (const Number after : successors[task]) longest = std::max(longest, left[after]);
    left[task] += longest;
  }
  const Time all = std::accumulate(durations.begin(), durations.end(), Time{});
  const double mean = static_cast<double>(all.ns) / static_cast<double>(durations.size());
  std::vector<std::int64_t> steps;
  steps.reserve(left.size());
  for (const Time path : left) steps.push_back(std::llround(static_cast<double>(path.ns) / mean));
  return steps;
}

namespace {

struct Levels {
  std::vector<Number> depth;       // tasks before it on the longest path that leads there
  std::vector<std::int64_t> left;  // the longest path from it on, itself included; in mean tasks
};

Levels levels_of(const Lists& successors, std::span<const Time> durations) {
  Levels levels{std::vector<Number>(durations.size()), paths_left(successors, durations)};
  for (Number task = 0; task < durations.size(); ++task) {
    for (const Number after : successors[task]) {
      levels.depth[after] = std::max(levels.depth[after], levels.depth[task] + 1);
    }
  }
  return levels;
}

void add_uses(const graph::Graph& graph, const graph::Graph::Task& task, PlanGraph& plan) {
  const std::size_t first = plan.uses.size();
  for (const auto& [datum, mode] : graph.accesses_of(task)) {
    // A private copy of a reduction is combined elsewhere, scratch is no content: room alone.
    const Use use{datum, reads(mode), leaves_content(mode)};
    const auto same =
        std::find_if(plan.uses.begin() + static_cast<std::ptrdiff_t>(first), plan.uses.end(),
                     [&](const Use& other) { return other.datum == use.datum; });
    if (same == plan.uses.end()) {
      plan.uses.push_back(use);
    } else {
      same->reads |= use.reads;
      same->writes |= use.writes;
    }
  }
  plan.first_use.push_back(plan.uses.size());
}

}  // namespace

PlanGraph plan_graph(const graph::Graph& graph, std::span<const Number> tasks,
                     std::span<const Time> durations, const std::vector<bool>& elsewhere) {
  const Successors all = successors_of(graph);
  std::vector<Number> place(graph.tasks().size(), kNone);
  for (Number i = 0; i < tasks.size(); ++i) place[tasks[i]] = i;
  // In the order of submission first.
  const auto lists = [&](const auto& place_of) {
    Lists successors(tasks.size());
    const auto each = [&](const auto& call) {
      for (const Number task : tasks) {
        for (const Number after : all.of[task]) {
          if (place[after] != kNone) call(place_of(place[task]), place_of(place[after]));
        }
      }
    };
    each([&](Number before, Number) { successors.count(before); });
    successors.counted();
    each([&](Number before, Number after) { successors.place(before, after); });
    successors.placed();
    return successors;
  };
  const Levels levels = levels_of(lists([](Number i) { return i; }), durations);
  std::vector<Number> order(tasks.size());
  std::iota(order.begin(), order.end(), Number{0});
  std::ranges::stable_sort(order, {}, [&](Number i) {
    return std::pair{levels.depth[i], -levels.left[i]};
  });
  std::vector<Number> rank(tasks.size());
  for (Number i = 0; i < order.size(); ++i) rank[order[i]] = i;

  PlanGraph plan;
  plan.successors = lists([&](Number i) { return rank[i]; });
  plan.predecessors.assign(tasks.size(), 0);
  for (Number i = 0; i < tasks.size(); ++i) {
    for (const Number after : plan.successors[i]) ++plan.predecessors[after];
  }
  plan.first_use.push_back(0);
  for (const Number i : order) {
    plan.number.push_back(tasks[i]);
    plan.durations.push_back(durations[i]);
    plan.elsewhere.push_back(!elsewhere.empty() && elsewhere[i]);
    add_uses(graph, graph.tasks()[tasks[i]], plan);
  }
  for (const graph::Graph::Datum& datum : graph.data()) {
    plan.bytes.push_back(datum.bytes.value);
    plan.has_home.push_back(datum.home.has_value());
  }
  // What is read first was made before.
  std::vector<bool> seen(plan.data());
  for (const Use& use : plan.uses) {
    if (!seen[use.datum] && use.reads) plan.has_home[use.datum] = true;
    seen[use.datum] = true;
  }
  return plan;
}

}  // namespace vicinal::sched::orders::horizon
