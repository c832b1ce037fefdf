#include "graph/graph.hpp"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machine/machine_model.hpp"
#include "play/play.hpp"

namespace vicinal::graph {
namespace {

using Numbers = std::array<Graph::Number, 2>;

TEST(Graph, OfTasksWithoutNamesHasEmptyNames) {
  Graph graph;
  graph.add_task(0, {});
  graph.add_task(0, {}, 0, "second");
  graph.add_task(0, {});
  graph.add_task(0, {}, 0, "fourth");
  EXPECT_EQ(graph.task_name(0), "");
  EXPECT_EQ(graph.task_name(1), "second");
  EXPECT_EQ(graph.task_name(2), "");
  EXPECT_EQ(graph.task_name(3), "fourth");
}

TEST(Graph, KnowsOfEachTaskTheOnesItFollows) {
  Graph graph;
  graph.add_task(0, {});
  graph.add_task(0, {});
  EXPECT_FALSE(graph.has_predecessors());
  graph.add_task(0, {}, 0, {}, Numbers{1, 0});
  graph.add_task(0, {});
  EXPECT_TRUE(graph.has_predecessors());
  EXPECT_TRUE(graph.predecessors_of(1).empty());
  ASSERT_EQ(graph.predecessors_of(2).size(), 2U);
  EXPECT_EQ(graph.predecessors_of(2)[0], 1U);
  EXPECT_TRUE(graph.predecessors_of(3).empty());
}

TEST(Graph, PlayedKeepsDependenciesWithoutData) {
  // Two tasks of 1 ms that share nothing, on two workers: 1 ms side by side, 2 ms one after the other.
  const machine::MachineModel machine = machine::load_machine("v100p", {.gpus = 2});
  const auto milliseconds = [&](bool in_order) {
    Graph graph;
    graph.add_kernel({.name = "one", .seconds = {0, 0, 1e-3}});
    graph.add_task(0, {});
    const Numbers before{0, 0};
    graph.add_task(0, {}, 0, {}, std::span(before).first(in_order ? 1 : 0));
    const play::Played played = play::play(graph, machine, {.policy = "dmdas"});
    return (played.after.now - played.before.now).seconds() * 1e3;
  };
  EXPECT_LT(milliseconds(false), 1.5);
  EXPECT_GE(milliseconds(true), 2);
}

TEST(Graph, PlayedKernelsDrawWhatTheMachineSaysOfThem) {
  // Two tasks of 1 ms side by side, each of which demands all that the memory has: 2 ms.
  const auto milliseconds = [](const std::string& demand) {
    const machine::MachineModel machine = machine::parse_machine(
        R"(name = "two cores"
sentence = "on one memory controller"
[cpu]
most = 2
draws_on = ["memory"]
[segment.memory]
bandwidth = "8 GB/s"
duplex = "half"
[[speed]]
kernel = "one"
kind = "cpu"
time = "1 ms"
)" + demand,
        "m.toml", {});
    Graph graph;
    graph.add_kernel({.name = "one"});
    graph.add_task(0, {});
    graph.add_task(0, {});
    const play::Played played = play::play(graph, machine, {.policy = "eager"});
    return (played.after.now - played.before.now).seconds() * 1e3;
  };
  EXPECT_NEAR(milliseconds(""), 1, 1e-9);
  EXPECT_NEAR(milliseconds("demand = \"8 GB/s\"\n"), 2, 1e-9);
}

}  // namespace
}  // namespace vicinal::graph
