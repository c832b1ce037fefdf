// The search for the least bytes against one that knows no rule: every order, and data that come and go at any time.
#include "support/least_bytes.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "graph/last_uses.hpp"
#include "support/random_runs.hpp"

namespace vicinal::optima {
namespace {

using graph::Graph;
using testing::Counted;
using testing::for_each_seed;
using testing::least_bytes;
using testing::least_bytes_of;

// What a datum is in the memory, and whether home has its content.
enum class InMemory : std::uint8_t { nothing, room, content };
struct Place {
  InMemory in_memory = InMemory::nothing;
  bool at_home = true;
  auto operator<=>(const Place&) const = default;
};
struct Moment {
  std::vector<bool> done;  // by task
  std::vector<Place> places;
  auto operator<=>(const Moment&) const = default;
};

// Dijkstra's search. A step loads a datum, takes room for one, writes one home, drops one, or runs a task.
class EveryStep {
 public:
  EveryStep(const Graph& graph, std::uint64_t memory, Counted counted)
      : graph_(graph), memory_(memory), counted_(counted), is_void_(graph::temporaries_of(graph)) {}

  std::uint64_t least() {
    Moment first{std::vector<bool>(graph_.tasks().size()),
                 std::vector<Place>(graph_.data().size())};
    for (std::size_t d = 0; d < first.places.size(); ++d) {
      first.places[d].at_home = graph_.data()[d].home.has_value();
    }
    reach(first, 0);
    while (!open_.empty()) {
      const auto [cost, moment] = open_.top();
      open_.pop();
      if (!seen_.insert(moment).second) continue;
      if (is_end(moment)) return cost;
      step(moment, cost);
    }
    ADD_FAILURE() << "no order runs all tasks";
    return 0;
  }

 private:
  std::uint64_t bytes(std::size_t datum) const { return graph_.data()[datum].bytes.value; }

  std::uint64_t used(const Moment& moment) const {
    std::uint64_t sum = 0;
    for (std::size_t d = 0; d < moment.places.size(); ++d) {
      if (moment.places[d].in_memory != InMemory::nothing) sum += bytes(d);
    }
    return sum;
  }

  // What tasks wrote, and nobody has dropped for good, is somewhere.
  bool is_end(const Moment& moment) const {
    for (std::size_t t = 0; t < moment.done.size(); ++t) {
      if (!moment.done[t]) return false;
    }
    for (std::size_t d = 0; d < moment.places.size(); ++d) {
      const auto& [in_memory, at_home] = moment.places[d];
      if (is_void_[d] || at_home || in_memory == InMemory::content) continue;
      if (is_written(d)) return false;
    }
    return true;
  }
  bool is_written(std::size_t datum) const {
    for (const Graph::Access& access : graph_.accesses()) {
      if (access.datum == datum && leaves_content(access.mode)) return true;
    }
    return false;
  }

  // All tasks before it that conflict with it are done.
  bool is_ready(std::size_t task, const Moment& moment) const {
    for (std::size_t before = 0; before < task; ++before) {
      if (moment.done[before]) continue;
      for (const auto& [datum, mode] : graph_.accesses_of(graph_.tasks()[before])) {
        for (const auto& [own, own_mode] : graph_.accesses_of(graph_.tasks()[task])) {
          if (datum == own && (leaves_content(mode) || leaves_content(own_mode))) return false;
        }
      }
    }
    return !moment.done[task];
  }

  void step(const Moment& moment, std::uint64_t cost) {
    for (std::size_t t = 0; t < moment.done.size(); ++t) {
      if (is_ready(t, moment)) run(t, moment, cost);
    }
    const std::uint64_t left = memory_ - used(moment);
    for (std::size_t d = 0; d < moment.places.size(); ++d) {
      const auto& [in_memory, at_home] = moment.places[d];
      Moment next = moment;
      auto& [now_in_memory, now_at_home] = next.places[d];
      if (in_memory == InMemory::nothing && bytes(d) <= left) {
        now_in_memory = InMemory::room;
        reach(next, cost);
        now_in_memory = InMemory::content;
        if (at_home) reach(next, cost + bytes(d));
        continue;
      }
      if (in_memory == InMemory::content && !at_home) {
        now_at_home = true;
        reach(next, cost + (counted_ == Counted::loads ? 0 : bytes(d)));
        now_at_home = false;
      }
      now_in_memory = InMemory::nothing;
      if (in_memory != InMemory::nothing) reach(next, cost);
    }
  }

  void run(std::size_t task, Moment next, std::uint64_t cost) {
    const auto accesses = graph_.accesses_of(graph_.tasks()[task]);
    for (const auto& [datum, mode] : accesses) {
      const InMemory there = next.places[datum].in_memory;
      if (there == InMemory::nothing || (reads(mode) && there != InMemory::content)) return;
    }
    for (const auto& [datum, mode] : accesses) {
      if (leaves_content(mode)) next.places[datum] = {InMemory::content, false};
    }
    next.done[task] = true;
    reach(next, cost);
  }

