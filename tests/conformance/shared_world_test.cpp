// Several runtimes in one simulated world. Times are worked out by hand; bandwidths are in bytes per nanosecond.
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/policy.hpp"
#include "support/small_runs.hpp"
#include "support/tested.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal {
namespace {

using ::testing::HasSubstr;

constexpr NodeId kServer{1};
const Codelet kTask{.name = "task", .expected = {Time{100}}};

BytesPerSecond per_ns(double bytes) {
  return {bytes * 1e9};
}

// A core and a server with data, joined by links that pass the segments.
MachineDescription host(double link, std::vector<SegmentDescription> segments = {}) {
  MachineDescription machine;
  machine.nodes = {{kRam, "ram", NodeKind::ram, {}}, {kServer, "server", NodeKind::disk, {}}};
  machine.links = {{kServer, kRam, per_ns(link), Time{0}}, {kRam, kServer, per_ns(link), Time{0}}};
  for (LinkDescription& each : machine.links) {
    for (std::uint32_t s = 0; s < segments.size(); ++s) each.segments.push_back(s);
  }
  machine.workers = {{WorkerId{0}, ProcessorKind::cpu, kRam}};
  machine.segments = std::move(segments);
  return machine;
}

// Submits a task that reads so many bytes from the server.
void read(Runtime& runtime, std::uint64_t bytes) {
  const Handle data = runtime.register_simulated(Bytes{bytes}, kServer, "data");
  runtime.submit({.codelet = &kTask, .operands = {R(data)}});
}

// At once.
void read_1000_and_3000(Runtime& first, Runtime& second) {
  read(first, 1000);
  read(second, 3000);
}

using Ends = std::pair<Time, Time>;

// When each has ended.
Ends ends_of_1000_and_3000(SimulatedWorld& world, Runtime& first, Runtime& second) {
  read_1000_and_3000(first, second);
  first.wait();
  const Time end_of_first = world.now();
  second.wait();
  return {end_of_first, world.now()};
}

template <typename Call>
std::string refusal(Call call) {
  return testing::message_of<UsageError>(call);
}

// A world with a network of 4 bytes per nanosecond.
class SharedNetwork : public ::testing::Test {
 protected:
  SimulatedWorld world;
  const SegmentDescription network = world.add_segment("network", per_ns(4));
};

// Two runtimes that share nothing but their world.
class TwoRuntimes : public ::testing::Test {
 protected:
  SimulatedWorld world;
  Runtime first{host(1), {}, world};
  Runtime second{host(1), {}, world};
};

TEST_F(SharedNetwork, CopiesOfTwoRuntimesShareASegment) {
  // Links of 4 and 2, a network of 4: 2 for each copy until the first has its 1000 bytes at 500 ns; the second then
  // goes on with 2, its own link's, until 1500 ns.
  Runtime first(host(4, {network}), {}, world);
  Runtime second(host(2, {network}), {}, world);
  EXPECT_EQ(ends_of_1000_and_3000(world, first, second), (Ends{{500 + 100}, {1500 + 100}}));
}

TEST_F(SharedNetwork, ACopyGoesFasterWhenAnotherRuntimesHasEnded) {
  // 4 for both: 2 each until 500 ns; then the second's other 2000 bytes at 4, until 1000 ns.
  Runtime first(host(4, {network}), {}, world);
  Runtime second(host(4, {network}), {}, world);
  read_1000_and_3000(first, second);
  second.wait();
  EXPECT_EQ(world.now(), Time{1000 + 100});
  first.wait();  // has ended meanwhile
  EXPECT_EQ(world.now(), Time{1000 + 100});
}

TEST(SharedWorld, SegmentsThatAreNotTheWorldsAreEachMachinesOwn) {
  // 4 for each, although they have the same name.
  SimulatedWorld world;
  const SegmentDescription bus{"bus", per_ns(4)};
  Runtime first(host(4, {bus}), {}, world);
  Runtime second(host(4, {bus}), {}, world);
  EXPECT_EQ(ends_of_1000_and_3000(world, first, second), (Ends{{250 + 100}, {750 + 100}}));
}

TEST_F(SharedNetwork, ARuntimeThatComesLaterBeginsWhenItIsMade) {
  // The first takes 250 + 100 ns; both copies of 1000 bytes then begin at 350 and have 2 each.
  Runtime first(host(4, {network}), {}, world);
  read(first, 1000);
  first.wait();
  Runtime second(host(4, {network}), {}, world);
  EXPECT_EQ(second.statistics().now, Time{350});
  read(first, 1000);
  read(second, 1000);
  second.wait();
  EXPECT_EQ(world.now(), Time{350 + 500 + 100});
  first.wait();
  EXPECT_EQ(world.now(), Time{350 + 500 + 100});
  EXPECT_EQ(second.statistics().workers[0].busy, Time{100});
}

TEST_F(SharedNetwork, TheWorldGoesOnWhenARuntimeHasEnded) {
  Runtime second(host(4, {network}), {}, world);
  {
    Runtime first(host(4, {network}), {}, world);
    read_1000_and_3000(first, second);
  }  // waits, until 600 ns
  EXPECT_EQ(world.now(), Time{600});
  second.wait();
  EXPECT_EQ(world.now(), Time{1000 + 100});
}

// What a runtime does when nothing is shared does not depend on others beside it.
TEST(SharedWorld, RuntimesThatShareNothingTakeTheTimesThatTheyTakeAlone) {
  const auto submit_some = [](Runtime& runtime) {
    for (std::uint64_t i = 1; i <= 20; ++i) read(runtime, 100 * (1 + i % 7));
  };
  for (const sched::PolicyEntry& policy : testing::tested_policies()) {
    SCOPED_TRACE(policy.name);
    Options options;
    options.policy = policy.name;
    Runtime alone(host(3), options);
    submit_some(alone);
    alone.wait();
    SimulatedWorld world;
    Runtime beside(host(1), options, world);
    Runtime runtime(host(3), options, world);
    submit_some(beside);
    submit_some(runtime);
    runtime.wait();
    EXPECT_EQ(world.now(), alone.statistics().now);
  }
}

// --- the time that submissions take

// `cores` of them, and so long a submission.
MachineDescription submitting(Time overhead, std::uint32_t cores = 1) {
  MachineDescription machine = host(1);
  machine.submit_overhead = overhead;
  for (std::uint32_t i = 1; i < cores; ++i) {
    machine.workers.push_back({WorkerId{i}, ProcessorKind::cpu, kRam});
  }
  return machine;
}

void submit_tasks(Runtime& runtime, int count, const Codelet& codelet = kTask) {
  for (int i = 0; i < count; ++i) runtime.submit({.codelet = &codelet});
}

Options window_of(std::uint64_t tasks) {
  Options options;
  options.window_tasks = tasks;
  return options;
}

TEST(SharedWorld, EachRuntimeSubmitsOnAClockOfItsOwn) {
  // 1000 submissions of 1 us: the last has taken its time after 1 ms on each of 100 runtimes. Each task, of 100 ns, ends
  // before the next is known.
  SimulatedWorld world;
  std::vector<std::unique_ptr<Runtime>> runtimes;
  for (int i = 0; i < 100; ++i) {
    runtimes.push_back(std::make_unique<Runtime>(submitting(Time{1000}), Options{}, world));
  }
  for (const auto& runtime : runtimes) submit_tasks(*runtime, 1000);
  EXPECT_EQ(world.now(), Time{0});
  for (const auto& runtime : runtimes) {
    runtime->wait();
    EXPECT_EQ(world.now(), Time{1'000'000});
    EXPECT_EQ(runtime->statistics().tasks_done, 1000U);
  }
}

TEST(SharedWorld, AFullWindowHoldsUpItsOwnRuntimeAlone) {
  // 3 tasks of 100 ns on 3 cores, 10 ns for each submission. Window of 1: known at 0, 100 and 200, when the one before
  // has ended. Of 2: at 0, 10, and 100. None: at 0, 10 and 20.
  SimulatedWorld world;
  Runtime narrow(submitting(Time{10}, 3), window_of(1), world);
  Runtime middle(submitting(Time{10}, 3), window_of(2), world);
  Runtime wide(submitting(Time{10}, 3), {}, world);
  for (Runtime* runtime : {&narrow, &middle, &wide}) submit_tasks(*runtime, 3);
  EXPECT_EQ(world.now(), Time{0});
  wide.wait();
  EXPECT_EQ(world.now(), Time{120});
  middle.wait();
  EXPECT_EQ(world.now(), Time{200});
  narrow.wait();
  EXPECT_EQ(world.now(), Time{300});
}

TEST(SharedWorld, AWindowWithoutATimeOfSubmissionsHoldsUpItsOwnRuntimeAlone) {
  SimulatedWorld world;
  Runtime narrow(submitting(Time{0}, 3), window_of(1), world);
  Runtime wide(submitting(Time{0}, 3), {}, world);
  for (Runtime* runtime : {&narrow, &wide}) submit_tasks(*runtime, 3);
  wide.wait();
  EXPECT_EQ(world.now(), Time{100});
  narrow.wait();
  EXPECT_EQ(world.now(), Time{300});
}

TEST(SharedWorld, TheOthersSubmitWhileOneWaits) {
  // The first waits for 100 ns. The second's tasks, of 5 ns, are known at 0, 10 ... 40 ns, and have ended then. One more
  // is submitted at 100 ns, which takes 10 ns: the wait begins then.
  const Codelet short_task{.name = "short", .expected = {Time{5}}};
  SimulatedWorld world;
  Runtime first(submitting(Time{10}), {}, world);
  Runtime second(submitting(Time{10}), {}, world);
  submit_tasks(first, 1);
  submit_tasks(second, 5, short_task);
  first.wait();
  EXPECT_EQ(world.now(), Time{100});
  EXPECT_EQ(second.statistics().tasks_done, 5U);
  submit_tasks(second, 1, short_task);
  EXPECT_EQ(world.now(), Time{100});
  second.wait();
  EXPECT_EQ(world.now(), Time{110});
  EXPECT_EQ(second.statistics().tasks_done, 6U);
}

TEST(SharedWorld, AWaitBeginsWhenAllThatWasSubmittedIsKnown) {
  // 400 ns for a submission; the second's task of 100 ns has ended long before.
  SimulatedWorld world;
  Runtime first(submitting(Time{400}), {}, world);
  Runtime second(host(1), {}, world);
  second.submit({.codelet = &kTask});
  first.submit({.codelet = &kTask});
  EXPECT_EQ(world.now(), Time{0});
  first.wait();
  EXPECT_EQ(world.now(), Time{400});
  EXPECT_EQ(second.statistics().tasks_done, 1U);
  EXPECT_EQ(first.statistics().tasks_done, 1U);
}

// To the nanosecond and the byte, with all else that a policy decides.
TEST(SharedWorld, SubmissionsTakeTheTimesThatTheyTakeAlone) {
  const auto submit_some = [](Runtime& runtime) {
    std::vector<Handle> data;
    for (std::uint64_t i = 0; i < 5; ++i) {
      data.push_back(runtime.register_simulated(Bytes{5000 + 1000 * i}, kServer, "data"));
    }
    for (std::uint64_t i = 0; i < 40; ++i) {
      const Handle x = data[i * i % 5];
      const Handle y = data[(i * 3 + 1) % 5];
      const bool writes = i % 4 == 3;
      if (x == y) continue;
      runtime.submit({.codelet = &kTask, .operands = {R(x), writes ? RW(y) : R(y)}});
      if (i == 20) runtime.prefetch(data[0], kRam);
    }
  };
  for (const std::uint64_t window : {0, 5}) {
    for (const Time overhead : {Time{0}, Time{37}, Time{2000}}) {
      for (const sched::PolicyEntry& policy : testing::tested_policies()) {
        SCOPED_TRACE(std::string(policy.name) + ", window " + std::to_string(window) +
                     ", submissions of " + std::to_string(overhead.ns) + " ns");
        Options options = window_of(window);
        options.policy = policy.name;
        MachineDescription machine = submitting(overhead, 2);
        machine.nodes[kRam.value].limit = Bytes{32768};
        Runtime alone(machine, options);
        submit_some(alone);
        alone.wait();
        SimulatedWorld world;
        Runtime beside(submitting(Time{111}), options, world);
        Runtime runtime(machine, options, world);
        submit_some(beside);
        submit_some(runtime);
        runtime.wait();
        EXPECT_EQ(world.now(), alone.statistics().now);
        EXPECT_EQ(runtime.statistics().links[0].bytes, alone.statistics().links[0].bytes);
        EXPECT_EQ(runtime.statistics().links[1].bytes, alone.statistics().links[1].bytes);
      }
    }
  }
}

TEST(SharedWorld, WhatIsAskedForBesideTasksComesInItsTurn) {
  // Submissions of 1000 ns: the writer of x is known at 1000 ns. It and the reader of y, at 2000 ns, take 100 ns each.
  SimulatedWorld world;
  Runtime runtime(submitting(Time{1000}), {}, world);
  const Handle x = runtime.register_empty(8_KiB, "x");
  const Handle y = runtime.register_simulated(8_KiB, kRam, "y");
  runtime.submit({.codelet = &kTask});
  runtime.submit({.codelet = &kTask, .operands = {W(x)}});
  EXPECT_FALSE(runtime.ready(x));
  EXPECT_TRUE(runtime.ready(y));
  runtime.invalidate(x);
  EXPECT_THAT(refusal([&] { runtime.submit({.codelet = &kTask, .operands = {R(x)}}); }),
              HasSubstr("x"));
  runtime.submit({.codelet = &kTask, .operands = {R(y)}});
  EXPECT_EQ(world.now(), Time{0});
  {
    const Acquired held = runtime.acquire(y, AccessMode::R);
    EXPECT_EQ(world.now(), Time{3000});
  }
  EXPECT_EQ(runtime.statistics().application_tasks_done(), 3U);
  runtime.submit({.codelet = &kTask, .operands = {W(x)}});
  runtime.unregister(x, WriteBack::no);
  EXPECT_EQ(world.now(), Time{4000});
}

TEST(SharedWorld, ASubmissionInsideATaskIsKnownAtOnce) {
  // The first task ends at 100 ns, when the second is still to be known, at 1000 ns. What is submitted at the end of the first runs
  // until 200 ns; what reads x comes behind the second, which is known then.
  SimulatedWorld world;
  Runtime runtime(submitting(Time{1000}), {}, world);
  const Handle x = runtime.register_empty(8_KiB, "x");
  using TaskEnds = std::vector<std::pair<std::string, Time>>;
  TaskEnds ends;
  const auto told = [&](const std::string& name) {
    return [&ends, &world, name](Outcome) { ends.emplace_back(name, world.now()); };
  };
  runtime.submit({.codelet = &kTask, .on_end = [&](Outcome) {
                    runtime.submit({.codelet = &kTask, .on_end = told("at once")});
                    ends.emplace_back("first", world.now());
                  }});
  runtime.submit({.codelet = &kTask, .operands = {W(x)}, .on_end = told("second")});
  Group group;
  runtime.wait_for(group, std::chrono::nanoseconds(0));
  EXPECT_EQ(ends, (TaskEnds{{"first", {100}}, {"at once", {200}}, {"second", {1100}}}));
  ends.clear();
  // Now at 2000 ns.
  EXPECT_EQ(world.now(), Time{2000});
  runtime.submit({.codelet = &kTask, .on_end = [&](Outcome) {
                    runtime.submit(
                        {.codelet = &kTask, .operands = {R(x)}, .on_end = told("reader")});
                  }});
  runtime.submit({.codelet = &kTask, .operands = {W(x)}, .on_end = told("writer")});
  runtime.wait();
  EXPECT_EQ(ends, (TaskEnds{{"writer", {2200}}, {"reader", {2300}}}));
  EXPECT_EQ(world.now(), Time{4000});  // of two submissions
}

TEST(SharedWorld, ARuntimeThatEndsLetsPassWhatItHasSubmitted) {
  SimulatedWorld world;
  {
    Runtime runtime(submitting(Time{10}), window_of(2), world);
    submit_tasks(runtime, 5);
  }
  EXPECT_EQ(world.now(), Time{500});
}

TEST(SharedWorld, ACancelledRunEndsWhenItsSubmissionsHaveTakenTheirTime) {
  // At 0, 10 and 20 ns they are known, and do not run.
  SimulatedWorld world;
  Runtime runtime(submitting(Time{10}), {}, world);
  submit_tasks(runtime, 3);
  runtime.cancel();
  runtime.wait();
  EXPECT_EQ(world.now(), Time{30});
  EXPECT_EQ(runtime.statistics().tasks_cancelled, 3U);
  submit_tasks(runtime, 1);
  runtime.wait();
  EXPECT_EQ(runtime.statistics().tasks_done, 1U);
}

TEST(SharedWorld, AFullWindowThatWaitsForWhatIsHeldIsToldOf) {
  SimulatedWorld world;
  Runtime runtime(submitting(Time{10}), window_of(1), world);
  const Handle x = runtime.register_simulated(8_KiB, kRam, "x");
  {
    const Acquired held = runtime.acquire(x, AccessMode::R);
    for (int i = 0; i < 2; ++i) runtime.submit({.codelet = &kTask, .operands = {RW(x)}});
    EXPECT_THAT(refusal([&] { runtime.wait(); }), HasSubstr("window is full"));
  }
  runtime.wait();
  EXPECT_EQ(runtime.statistics().tasks_done, 2U);
}

TEST_F(TwoRuntimes, AWaitInsideATaskOfTheOtherIsRefused) {
  second.submit({.codelet = &kTask});
  std::string refused;
  first.submit(
      {.codelet = &kTask, .on_end = [&](Outcome) { refused = refusal([&] { second.wait(); }); }});
  first.wait();
  EXPECT_THAT(refused, HasSubstr("inside a task of another runtime"));
  second.wait();
  EXPECT_EQ(world.now(), Time{100});
}

TEST_F(TwoRuntimes, ATaskOfOneMaySubmitToTheOther) {
  first.submit({.codelet = &kTask, .on_end = [&](Outcome) { second.submit({.codelet = &kTask}); }});
  first.wait();
  second.wait();
  EXPECT_EQ(world.now(), Time{200});
}

TEST(SharedWorld, SegmentsOfNoWorldOrOfAnotherAreRefused) {
  SimulatedWorld world;
  SimulatedWorld other;
  const SegmentDescription network = other.add_segment("network", per_ns(4));
  world.add_segment("another", per_ns(4));
  EXPECT_THAT(refusal([&] { Runtime runtime(host(4, {network}), Options{}); }),
              HasSubstr("segment network: the runtime's world has no such segment"));
  EXPECT_THAT(refusal([&] { Runtime runtime(host(4, {network}), {}, world); }),
              HasSubstr("segment network"));
  SegmentDescription faster = network;
  faster.bandwidth = per_ns(5);
  EXPECT_THAT(refusal([&] { Runtime runtime(host(4, {faster}), {}, other); }),
              HasSubstr("segment network"));
}

TEST(SharedWorld, ASegmentWithoutABandwidthIsRefused) {
  SimulatedWorld world;
  for (const double rate : {0.0, -1.0, 999.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(refusal([&] { world.add_segment("network", BytesPerSecond{rate}); }),
                HasSubstr("segment network: its bandwidth must be finite"));
  }
}

TEST_F(TwoRuntimes, WhatTheyTakeTogetherIsBounded) {
  static const Codelet years{.name = "years", .expected = {Time{std::int64_t{1} << 59}}};
  first.submit({.codelet = &years});
  EXPECT_THAT(refusal([&] {
                for (int i = 0; i < 2; ++i) second.submit({.codelet = &years});
              }),
              HasSubstr("a simulated run lasts 2^60 ns"));
}

}  // namespace
}  // namespace vicinal
