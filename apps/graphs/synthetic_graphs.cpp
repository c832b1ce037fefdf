#include "graphs/synthetic_graphs.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/random.hpp"
#include "graph/sound.hpp"
#include "graphs/limits.hpp"

namespace vicinal::graphs {

namespace {

using base::Random;
using graph::Graph;
using Access = Graph::Access;
using Index = std::uint32_t;

constexpr std::uint64_t kMostData = 20'000'000;

Index add_datum(Graph& graph, std::string_view name, Bytes bytes, bool has_home) {
  Graph::Datum datum{.bytes = bytes};
  if (has_home) datum.home = NodeKind::ram;
  return graph.add_datum(datum, name);
}

Index add_timed_kernel(Graph& graph, std::string name, double seconds) {
  Graph::Kernel kernel;
  kernel.name = std::move(name);
  kernel.seconds[static_cast<std::size_t>(ProcessorKind::cpu)] = seconds;
  kernel.seconds[static_cast<std::size_t>(ProcessorKind::gpu)] = seconds;
  return graph.add_kernel(std::move(kernel));
}

// `count` different numbers below `bound` (Floyd's method: Bentley, Floyd 1987, one draw for each).
void choose(Random& random, std::uint64_t bound, std::uint64_t count, std::vector<Index>& chosen) {
  chosen.clear();
  for (std::uint64_t last = bound - count; last < bound; ++last) {
    const auto drawn = static_cast<Index>(random.below(last + 1));
    const bool is_new = std::find(chosen.begin(), chosen.end(), drawn) == chosen.end();
    chosen.push_back(is_new ? drawn : static_cast<Index>(last));
  }
}

// From 1/8 to 8, as often in each doubling: only operations that every processor rounds alike.
double spread(Random& random) {
  const int doubling = static_cast<int>(random.below(6)) - 3;
  return std::ldexp(1 + random.uniform(), doubling);
}

class RandomDag {
 public:
  explicit RandomDag(const RandomShape& shape) : shape_(shape), random_(shape.seed) {
    graph_.application().name = "random";
    for (int k = 0; k < 16; ++k) {
      add_timed_kernel(graph_, fmt::format("k{}", k), shape.seconds * spread(random_));
    }
  }

  Graph generate() {
    // Rounded to a whole number: all libraries agree on it.
    const auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(shape_.tasks)));
    const std::uint64_t inputs = 1 + random_.below(2 * root);
    for (std::uint64_t i = 0; i < inputs; ++i) add_sized(fmt::format("I{}", i), true);
    while (graph_.tasks().size() < shape_.tasks) {
      const std::uint64_t left = shape_.tasks - graph_.tasks().size();
      add_layer(std::min(left, 1 + random_.below(2 * root)));
    }
    return std::move(graph_);
  }

 private:
  Index add_sized(std::string_view name, bool has_home) {
    const double bytes = static_cast<double>(shape_.bytes.value) * spread(random_);
    return add_datum(graph_, name, {static_cast<std::uint64_t>(bytes)}, has_home);
  }

  void add_layer(std::uint64_t width) {
    const auto data_before = static_cast<Index>(graph_.data().size());
    for (std::uint64_t t = 0; t < width; ++t) add_task(data_before);
    if (graph_.data().size() > data_before) newest_ = data_before;
  }

  // Three in four of the last layer that wrote data of its own, the others of any before.
  Index choose_read(Index data_before) {
    const bool recent = random_.below(4) != 0 && newest_ < data_before;
    const Index first = recent ? newest_ : 0;
    return first + static_cast<Index>(random_.below(data_before - first));
  }

