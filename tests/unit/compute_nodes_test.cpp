// The memory nodes that have workers, as policies see them.
#include <gtest/gtest.h>

#include "sched/nodes.hpp"
#include "support/fake_context.hpp"

namespace vicinal::sched {
namespace {

using testing::FakeContext;
using testing::FakeGraph;

TEST(ComputeNodes, HaveNumbersInTheOrderOfTheirWorkers) {
  FakeContext context;
  const NodeId near = context.add_device();
  const NodeId idle = context.add_device();
  const WorkerId first = context.add_worker(near);
  const WorkerId core = context.add_worker();
  const WorkerId second = context.add_worker(near);
  Nodes nodes;
  nodes.start(context);
  ASSERT_EQ(nodes.count(), 2U);
  EXPECT_EQ(nodes[0].id, near);
  EXPECT_EQ(nodes.of(first), 0U);
  EXPECT_EQ(nodes.of(second), 0U);
  EXPECT_EQ(nodes.workers(0), 2);
  EXPECT_EQ(nodes.of(core), nodes.find(kRam));
  EXPECT_EQ(nodes.id_of(second), near);
  EXPECT_EQ(nodes.find(idle), kNoNode);
}

TEST(ComputeNodes, AreAlikeIfTheirWorkersAndLimitsAre) {
  FakeContext context;
  for (const Bytes limit : {Bytes{100}, Bytes{100}, Bytes{200}}) {
    context.add_worker(context.add_device(limit));
  }
  Nodes nodes;
  nodes.start(context);
  EXPECT_EQ(nodes[1].like, 0U);
  EXPECT_EQ(nodes[2].like, 2U);
  EXPECT_FALSE(nodes.all_alike());
}

TEST(ComputeNodes, TheirFirstAbleWorkerIsAskedForTheTimeOfATask) {
  FakeContext context;
  const NodeId device = context.add_device();
  context.add_worker(device, ProcessorKind::opencl);
  const WorkerId able = context.add_worker(device, ProcessorKind::emulated);
  context.add_worker();
  FakeGraph graph;
  const graph::Task& task = graph.task("task", {}, {.time = Time{10}, .accelerator_time = Time{3}});
  Nodes nodes;
  nodes.start(context);
  EXPECT_EQ(nodes.able_worker(task, 0), able);
  EXPECT_EQ(nodes.run_time(task, 0), Time{3});
  EXPECT_EQ(nodes.run_time(task, 1), Time{10});
  const graph::Task& elsewhere = graph.task("task", {}, {.accelerators_only = true});
  EXPECT_EQ(nodes.able_worker(elsewhere, 1), std::nullopt);
  EXPECT_EQ(nodes.run_time(elsewhere, 1), Time{});
}

TEST(ComputeNodes, AreAwayWithAllTheirWorkers) {
  FakeContext context;
  const WorkerId one = context.add_worker();
  const WorkerId other = context.add_worker();
  Nodes nodes;
  nodes.start(context);
  context.set_away(one);
  EXPECT_EQ(nodes.present_workers(0), 1U);
  EXPECT_FALSE(nodes.all_away(0));
  context.set_away(other);
  EXPECT_TRUE(nodes.all_away(0));
}

}  // namespace
}  // namespace vicinal::sched
