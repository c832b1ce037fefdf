// The list schedulers (dmda, dmdar, dmdas, heft, random) and belady.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "sched/policies/dm_queue.hpp"
#include "support/fake_candidates.hpp"
#include "support/policy_fixture.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using memory::EvictionReason;
using testing::FakeContext;
using testing::FakeGraph;
using testing::FakeOperand;
using testing::reading;
using testing::writing;

// A byte takes 1 ns.
class DequeModelTest : public testing::AcceleratorPolicyTest {
 protected:
  using AcceleratorPolicyTest::AcceleratorPolicyTest;

  graph::Handle& data_on(NodeId node, Bytes bytes = {100}) {
    graph::Handle& handle = graph.data("d", bytes);
    context.put(handle, node);
    return handle;
  }
  void load(graph::Handle& handle, NodeId node) {
    context.put(handle, node);
    policy->data_loaded(handle, node);
  }
  void evict(graph::Handle& handle, NodeId node) {
    context.take_away(handle, node);
    policy->data_evicted(handle, node);
  }
};

// --- the worker ---------------------------------------------------------------------------------

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

TEST_F(Dmda, WishesForTheDataOfATaskAndWakesItsWorkerWhenItIsPushed) {
  start(2);
  const graph::Task& task = push("t", {reading(data_on(kRam))}, {.worker = WorkerId{1}});
  EXPECT_EQ(context.wishes, (std::vector{FakeContext::Wish{&task, nodes[1]}}));
  EXPECT_EQ(context.woken, (std::vector{WorkerId{1}}));
}

TEST_F(Dmda, KeepsATaskForItsWorkerUnlessThatIsAway) {
  start(2);
  push("t", {reading(data_on(nodes[1]))});
  EXPECT_EQ(pop(0), "-");
  context.set_away(WorkerId{1});
  EXPECT_EQ(pop(0), "t");
}

// --- the order of a queue -----------------------------------------------------------------------

class Dmdar : public DequeModelTest {
 protected:
  Dmdar() : DequeModelTest("dmdar") {}
};

TEST_F(Dmdar, TakesTheTaskWithFewestMissingBytesAndAmongEqualsTheFirst) {
  start(1);
  push("200", {reading(data_on(kRam)), reading(data_on(kRam))});
  push("100", {reading(data_on(kRam)), reading(data_on(nodes[0]))});
  push("0", {reading(data_on(nodes[0]))});
  push("100 too", {reading(data_on(kRam))});
  EXPECT_EQ(pop(), "0");
  EXPECT_EQ(pop(), "100");
  EXPECT_EQ(pop(), "100 too");
  EXPECT_EQ(pop(), "200");
}

TEST_F(Dmdar, HeedsWhatArrivesAndLeavesWhileTasksWait) {
  start(1);
  graph::Handle& a = data_on(kRam);
  graph::Handle& b = data_on(kRam);
  for (const char* name : {"a1", "a2"}) push(name, {reading(a)});
  for (const char* name : {"b1", "b2"}) push(name, {reading(b)});
  load(b, nodes[0]);
  EXPECT_EQ(pop(), "b1");
  load(a, nodes[0]);
  EXPECT_EQ(pop(), "a1");
  evict(a, nodes[0]);
  EXPECT_EQ(pop(), "b2");
  EXPECT_EQ(pop(), "a2");
}

TEST_F(Dmdar, OfTasksThatLackNothingTakesTheOneWhoseOutputHasItsPlace) {
  start(1);
  push("new", {writing(graph.data("o"))});
  push("old", {writing(data_on(nodes[0]))});
  EXPECT_EQ(pop_all(), "old new");
}

TEST_F(Dmdar, DoesNotPassTheHeadForATaskOfLowerPriority) {
  start(1);
  graph::Handle& here = data_on(nodes[0]);
  push("head", {reading(data_on(kRam))}, {.priority = 1});
  push("lower", {reading(here)}, {.priority = 0});
  push("higher", {reading(here)}, {.priority = 2});
  EXPECT_EQ(pop_all(), "higher head lower");
}

class Dmdas : public DequeModelTest {
 protected:
  Dmdas() : DequeModelTest("dmdas") {}
};