  void reach(const Moment& moment, std::uint64_t cost) {
    if (!seen_.contains(moment)) open_.emplace(cost, moment);
  }

  using Open = std::pair<std::uint64_t, Moment>;
  const Graph& graph_;
  const std::uint64_t memory_;
  const Counted counted_;
  const std::vector<bool> is_void_;  // after its last use
  std::set<Moment> seen_;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open_;
};

// At random: data with and without a home, of one size or of several.
Graph random_graph(base::Random& random) {
  using enum AccessMode;
  Graph graph;
  graph.add_kernel({});
  const std::uint64_t sizes = random.below(2) == 0 ? 1 : 3;
  const auto data = static_cast<Graph::Number>(3 + random.below(2));
  std::vector<bool> exists;
  for (Graph::Number d = 0; d < data; ++d) {
    exists.push_back(random.below(3) > 0);
    graph.add_datum({.bytes = {1 + random.below(sizes)},
                     .home = exists[d] ? std::optional(NodeKind::ram) : std::nullopt});
  }
  for (std::uint64_t tasks = 4 + random.below(3); tasks > 0; --tasks) {
    std::map<Graph::Number, AccessMode> modes;
    for (std::uint64_t i = 1 + random.below(2); i > 0; --i) {
      const auto d = static_cast<Graph::Number>(random.below(data));
      const std::uint64_t drawn = random.below(6);
      const AccessMode mode = drawn < 3 ? R : drawn < 5 ? RW : W;
      modes.emplace(d, exists[d] ? mode : W);
    }
    std::vector<Graph::Access> accesses;
    for (const auto& [d, mode] : modes) {
      accesses.push_back({d, mode});
      exists[d] = true;
    }
    graph.add_task(0, accesses);
  }
  return graph;
}

std::uint64_t tightest(const Graph& graph) {
  std::uint64_t most = 0;
  for (const Graph::Task& task : graph.tasks()) {
    std::uint64_t sum = 0;
    for (const Graph::Access& access : graph.accesses_of(task)) {
      sum += graph.data()[access.datum].bytes.value;
    }
    most = std::max(most, sum);
  }
  return most;
}

TEST(LeastBytes, AreThoseOfASearchThatTriesEveryStep) {
  std::size_t more_than_once = 0;
  for_each_seed(20, [&](base::Random& random, std::uint64_t seed) {
    const Graph graph = random_graph(random);
    const std::uint64_t memory = tightest(graph) + random.below(2);
    for (const Counted counted : {Counted::loads, Counted::loads_and_writes}) {
      const auto least = least_bytes(graph, memory, counted, 1'000'000);
      ASSERT_TRUE(least.has_value()) << "seed " << seed;
      EXPECT_EQ(least->bytes, EveryStep(graph, memory, counted).least())
          << "seed " << seed << ", in " << memory << " bytes";
      EXPECT_EQ(least_bytes_of(least->order, graph, memory, counted, 1'000'000)->bytes,
                least->bytes)
          << "seed " << seed;
      more_than_once += least->bytes > least_bytes(graph, 100, counted, 1'000'000)->bytes ? 1 : 0;
    }
  });
  EXPECT_GT(more_than_once, 0U) << "in no case did the memory matter";
}

TEST(LeastBytes, OfAProductInRowsAndColumns) {
  using enum AccessMode;
  // Three rows by three columns, in room for three: a path through all nine pairs that changes one at a time loads 2 + 8
  // times; with the third place a row stays beside two columns: 10 - 1.
  Graph graph;
  graph.add_kernel({});
  for (int i = 0; i < 6; ++i) graph.add_datum({.bytes = {1}, .home = NodeKind::ram});
  for (Graph::Number i = 0; i < 3; ++i) {
    for (Graph::Number j = 3; j < 6; ++j) {
      graph.add_task(0, std::vector<Graph::Access>{{i, R}, {j, R}});
    }
  }
  EXPECT_EQ(least_bytes(graph, 2, Counted::loads, 1000)->bytes, 10U);
  EXPECT_EQ(least_bytes(graph, 6, Counted::loads, 1000)->bytes, 6U);
}

TEST(LeastBytes, ResultsThatFitNeedNotBeWritten) {
  using enum AccessMode;
  Graph graph;
  graph.add_kernel({});
  for (int i = 0; i < 3; ++i) {
    graph.add_datum({.bytes = {1}});
    graph.add_task(0, std::vector<Graph::Access>{{static_cast<Graph::Number>(i), W}});
  }
  EXPECT_EQ(least_bytes(graph, 2, Counted::loads, 1000)->bytes, 0U);
  EXPECT_EQ(least_bytes(graph, 2, Counted::loads_and_writes, 1000)->bytes, 1U);
  EXPECT_EQ(least_bytes(graph, 3, Counted::loads_and_writes, 1000)->bytes, 0U);
}

TEST(LeastBytes, AreNotKnownWhereThereAreTooManyStates) {
  base::Random random(1);
  EXPECT_FALSE(least_bytes(random_graph(random), 6, Counted::loads, 0).has_value());
}

}  // namespace
}  // namespace vicinal::optima
