// dmda and random: which worker takes a task, and what is copied for it at once.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/deque_model_fixture.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using testing::DequeModelTest;
using testing::FakeContext;
using testing::reading;
using testing::writing;

class Dmda : public DequeModelTest {
 protected:
  Dmda() : DequeModelTest("dmda") {}
};

TEST_F(Dmda, StaysNearTheDataUntilTheQueueOutweighsTheCopyTwice) {
  start(2);
  graph::Handle& data = data_on(nodes[0]);
  // The n-th task on worker 0 costs 50 n. Worker 1: C = 100 + 50, and P = 100 once more: 250. The
  // fifth is a tie.
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    push(name, {reading(data)}, {.time = Time{50}});
  }
  EXPECT_EQ(pop_all(0), "a b c d e");
  EXPECT_EQ(pop_all(1), "f");
}

TEST_F(Dmda, SaysWhichTasksComeNext) {
  start(1);
  std::vector<const graph::Task*> tasks;
  for (const char* name : {"a", "b", "c", "d", "e"}) tasks.push_back(&push(name, {}));
  ASSERT_EQ(pop(0), "a");
  EXPECT_EQ(context.expected_worker, WorkerId{0});
  EXPECT_EQ(context.expected, (std::vector{tasks[1], tasks[2], tasks[3]}));
  ASSERT_EQ(pop(0), "b");
  ASSERT_EQ(pop(0), "c");
  EXPECT_EQ(context.expected, (std::vector{tasks[3], tasks[4]}));
  ASSERT_EQ(pop(0), "d");
  ASSERT_EQ(pop(0), "e");
  EXPECT_TRUE(context.expected.empty());
}

TEST_F(Dmda, DataThatHaveBeenAskedForCostNothing) {
  start(2);
  graph::Handle& data = data_on(kRam);
  push("first", {reading(data)});  // a tie: worker 0, which waits for the copy until 100
  // On worker 0: 110 + 10. On worker 1: 110, and P = 100.
  push("second", {reading(data)});
  EXPECT_EQ(pop_all(0), "first second");
}

TEST_F(Dmda, WhatIsOnlyWrittenCostsNothing) {
  start(2);
  graph::Handle& data = data_on(nodes[0]);
  push("busy", {}, {.time = Time{20}, .worker = WorkerId{0}});
  push("writer", {writing(data)});
  EXPECT_EQ(pop_all(1), "writer");
}

TEST_F(Dmda, AQueueIsAsLongAsItsTasksAndTheirWaitsForData) {
  start(2);
  push("loads", {reading(data_on(kRam))});  // worker 0 until 110
  push("short", {});                        // worker 1 until 10
  push("long", {}, {.time = Time{105}});    // 110 + 105 > 10 + 105: worker 1 until 115
  push("last", {});                         // 110 + 10 < 115 + 10
  EXPECT_EQ(pop_all(0), "loads last");
  EXPECT_EQ(pop_all(1), "short long");
}

TEST_F(Dmda, CountsWhatAWorkerWasGivenUntilItEnds) {
  start(2);
  graph::Task& running = push("running", {}, {.time = Time{50}});
  ASSERT_EQ(pop(0), "running");  // until 50
  push("b", {});                 // worker 1 until 10
  ASSERT_EQ(pop(1), "b");
  push("c", {}, {.time = Time{35}});  // worker 1 until 45
  ASSERT_EQ(pop(1), "c");
  context.set_now(Time{20});
  policy->task_done(running, WorkerId{0});  // earlier than predicted
  push("d", {});                            // 20 + 10 < 45 + 10
  EXPECT_EQ(pop_all(0), "d");
}

// CPU 0 is busy until 700, so it ends the task at 710. On the accelerator it ends at P + 10, and P
// counts twice.
std::string taken_by_accelerator(std::vector<std::uint32_t> segments, testing::FakeGraph& graph) {
  FakeContext context;
  context.add_worker();
  const NodeId first = context.add_device();
  const NodeId second = context.add_device();
  context.add_worker(first);
  for (const NodeId node : {first, second}) {
    context.add_link({kRam, node, BytesPerSecond{1e9}, Time{7}, 1, segments});
  }
  const auto policy = sched::make_policy("dmda");
  policy->start(context);
  policy->push(graph.task("long", {}, {.time = Time{700}, .worker = WorkerId{0}}), kNoWorker);
  graph::Handle& data = graph.data("d");
  context.put(data, kRam);
  policy->push(graph.task("t", {reading(data)}), kNoWorker);
  return testing::name_of(policy->pop(WorkerId{1}));
}

