#include "bounds/recognise.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "bounds/graph_bounds.hpp"
#include "graphs/linalg_graphs.hpp"
#include "gtest/gtest.h"

namespace vicinal::bounds {
namespace {

using graph::Graph;
using Task = std::vector<Graph::Access>;

std::vector<Task> tasks_of(const Graph& graph) {
  std::vector<Task> tasks;
  for (const Graph::Task& task : graph.tasks()) {
    const auto accesses = graph.accesses_of(task);
    tasks.emplace_back(accesses.begin(), accesses.end());
  }
  return tasks;
}

// As a file has it: nothing is said of the application.
Graph graph_of(const std::vector<Task>& tasks, const std::vector<Bytes>& data) {
  Graph graph;
  for (const Bytes bytes : data) graph.add_datum({.bytes = bytes, .home = NodeKind::ram}, "x");
  const auto kernel = graph.add_kernel({.name = "kernel"});
  for (const Task& task : tasks) graph.add_task(kernel, task);
  return graph;
}

Graph lu(std::uint64_t tiles) {
  return graphs::dense_graph("lu", {.tiles = tiles, .tile = 10}).tasks;
}
Graph cholesky_of(std::uint64_t tiles) {
  return graphs::cholesky({.tiles = tiles, .tile = 10});
}

std::string name_of(const std::vector<Task>& tasks, std::size_t data) {
  const auto found = recognise(graph_of(tasks, std::vector<Bytes>(data, Bytes{400})));
  return found ? std::string(found->name) : "";
}

TEST(Recognise, FactorisationsByTheirTasksAlone) {
  for (const std::uint64_t n : {2U, 3U, 7U, 12U}) {
    for (const auto& [name, graph] :
         {std::pair("cholesky", cholesky_of(n)), std::pair("lu", lu(n))}) {
      const std::vector<Bytes> data(graph.data().size(), Bytes{400});
      const auto found = recognise(graph_of(tasks_of(graph), data));
      ASSERT_TRUE(found) << name << ' ' << n;
      EXPECT_EQ(found->name, name);
      const graph::DenseShape& said = *graph.application().dense;
      EXPECT_EQ(found->shape.tiles, said.tiles);
      EXPECT_EQ(found->shape.tile, said.tile);
      EXPECT_EQ(found->shape.element, said.element);
    }
  }
}

TEST(Recognise, WhateverTheTilesAreCalledAndHoweverTheTasksAreOrdered) {
  base::Random random(11);
  for (const Graph& graph : {cholesky_of(6), lu(5)}) {
    // Numbers of data are shuffled, and neighbours that share no datum change places.
    std::vector<Graph::Number> numbers(graph.data().size());
    std::iota(numbers.begin(), numbers.end(), 0);
    for (std::size_t i = numbers.size(); i > 1; --i) {
      std::swap(numbers[i - 1], numbers[random.below(i)]);
    }
    std::vector<Task> tasks = tasks_of(graph);
    for (Task& task : tasks) {
      for (Graph::Access& access : task) access.datum = numbers[access.datum];
    }
    const auto shares = [](const Task& a, const Task& b) {
      return std::ranges::any_of(a, [&](const Graph::Access& one) {
        return std::ranges::find(b, one.datum, &Graph::Access::datum) != b.end();
      });
    };
    for (int swaps = 0; swaps < 5000; ++swaps) {
      const std::size_t at = random.below(tasks.size() - 1);
      if (!shares(tasks[at], tasks[at + 1])) std::swap(tasks[at], tasks[at + 1]);
    }
    EXPECT_NE(name_of(tasks, numbers.size()), "");
    for (Graph::Number datum = 0; datum < numbers.size(); ++datum) {
      tasks.insert(tasks.begin(), Task{{datum, AccessMode::W}});  // as a program fills its matrix
    }
    EXPECT_NE(name_of(tasks, numbers.size()), "");
  }
}

// Of a bound that does not hold nobody would hear.
TEST(Recognise, NothingThatDiffersInOneTask) {
  base::Random random(12);
  for (const Graph& graph : {cholesky_of(6), lu(5)}) {
    const std::vector<Task> right = tasks_of(graph);
    const std::size_t data = graph.data().size();
    ASSERT_NE(name_of(right, data), "");
    EXPECT_EQ(name_of(right, data + 1), "");
    for (std::size_t t = 0; t < right.size(); ++t) {
      std::vector<Task> tasks = right;
      tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(t));
      EXPECT_EQ(name_of(tasks, data), "") << "without task " << t;
      tasks = right;
      tasks.insert(tasks.begin() + static_cast<std::ptrdiff_t>(t), right[t]);
      EXPECT_EQ(name_of(tasks, data), "") << "with task " << t << " twice";
      for (std::size_t i = 0; i < right[t].size(); ++i) {
        tasks = right;
        Graph::Access& access = tasks[t][i];
        access.datum = (access.datum + 1 + random.below(data - 1)) % data;
        EXPECT_EQ(name_of(tasks, data), "") << "operand " << i << " of task " << t;
        tasks = right;
        Graph::Access& other = tasks[t][i];
        other.mode = other.mode == AccessMode::R ? AccessMode::RW : AccessMode::R;
        EXPECT_EQ(name_of(tasks, data), "") << "mode " << i << " of task " << t;
      }
    }
    std::vector<Bytes> bytes(data, Bytes{400});
    bytes[data / 2] = Bytes{800};
    EXPECT_FALSE(recognise(graph_of(right, bytes)));
  }
}

TEST(Recognise, NoOtherGraph) {
  for (const char* name : {"gemm2d", "gemm3d", "lu-incpiv"}) {
    EXPECT_FALSE(recognise(graphs::dense_graph(name, {.tiles = 4, .tile = 10}).tasks)) << name;
  }
  EXPECT_FALSE(recognise(graphs::cholesky_two_level({.tiles = 4, .tile = 10}, 5)));
  EXPECT_FALSE(recognise(Graph{}));
}

TEST(Recognise, TilesThatAreNoSquaresCountAsElements) {
  const Graph graph = cholesky_of(4);
  const std::vector<Bytes> data(graph.data().size(), Bytes{1000});
  const auto found = recognise(graph_of(tasks_of(graph), data));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->shape.tile, 1U);
  EXPECT_EQ(found->shape.element, Bytes{1000});
}

}  // namespace
}  // namespace vicinal::bounds
