// Several runtimes in one simulated world. Times are worked out by hand; bandwidths are in bytes per nanosecond.
#include <cstdint>
#include <limits>
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

TEST(SharedWorld, ASubmissionLetsTheOthersTimePass) {
  // 400 ns of the first's application; the second's task of 100 ns has ended then.
  SimulatedWorld world;
  MachineDescription slow = host(1);
  slow.submit_overhead = Time{400};
  Runtime first(slow, {}, world);
  Runtime second(host(1), {}, world);
  second.submit({.codelet = &kTask});
  first.submit({.codelet = &kTask});
  EXPECT_EQ(world.now(), Time{400});
  EXPECT_EQ(second.statistics().tasks_done, 1U);
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
