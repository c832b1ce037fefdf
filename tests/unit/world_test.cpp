// What happens in a simulated world, in which order and when, worked out by hand. Bandwidths are in bytes per
// nanosecond.
#include "sim/world.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vicinal::sim {
namespace {

using ::testing::ElementsAre;

// Notes what it is told: its name, the token and the time.
class Noter final : public Actor {
 public:
  Noter(World& world, std::vector<std::string>& notes, std::string name)
      : place(world.enter(*this)), world_(world), notes_(notes), name_(std::move(name)) {}

  void flow(std::uint64_t token, double bytes, Resource resource) {
    const Demand demand{resource};
    world_.start(place, token, {.amount = bytes, .demands = {&demand, 1}});
  }
  bool act() override {
    if (acts == 0) return false;
    note("acts");
    return --acts > 0;
  }
  void happened(std::uint64_t token) override {
    note("event " + std::to_string(token));
    then();
  }
  void flow_ended(std::uint64_t token) override { note("flow " + std::to_string(token)); }

  const World::Place place;
  int acts = 0;
  std::function<void()> then = [] {};

 private:
  void note(const std::string& what) {
    notes_.push_back(name_ + ' ' + what + " at " + std::to_string(world_.now().ns));
  }
  World& world_;
  std::vector<std::string>& notes_;
  const std::string name_;
};

class WorldTest : public ::testing::Test {
 protected:
  void run() {
    while (world.step()) {
    }
  }
  World world;
  std::vector<std::string> notes;
  Noter a{world, notes, "a"};
  Noter b{world, notes, "b"};
};

TEST_F(WorldTest, FlowsOfTwoActorsShareAResource) {
  // 2 bytes/ns: 1 each until a's 100 bytes are there; then b has 2 for its other 200.
  const Resource link = world.add_resource(BytesPerSecond{2e9});
  a.flow(1, 100, link);
  b.flow(1, 300, link);
  run();
  EXPECT_THAT(notes, ElementsAre("a flow 1 at 100", "b flow 1 at 200"));
}

TEST_F(WorldTest, AFlowEndsInTheNanosecondThatFollows) {
  a.flow(1, 100, world.add_resource(BytesPerSecond{3e9}));  // 33.3 ns
  run();
  EXPECT_THAT(notes, ElementsAre("a flow 1 at 34"));
}

TEST_F(WorldTest, AtOneTimeFlowsEndThenFlowsStartThenTheFirstScheduledHappens) {
  b.flow(7, 100, world.add_resource(BytesPerSecond{1e9}));
  b.then = [&] { world.schedule(b.place, Time{100}, 4); };
  world.schedule(b.place, Time{100}, 1);
  world.schedule(a.place, Time{100}, 2);
  world.schedule(a.place, Time{100}, 3, Turn::flows);
  world.schedule(a.place, Time{99}, 0);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(world.step());
  EXPECT_THAT(notes, ElementsAre("a event 0 at 99", "b flow 7 at 100", "a event 3 at 100",
                                 "b event 1 at 100", "a event 2 at 100"));
  EXPECT_TRUE(world.step());
  EXPECT_EQ(notes.back(), "b event 4 at 100");
}

TEST_F(WorldTest, WhoIsRousedActsBeforeTimeGoesOn) {
  world.schedule(a.place, Time{10}, 1);
  world.schedule(a.place, Time{20}, 2);
  a.then = [&] {
    b.acts = 2;
    a.acts = 1;
    if (world.now() == Time{10}) world.rouse(b.place);
    world.rouse(a.place);
  };
  run();
  EXPECT_THAT(notes, ElementsAre("a event 1 at 10", "a acts at 10", "b acts at 10", "b acts at 10",
                                 "a event 2 at 20", "a acts at 20"));
}

TEST_F(WorldTest, SubmissionsComeBehindAllElseOfTheirNanosecond) {
  // a's event of 10 ns is scheduled by another one of 10 ns, and rouses a.
  world.schedule(b.place, Time{10}, 7, Turn::submissions);
  world.schedule(a.place, Time{10}, 1);
  a.acts = 1;
  a.then = [this, first = true]() mutable {
    if (std::exchange(first, false)) world.schedule(a.place, Time{10}, 2);
    world.rouse(a.place);
  };
  run();
  EXPECT_THAT(notes,
              ElementsAre("a event 1 at 10", "a acts at 10", "a event 2 at 10", "b event 7 at 10"));
}

TEST_F(WorldTest, WhatPassesHappensAndNothingLater) {
  world.schedule(a.place, Time{200}, 1);
  world.schedule(a.place, Time{201}, 2);
  world.pass(Time{200});
  EXPECT_THAT(notes, ElementsAre("a event 1 at 200"));
  world.pass(Time{50});
  EXPECT_EQ(world.now(), Time{250});
  EXPECT_FALSE(world.step());
}

TEST_F(WorldTest, WhoLeavesTakesItsEventsAndFlowsAlong) {
  // 2 bytes/ns for both flows until 50 ns, when b leaves: 150 of a's 200 bytes are left, and take 75 ns.
  const Resource link = world.add_resource(BytesPerSecond{2e9});
  a.flow(1, 200, link);
  b.flow(1, 200, link);
  world.schedule(b.place, Time{60}, 1);
  world.schedule(a.place, Time{60}, 1);
  world.pass(Time{50});
  world.rouse(b.place);
  world.leave(b.place);
  Noter c{world, notes, "c"};  // in b's place
  EXPECT_EQ(c.place, b.place);
  c.acts = 1;
  run();
  EXPECT_THAT(notes, ElementsAre("a event 1 at 60", "a flow 1 at 125"));
}

TEST_F(WorldTest, ItKnowsThatAnActorIsCalled) {
  bool inside = false;
  a.then = [&] { inside = world.stepping(); };
  world.schedule(a.place, Time{1}, 1);
  EXPECT_FALSE(world.stepping());
  run();
  EXPECT_TRUE(inside);
  EXPECT_FALSE(world.stepping());
}

}  // namespace
}  // namespace vicinal::sim