TEST_F(Dmdas, SaysWhichTasksComeNextHoweverManyWait) {
  start(1);
  base::Random random(20261122);
  for (int i = 0; i < 200; ++i) push("t", {}, {.priority = static_cast<int>(random.below(5))});
  std::vector<const graph::Task*> expected;
  std::size_t told = 0;
  for (int given = 0; given < 200; ++given) {
    const graph::Task* const task = policy->pop(WorkerId{0});
    ASSERT_NE(task, nullptr);
    if (given > 0) {
      ASSERT_EQ(task, expected.front()) << given;
    }
    expected = context.expected;
    told += expected.size();
  }
  EXPECT_GT(told, 3 * 150U);  // where a priority ends fewer are known
}

TEST_F(Dmdas, TakesTheHighestPriorityAndAmongEqualsTheOneThatLacksLeast) {
  start(1);
  graph::Handle& here = data_on(nodes[0]);
  push("low, here", {reading(here)}, {.priority = 1});
  push("high, absent", {reading(data_on(kRam))}, {.priority = 2});
  push("high, here", {reading(here)}, {.priority = 2});
  EXPECT_EQ(pop(), "high, here");
  EXPECT_EQ(pop(), "high, absent");
  EXPECT_EQ(pop(), "low, here");
}

// Against the rule as it is written: a walk through all that is queued, in the order of the pushes.
class QueueModel {
 public:
  explicit QueueModel(sched::dm::Order order) : order_(order) {}
  std::vector<sched::dm::TaskRecord*> items;

  sched::dm::TaskRecord* first() const {
    if (items.empty()) return nullptr;
    sched::dm::TaskRecord* head = items.front();
    for (auto* item : items) {
      if (order_.by_priority && item->task->priority > head->task->priority) head = item;
    }
    if (!order_.ready_first) return head;
    sched::dm::TaskRecord* best = head;
    for (auto* item : items) {
      if (item->task->priority < head->task->priority) continue;
      const bool earlier = item->missing == best->missing && item->number < best->number;
      if (item->missing < best->missing || earlier) best = item;
    }
    return best;
  }

 private:
  sched::dm::Order order_;
};

void compare_with_model(sched::dm::Order order) {
  base::Random random(20250301);
  std::deque<graph::Task> tasks(150);
  std::deque<sched::dm::TaskRecord> records(tasks.size());
  std::vector<sched::dm::TaskRecord*> outside;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    records[i].task = &tasks[i];
    outside.push_back(&records[i]);
  }
  const auto lack = [&] {
    return sched::dm::Missing{random.below(3) * 100, random.below(2) * 100, random.below(2) * 50};
  };
  sched::dm::Queue queue(order);
  QueueModel model(order);
  std::uint64_t number = 0;
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t what = random.below(4);
    if (what == 0 && !outside.empty()) {
      std::swap(outside[random.below(outside.size())], outside.back());
      auto& record = *outside.back();
      outside.pop_back();
      record.task->priority = static_cast<int>(random.below(3));
      record.missing = lack();
      record.number = number++;
      queue.insert(record);
      model.items.push_back(&record);
    } else if (what == 1 && !model.items.empty()) {
      auto& record =
          random.below(2) == 0 ? *queue.first() : *model.items[random.below(model.items.size())];
      queue.remove(record);
      std::erase(model.items, &record);
      outside.push_back(&record);
    } else if (!model.items.empty()) {
      auto& record = *model.items[random.below(model.items.size())];
      record.missing = lack();
      queue.missing_changed(record);
    }
    ASSERT_EQ(queue.size(), model.items.size());
    ASSERT_EQ(queue.first(), model.first()) << "step " << step;
  }
}

TEST(DequeModelQueue, DoesWhatAWalkThroughTheWholeQueueDoesUnderRandomOperations) {
  for (const bool by_priority : {false, true}) {
    for (const bool ready_first : {false, true}) {
      SCOPED_TRACE(std::string(by_priority ? "by priority" : "first in, first out") +
                   (ready_first ? ", ready first" : ""));
      compare_with_model({.by_priority = by_priority, .ready_first = ready_first});
    }
  }
}

// --- heft, random -------------------------------------------------------------------------------

class Heft : public DequeModelTest {
 protected:
  Heft() : DequeModelTest("heft") {}
};