TEST_F(Dmda, ASharedBusIsTakenToBeAsSlowAsIfAllUsedItBothWays) {
  EXPECT_EQ(taken_by_accelerator({}, graph), "t");   // P = 7 + 100
  EXPECT_EQ(taken_by_accelerator({0}, graph), "-");  // P = 7 + 100 x 2 x 2: 2 P + 10 > 710
}

TEST_F(Dmda, WithoutAModelTheWorkerWithFewestTasksTakesIt) {
  start(3);
  push("a", {}, {.time = Time{0}, .worker = WorkerId{1}});
  for (const char* name : {"b", "c", "d"}) push(name, {}, {.time = Time{0}});
  EXPECT_EQ(pop_all(0), "b d");  // 0 1 0: b; 1 1 0: c; 1 1 1: d
  EXPECT_EQ(pop_all(1), "a");
  EXPECT_EQ(pop_all(2), "c");
}

TEST_F(Dmda, RequestsTheDataOfATaskAndWakesItsWorkerWhenItIsPushed) {
  start(2);
  const graph::Task& task = push("t", {reading(data_on(kRam))}, {.worker = WorkerId{1}});
  EXPECT_EQ(context.prefetches, (std::vector{FakeContext::Prefetch{&task, nodes[1]}}));
  EXPECT_EQ(context.woken, (std::vector{WorkerId{1}}));
}

TEST_F(Dmda, KeepsATaskForItsWorkerUnlessThatIsAway) {
  start(2);
  push("t", {reading(data_on(nodes[1]))});
  EXPECT_EQ(pop(0), "-");
  context.set_away(WorkerId{1});
  EXPECT_EQ(pop(0), "t");
}

class RandomChoice : public DequeModelTest {
 protected:
  RandomChoice() : DequeModelTest("random") {}
};

TEST_F(RandomChoice, AWorkerIsDrawnAsOftenAsItIsFast) {
  context.add_worker();
  context.add_worker(context.add_device());
  policy->start(context);
  for (int i = 0; i < 4000; ++i) push("t", {}, {.time = Time{30}, .accelerator_time = Time{10}});
  int on_cpu = 0;
  while (policy->pop(WorkerId{0}) != nullptr) ++on_cpu;
  // A quarter; the standard deviation is 27.
  EXPECT_NEAR(on_cpu, 1000, 110);
}

// --- prefetches at push, in a simulated run -------------------------------------------------------

constexpr Bytes kBlock = 1_MiB;

// A kernel of 10 ms without data, then five of 100 us, each with a block of 1 ms of copying. With room
// for `blocks` blocks.
Time simulated_time(const std::string& policy, std::uint64_t blocks) {
  const NodeId device{1};
  const BytesPerSecond bandwidth{static_cast<double>(kBlock.value) * 1000};
  const MachineDescription machine{
      .nodes = {{kRam, "ram", NodeKind::ram, {}},
                {device, "gpu", NodeKind::device, kBlock * blocks}},
      .links = {{kRam, device, bandwidth, Time{0}, 1}, {device, kRam, bandwidth, Time{0}, 1}},
      .workers = {{WorkerId{0}, ProcessorKind::emulated, device}}};
  Options options;
  options.policy = policy;
  options.look_ahead = 1;  // and one per worker: two pulled
  Runtime runtime(machine, options);
  const Codelet first{.name = "first", .expected = {Time{0}, Time{10'000'000}}};
  const Codelet second{.name = "second", .expected = {Time{0}, Time{100'000}}};
  runtime.submit({.codelet = &first});
  std::vector<std::byte> buffers(5 * kBlock.value);
  for (std::size_t i = 0; i < 5; ++i) {
    const Handle block = runtime.register_buffer(buffers.data() + i * kBlock.value, kBlock);
    const std::vector<Operand> operands{R(block)};
    runtime.submit({.codelet = &second, .operands = operands});
  }
  runtime.wait();
  return runtime.statistics().now;
}

TEST(PrefetchAtPush, CopiesGoBeyondTheLookAheadWhereThereIsRoom) {
  // All five blocks arrive during the first kernel.
  EXPECT_EQ(simulated_time("dmda", 8), Time{10'500'000});
  // The worker asks for the second task when the first has ended: five copies, then the last kernel.
  EXPECT_EQ(simulated_time("eager", 8), Time{15'100'000});
}

TEST(PrefetchAtPush, NothingIsEvictedForIt) {
  // Three blocks arrive during the first kernel. The room of the others is made when their tasks are
  // pulled, after the third, at 10.3 ms: two copies, then the last kernel.
  EXPECT_EQ(simulated_time("dmda", 3), Time{12'400'000});
}

}  // namespace
}  // namespace vicinal