  void add_task(Index data_before) {
    accesses_.clear();
    for (std::uint64_t r = 1 + random_.below(4); r > 0; --r) {
      const Index datum = choose_read(data_before);
      const bool is_new = std::none_of(accesses_.begin(), accesses_.end(),
                                       [&](const Access& a) { return a.datum == datum; });
      if (is_new) accesses_.push_back({datum, AccessMode::R});
    }
    if (random_.below(4) == 0) {
      accesses_.back().mode = AccessMode::RW;
    } else {
      accesses_.push_back(
          {add_sized(fmt::format("D{}", graph_.tasks().size()), false), AccessMode::W});
    }
    graph_.add_task(static_cast<Index>(random_.below(16)), accesses_);
  }

  const RandomShape& shape_;
  Random random_;
  Graph graph_;
  Index newest_ = 0;  // the first datum of the last layer that has some
  std::vector<Access> accesses_;
};

}  // namespace

Graph random_bipartite(const BipartiteShape& shape) {
  constexpr std::string_view kName = "bipartite";
  require_within(kName, "tasks", shape.tasks, 1, static_cast<std::uint64_t>(kMostTasks));
  require_within(kName, "data", shape.data, 1, kMostData);
  require_within(kName, "degree", shape.degree, 1,
                 std::min<std::uint64_t>(shape.data, graph::kMostAccesses));
  require_within(kName, "tasks times degree", shape.tasks * shape.degree, 1,
                 static_cast<std::uint64_t>(10 * kMostTasks));
  require_within(kName, "bytes", shape.bytes.value, 0, kMostDatumBytes);
  require_seconds(kName, shape.seconds);

  Graph graph;
  graph.application().name = kName;
  Random random(shape.seed);
  for (std::uint64_t d = 0; d < shape.data; ++d) {
    add_datum(graph, fmt::format("D{}", d), shape.bytes, true);
  }
  const Index work = add_timed_kernel(graph, "work", shape.seconds);
  std::vector<Index> chosen;
  std::vector<Access> accesses;
  for (std::uint64_t t = 0; t < shape.tasks; ++t) {
    choose(random, shape.data, shape.degree, chosen);
    accesses.clear();
    for (const Index datum : chosen) accesses.push_back({datum, AccessMode::R});
    graph.add_task(work, accesses);
  }
  return graph;
}

Graph stencil(const StencilShape& shape) {
  constexpr std::string_view kName = "stencil";
  require_within(kName, "width", shape.width, 1, kMostData / 2);
  require_within(kName, "steps", shape.steps, 1, static_cast<std::uint64_t>(kMostTasks));
  require_tasks(kName, static_cast<double>(shape.width) * static_cast<double>(shape.steps),
                "a smaller width or fewer steps");
  require_within(kName, "bytes", shape.bytes.value, 0, kMostDatumBytes);
  require_seconds(kName, shape.seconds);

  Graph graph;
  graph.application().name = kName;
  const auto width = static_cast<Index>(shape.width);
  for (Index i = 0; i < width; ++i) add_datum(graph, fmt::format("a{}", i), shape.bytes, true);
  for (Index i = 0; i < width; ++i) add_datum(graph, fmt::format("b{}", i), shape.bytes, false);
  const Index sweep = add_timed_kernel(graph, "sweep", shape.seconds);
  std::vector<Access> accesses;
  for (std::uint64_t s = 0; s < shape.steps; ++s) {
    const Index from = s % 2 == 0 ? 0 : width;
    const Index to = width - from;
    for (Index i = 0; i < width; ++i) {
      accesses.clear();
      for (Index j = i == 0 ? 0 : i - 1; j <= std::min(i + 1, width - 1); ++j) {
        accesses.push_back({from + j, AccessMode::R});
      }
      accesses.push_back({to + i, AccessMode::W});
      graph.add_task(sweep, accesses);
    }
  }
  return graph;
}

Graph random_dag(const RandomShape& shape) {
  constexpr std::string_view kName = "random";
  require_within(kName, "tasks", shape.tasks, 1, static_cast<std::uint64_t>(kMostTasks));
  require_within(kName, "bytes", shape.bytes.value, 0, kMostDatumBytes / 8);
  require_seconds(kName, shape.seconds);
  return RandomDag(shape).generate();
}

}  // namespace vicinal::graphs