TEST_F(Heft, PlacesWhatBecameReadyTogetherByDecreasingPriority) {
  start(2);
  // In the order of the pushes b would be with a, and c alone.
  push("a", {}, {.priority = 1, .time = Time{10}});
  push("b", {}, {.priority = 2, .time = Time{20}});
  push("c", {}, {.priority = 3, .time = Time{40}});
  EXPECT_EQ(pop_all(0), "c");
  EXPECT_EQ(pop_all(1), "b a");
}

TEST_F(Heft, TheEarliestEndDecidesWhateverIsCopiedForIt) {
  start(2);
  graph::Handle& data = data_on(nodes[0]);
  push("long", {}, {.priority = 1, .time = Time{111}, .worker = WorkerId{0}});
  push("t", {reading(data)});  // 121 on worker 0, 110 on worker 1; dmda adds 100 to that
  EXPECT_EQ(pop_all(1), "t");
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

// --- workers of two kinds -----------------------------------------------------------------------

// Worker 0 is a core, the others are accelerators; times are those on a core, and on an accelerator.
class HeftOnTwoKinds : public DequeModelTest {
 protected:
  HeftOnTwoKinds() : DequeModelTest("heft") {}

  void start_with_core(std::size_t accelerators) {
    context.add_worker();
    nodes.push_back(kRam);
    start(accelerators);
  }
  void push_task(const std::string& name, int priority, std::int64_t core,
                 std::int64_t accelerator) {
    push(name, {},
         {.priority = priority, .time = Time{core}, .accelerator_time = Time{accelerator}});
  }
  // Three tasks on the accelerator, which ends them at 20, 40, 60; the core, at 61 at least, gets none.
  // Then one that goes ahead of the last two: they end at 60 and 80.
  void let_one_go_ahead() {
    for (const char* name : {"a", "b", "c"}) push_task(name, 1, 61, 20);
    ASSERT_EQ(pop(0), "-");
    ASSERT_EQ(pop(1), "a");
    push_task("urgent", 2, 500, 20);
    context.woken.clear();
  }
};

TEST_F(HeftOnTwoKinds, AnIdleWorkerTakesTheLastTaskIfItEndsSoonerWithIt) {
  start_with_core(1);
  let_one_go_ahead();
  EXPECT_EQ(pop(0), "c");  // at 61 instead of 80
  EXPECT_EQ(pop(0), "-");  // it has one
  EXPECT_EQ(pop_all(1), "urgent b");
}

TEST_F(HeftOnTwoKinds, WhatWouldEndLaterWithAnIdleWorkerStays) {
  start_with_core(1);
  let_one_go_ahead();
  context.set_now(Time{4});
  EXPECT_EQ(pop(0), "-");  // 4 + 61 and a quarter of that, 15, is 80
  EXPECT_EQ(pop_all(1), "urgent b c");
}

TEST_F(HeftOnTwoKinds, AWorkerThatFoundNothingIsWokenWhenATaskWouldEndSoonerWithIt) {
  start_with_core(1);
  let_one_go_ahead();
  EXPECT_EQ(pop(1), "urgent");
  EXPECT_GT(std::ranges::count(context.woken, WorkerId{0}), 0);
  context.woken.clear();
  EXPECT_EQ(pop(0), "c");
  EXPECT_EQ(pop(1), "b");
  EXPECT_TRUE(context.woken.empty());  // nothing is left
}

TEST_F(HeftOnTwoKinds, CopiesMustTakeLessThanIsGained) {
  for (const std::uint64_t bytes : {1, 2}) {
    SCOPED_TRACE(bytes);
    FakeContext machine;
    machine.add_worker();
    const NodeId device = machine.add_device();
    machine.add_worker(device);
    const auto heft = sched::make_policy("heft");
    heft->start(machine);
    graph::Handle& data = graph.data("d", Bytes{bytes});
    machine.put(data, device);
    const auto add = [&](const std::string& name, int priority, std::int64_t core) {
      heft->push(
          graph.task(name, {reading(data)},
                     {.priority = priority, .time = Time{core}, .accelerator_time = Time{20}}),
          kNoWorker);
    };
    for (const char* name : {"a", "b", "c"}) add(name, 1, 61);
    ASSERT_EQ(testing::name_of(heft->pop(WorkerId{1})), "a");
    add("urgent", 2, 500);
    // c ends at 80 there; here at 61 without the copy, with a quarter more at 76: 4 less.
    EXPECT_EQ(testing::name_of(heft->pop(WorkerId{0})), bytes == 1 ? "c" : "-");
  }
}

TEST_F(HeftOnTwoKinds, WhatIsBoundToAWorkerStays) {
  start_with_core(1);
  push("a", {}, {.priority = 1, .time = Time{61}, .accelerator_time = Time{20}});
  ASSERT_EQ(pop(1), "a");
  for (const char* name : {"b", "c", "d", "e"}) {
    push(name, {}, {.time = Time{1}, .accelerator_time = Time{20}, .worker = WorkerId{1}});
  }
  EXPECT_EQ(pop(0), "-");
  EXPECT_EQ(pop_all(1), "b c d e");
}

TEST_F(HeftOnTwoKinds, AmongWorkersOfOneKindEachKeepsWhatItWasGiven) {
  start(2);
  push("a", {}, {.priority = 1, .time = Time{20}});
  graph::Task& other = push("other", {}, {.priority = 1, .time = Time{30}});
  push("b", {}, {.priority = 1, .time = Time{20}});  // behind a, until 40
  ASSERT_EQ(pop(0), "a");
  push("urgent", {}, {.priority = 2, .time = Time{20}, .worker = WorkerId{0}});  // b until 60
  ASSERT_EQ(pop(1), "other");
  context.set_now(Time{30});
  policy->task_done(other, WorkerId{1});
  EXPECT_EQ(pop(1), "-");  // though 30 + 20 is 50
  EXPECT_EQ(pop_all(0), "urgent b");
}

// --- belady -------------------------------------------------------------------------------------

class Belady : public DequeModelTest {
 protected:
  Belady() : DequeModelTest("belady") {}

  graph::Handle* choose(const std::vector<graph::Handle*>& candidates,
                        EvictionReason reason = EvictionReason::firm) {
    testing::FakeCandidates list(candidates);
    return policy->victims()->choose(nodes[0], Bytes{100}, reason, list);
  }
};

TEST_F(Belady, EvictsWhatIsUsedLastByTheQueue) {
  start(1);
  graph::Handle& a = data_on(nodes[0]);
  graph::Handle& b = data_on(nodes[0]);
  graph::Handle& c = data_on(nodes[0]);
  push("1", {reading(b)});
  push("2", {reading(c)});
  push("3", {reading(a)});
  push("4", {reading(c)});
  EXPECT_EQ(choose({&b, &c, &a}), &a);  // next uses 1, 2, 3
  EXPECT_EQ(pop(), "1");
  EXPECT_EQ(choose({&b, &c, &a}), &a);  // b is in use: it comes before all that is queued
}

TEST_F(Belady, EvictsFirstWhatNoReadyTaskUses) {
  start(1);
  graph::Handle& used = data_on(nodes[0]);
  graph::Handle& unknown = data_on(nodes[0]);
  graph::Handle& done = data_on(nodes[0]);
  graph::Task& task = push("t", {reading(done)});
  EXPECT_EQ(pop(), "t");
  policy->task_done(task, WorkerId{0});
  push("u", {reading(used)});
  EXPECT_EQ(choose({&used, &unknown, &done}), &unknown);
  EXPECT_EQ(choose({&used, &done, &unknown}), &done);
}

TEST_F(Belady, AnEarlyCopyDoesNotDriveOutWhatTheNodeWasGiven) {
  start(1);
  graph::Handle& first = data_on(nodes[0]);
  graph::Handle& second = data_on(nodes[0]);
  push("1", {reading(first)});
  push("2", {reading(second)});
  EXPECT_EQ(pop_all(), "1 2");
  EXPECT_EQ(choose({&first, &second}, EvictionReason::prefetch), nullptr);
  EXPECT_EQ(choose({&first, &second}), &second);
}

// --- wishes at push, in a simulated run ----------------------------------------------------------

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

TEST(PrefetchAtPush, NothingIsDrivenOutForIt) {
  // Three blocks arrive during the first kernel. The room of the others is made when their tasks are
  // pulled, after the third, at 10.3 ms: two copies, then the last kernel.
  EXPECT_EQ(simulated_time("dmda", 3), Time{12'400'000});
}

}  // namespace
}  // namespace vicinal
