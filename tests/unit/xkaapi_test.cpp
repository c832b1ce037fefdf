// xkaapi and rws: what is pushed where, who steals what, and how many tasks are in flight.
#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/policy_fixture.hpp"
#include "support/told_run.hpp"

namespace vicinal {
namespace {

using testing::changing;
using ::testing::ElementsAre;
using testing::reading;
using testing::writing;

class StealingTest : public testing::AcceleratorPolicyTest {
 protected:
  using AcceleratorPolicyTest::AcceleratorPolicyTest;

  graph::Task& release(const std::string& name, WorkerId releasing,
                       const std::vector<testing::FakeOperand>& operands = {},
                       const testing::FakeGraph::Attributes& attributes = {}) {
    graph::Task& task = graph.task(name, operands, attributes);
    policy->push(task, releasing);
    return task;
  }
  graph::Handle& data_on(std::initializer_list<NodeId> where, Bytes bytes = {100}) {
    graph::Handle& handle = graph.data("d", bytes);
    for (const NodeId node : where) context.put(handle, node);
    return handle;
  }
};

// --- cores alone: no window

class Rws : public StealingTest {
 protected:
  Rws() : StealingTest("rws") {}
  void start_cores(std::uint32_t cores) {
    for (std::uint32_t i = 0; i < cores; ++i) context.add_worker();
    policy->start(context);
  }
};

TEST_F(Rws, AWorkerRunsFirstWhatItReleasedLast) {
  start_cores(2);
  for (const char* name : {"a", "b", "c"}) release(name, WorkerId{1});
  EXPECT_EQ(pop_all(1), "c b a");
}

TEST_F(Rws, AThiefTakesTheOldest) {
  start_cores(2);
  for (const char* name : {"a", "b", "c"}) release(name, WorkerId{1});
  EXPECT_EQ(pop(0), "a");
  EXPECT_EQ(pop(1), "c");
  EXPECT_EQ(pop(0), "b");
}

TEST_F(Rws, WhatTheApplicationReleasesIsStolenInOrderOnceAWorkersOwnListIsEmpty) {
  start_cores(1);
  push("first");
  push("second");
  release("own", WorkerId{0});
  EXPECT_EQ(pop_all(0), "own first second");
}

TEST_F(Rws, VictimsAreDrawnEvenlyFromThoseThatHaveATask) {
  start_cores(5);
  std::array<int, 5> stolen{};
  for (int i = 0; i < 3000; ++i) {
    for (const std::uint32_t worker : {1U, 3U, 4U})
      release(std::to_string(worker), WorkerId{worker});
    ++stolen.at(std::stoul(pop(0)));
    for (const std::uint32_t worker : {1U, 3U, 4U}) policy->pop(WorkerId{worker});
    policy->pop(WorkerId{2});
  }
  EXPECT_EQ(stolen[2], 0);
  // A third; the standard deviation is 26.
  for (const std::uint32_t worker : {1U, 3U, 4U}) EXPECT_NEAR(stolen.at(worker), 1000, 110);
}

TEST_F(Rws, ABoundTaskGoesToItsWorkerAndIsNeverStolen) {
  start_cores(3);
  release("bound", WorkerId{0}, {}, {.worker = WorkerId{2}});
  EXPECT_EQ(context.woken, (std::vector{WorkerId{2}}));
  EXPECT_EQ(pop(0), "-");
  EXPECT_EQ(pop(1), "-");
  EXPECT_EQ(pop(2), "bound");
}

TEST_F(Rws, WhatItsWorkerCannotRunIsLeftToThoseThatCan) {
  context.add_worker();
  start(1);  // worker 1
  release("own", WorkerId{0});
  release("for accelerators", WorkerId{0}, {}, {.accelerators_only = true});
  EXPECT_EQ(pop(0), "own");
  EXPECT_EQ(pop(1), "for accelerators");
}

TEST_F(Rws, DataDrawNoTask) {
  start(2);
  release("t", WorkerId{0}, {changing(data_on({nodes[1]}))});
  EXPECT_EQ(pop(0), "t");
}

// --- mailboxes

class XkaapiH1 : public StealingTest {
 protected:
  XkaapiH1() : StealingTest("xkaapi:push=h1") {}
};

TEST_F(XkaapiH1, TheNodeWithMostValidBytesTakesTheTask) {
  start(3);
  graph::Handle& small = data_on({nodes[0]});
  graph::Handle& large = data_on({nodes[2]}, Bytes{300});
  graph::Handle& middle = data_on({nodes[0]}, Bytes{150});
  release("t", WorkerId{0}, {reading(small), changing(large), reading(middle)});  // 250 and 300
  EXPECT_EQ(context.woken, (std::vector{WorkerId{2}}));
  EXPECT_EQ(pop(2), "t");
}

TEST_F(XkaapiH1, OnTiesItStaysElseTheFirstTakesIt) {
  start(4);
  graph::Handle& small = data_on({nodes[3]}, Bytes{50});
  graph::Handle& first = data_on({nodes[1]});
  graph::Handle& second = data_on({nodes[2]});
  release("goes", WorkerId{3}, {reading(small), reading(second), reading(first)});
  EXPECT_EQ(context.woken, (std::vector{WorkerId{1}}));
  context.woken.clear();
  release("stays", WorkerId{2}, {reading(small), reading(second), reading(first)});
  EXPECT_TRUE(context.woken.empty());
}

TEST_F(XkaapiH1, WhereRamHasAsMuchItStays) {
  start(2);
  release("t", WorkerId{0}, {reading(data_on({kRam, nodes[1]}))});
  EXPECT_TRUE(context.woken.empty());
  EXPECT_EQ(pop(0), "t");
}

TEST_F(XkaapiH1, ATaskOfTheApplicationGoesToItsDataToo) {
  start(2);
  push("t", {reading(data_on({nodes[1]}))});
  EXPECT_EQ(context.woken, (std::vector{WorkerId{1}}));
}

TEST_F(XkaapiH1, ANodeThatCannotRunItIsNotAsked) {
  start(2, Bytes{200});
  graph::Handle& data = data_on({nodes[1]}, Bytes{150});
  release("t", WorkerId{0}, {reading(data)}, {.worker = {}});
  EXPECT_EQ(context.woken, (std::vector{WorkerId{1}}));
  graph::Handle& other = data_on({kRam}, Bytes{100});
  context.woken.clear();
  release("large", WorkerId{0}, {reading(data), writing(other)});
  EXPECT_TRUE(context.woken.empty());
}

class XkaapiH2 : public StealingTest {
 protected:
  XkaapiH2() : StealingTest("xkaapi") {}
};

TEST_F(XkaapiH2, TheAcceleratorThatHoldsWhatIsWrittenTakesTheTask) {
  start(3);
  graph::Handle& read = data_on({nodes[0]}, Bytes{900});
  graph::Handle& written = data_on({nodes[2]});
  release("t", WorkerId{0}, {reading(read), changing(written)});
  EXPECT_EQ(context.woken, (std::vector{WorkerId{2}}));
}

TEST_F(XkaapiH2, OperandsThatAreHereOrNowhereElseArePassedOver) {
  start(3);
  graph::Handle& here = data_on({nodes[0], nodes[1]});
  graph::Handle& in_ram = data_on({kRam});
  graph::Handle& nowhere = data_on({});
  release("stays", WorkerId{0}, {changing(here), changing(in_ram), writing(nowhere)});
  EXPECT_TRUE(context.woken.empty());
  graph::Handle& there = data_on({kRam, nodes[2]});
  release("goes", WorkerId{0}, {changing(here), changing(in_ram), changing(there)});
  EXPECT_EQ(context.woken, (std::vector{WorkerId{2}}));
}

TEST_F(XkaapiH2, TheFirstSuchOperandDecidesAndTheFirstThatHoldsIt) {
  start(4);
  graph::Handle& first = data_on({nodes[3], nodes[2]});
  graph::Handle& second = data_on({nodes[1]});
  release("t", WorkerId{0}, {changing(first), changing(second)});
  EXPECT_EQ(context.woken, (std::vector{WorkerId{2}}));
}

TEST_F(XkaapiH2, TheMailboxComesBeforeTheOwnListFirstInFirstOutAndIsStolenLastFromTheEnd) {
  start(3);
  graph::Handle& data = data_on({nodes[1]});
  for (const char* name : {"own", "newest"}) release(name, WorkerId{1});
  for (const char* name : {"m", "n", "o", "p"}) release(name, WorkerId{0}, {changing(data)});
  EXPECT_EQ(pop(1), "m");
  EXPECT_EQ(pop(2), "own");
  EXPECT_EQ(pop(2), "newest");
  EXPECT_EQ(pop(2), "p");
  EXPECT_EQ(pop_all(1), "n o");
}

TEST_F(XkaapiH2, WhoWaitsKeepsTheFirstOfItsMailboxUnlessItIsAway) {
  start(3);
  graph::Handle& data = data_on({nodes[1]});
  for (const char* name : {"kept", "stolen"}) release(name, WorkerId{0}, {changing(data)});
  EXPECT_EQ(pop(0), "stolen");
  EXPECT_EQ(pop(0), "-");
  context.set_away(WorkerId{1});
  EXPECT_EQ(pop(0), "kept");
}

// --- schedules by hand. A byte takes 1 ns on each link; copies of one link follow each other.

MachineDescription two_accelerators() {
  MachineDescription machine = testing::machine_of({.accelerators = 2});
  for (LinkDescription& link : machine.links) link.copies_in_flight = 1;
  for (WorkerDescription& worker : machine.workers) worker.pipeline = 2;  // looks while one runs
  return machine;
}

// The four tasks lie in the application's list. Worker 0 steals t1 and t2, then its window is full; worker 1 steals
// t3 and t4. Each has 1000 bytes to copy: the first begin at 1000. t1 takes 6000 ns, the others 5000:
//   worker 0   t1 1000..7000   t2 7000..12000
//   worker 1   t3 1000..6000   t4 6000..11000
// The end of t1, at 7000, releases u on worker 0, whose one other task is t2. u reads a, which t1 wrote on device 1,
// and changes c, which t3 wrote on device 2.
//   h2    worker 0 has no valid c: u goes to worker 1, which has t4 alone in flight and takes it at once. a comes
//         through RAM until 9000; u runs from 11000 to 16000
//   rws   worker 0 takes u; c comes until 9000; u runs from 12000 to 17000
//   h1    1000 valid bytes on either device, and none in RAM: it stays. As rws
std::vector<std::int64_t> end_and_bytes(const std::string& policy) {
  testing::ToldRun run(two_accelerators(), policy, nullptr);
  const Codelet longer = testing::codelet_of("longer", Time{0}, Time{6000});
  const Codelet task = testing::codelet_of("task", Time{0}, Time{5000});
  std::array<Handle, 4> data;  // a to d
  for (Handle& handle : data) handle = run.data(Bytes{1000});
  for (const Handle& handle : data) {
    const std::vector<Operand> operands{RW(handle)};
    run.submit({.codelet = &handle == data.data() ? &longer : &task, .operands = operands});
  }
  const std::vector<Operand> operands{R(data[0]), RW(data[2])};
  run.submit({.codelet = &task, .operands = operands});
  run.wait();
  std::vector<std::int64_t> result{run.now().ns};
  for (const Bytes bytes : run.bytes_in()) result.push_back(static_cast<std::int64_t>(bytes.value));
  return result;
}

TEST(XkaapiSchedule, ASuccessorFollowsWhatItWritesUnderH2AndStaysUnderTheOthers) {
  EXPECT_THAT(end_and_bytes("xkaapi"), ElementsAre(16000, 1000, 2000, 3000));
  EXPECT_THAT(end_and_bytes("rws"), ElementsAre(17000, 1000, 3000, 2000));
  EXPECT_THAT(end_and_bytes("xkaapi:push=h1"), ElementsAre(17000, 1000, 3000, 2000));
}

// Three tasks of 5000 ns, each with 1000 bytes to copy. Worker 0 steals the first two, and would take the third, too:
// in a row they end at 16000. With a window of two worker 1 gets it, and the second ends last, at 11000. With one each
// begins with a task, and the third is copied when one has ended, at 6000.
Time end_of_three(const std::string& policy, std::uint32_t look_ahead) {
  Options options;
  options.policy = policy;
  options.look_ahead = look_ahead;
  Runtime runtime(two_accelerators(), options);
  const Codelet codelet = testing::codelet_of("task", Time{0}, Time{5000});
  std::array<std::byte, 3000> bytes;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<Operand> operands{R(runtime.register_buffer(&bytes[i * 1000], Bytes{1000}))};
    runtime.submit({.codelet = &codelet, .operands = operands});
  }
  runtime.wait();
  return runtime.statistics().now;
}

TEST(XkaapiSchedule, AnAcceleratorHasTwoTasksInFlightUnlessToldOtherwise) {
  EXPECT_EQ(end_of_three("xkaapi", 0), Time{11000});
  EXPECT_EQ(end_of_three("rws", 0), Time{11000});
  EXPECT_EQ(end_of_three("xkaapi:window=0", 0), Time{16000});
  EXPECT_EQ(end_of_three("xkaapi:window=1", 0), Time{12000});
  EXPECT_EQ(end_of_three("xkaapi", 8), Time{16000});
}

}  // namespace
}  // namespace vicinal
