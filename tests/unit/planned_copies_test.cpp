// Copies that a policy has planned: what leaves for them, and what happens where the plan does not hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_memory.hpp"

namespace vicinal::memory {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

// RAM is full of a and b, of which a was used less recently.
struct FullRam {
  FullRam() {
    memory.run(kRam, {{&a, kR}});
    memory.run(kRam, {{&b, kR}});
  }
  FakeMemory memory{{.ram = 2}};
  graph::Handle& a = memory.on_disk("a");
  graph::Handle& b = memory.on_disk("b");
  graph::Handle& c = memory.on_disk("c");
};

TEST(PlannedCopies, EvictTheVictimThatThePlanNames) {
  FullRam full;
  EXPECT_TRUE(full.memory.load(full.c, kRam, &full.b));  // not the oldest
  EXPECT_FALSE(full.memory.valid(full.b, kRam));
  EXPECT_TRUE(full.memory.valid(full.a, kRam));
  EXPECT_EQ(full.memory.copying(), Names{"c disk->ram"});
  full.memory.finish_all();
  EXPECT_TRUE(full.memory.valid(full.c, kRam));
  EXPECT_TRUE(full.memory.load(full.c, kRam, &full.a));  // it is there
  EXPECT_TRUE(full.memory.valid(full.a, kRam));
  full.memory.residency.check();
}

TEST(PlannedCopies, EvictAsAPrefetchDoesWhereThePlanNamesNoVictim) {
  FullRam full;
  EXPECT_TRUE(full.memory.load(full.c, kRam, nullptr));
  EXPECT_FALSE(full.memory.valid(full.a, kRam));  // the oldest
  EXPECT_TRUE(full.memory.valid(full.b, kRam));
  full.memory.finish_all();
  EXPECT_TRUE(full.memory.valid(full.c, kRam));
  full.memory.residency.check();
}

TEST(PlannedCopies, TakeFreeRoomFirst) {
  FakeMemory memory({.ram = 2});
  auto [a, b] = memory.on_disk("a", "b");
  memory.run(kRam, {{&a, kR}});
  EXPECT_TRUE(memory.load(b, kRam, &a));
  EXPECT_TRUE(memory.valid(a, kRam));
  memory.finish_all();
  EXPECT_TRUE(memory.valid(b, kRam));
}

TEST(PlannedCopies, WaitForAVictimThatIsInUse) {
  FullRam full;
  auto& user = full.memory.ask(kRam, {{&full.b, kR}});
  ASSERT_EQ(user.state(), RequestState::ready);
  EXPECT_FALSE(full.memory.load(full.c, kRam, &full.b));
  EXPECT_TRUE(full.memory.valid(full.a, kRam));
  EXPECT_TRUE(full.memory.valid(full.b, kRam));
  full.memory.end(user);
  EXPECT_TRUE(full.memory.load(full.c, kRam, &full.b));
  EXPECT_FALSE(full.memory.valid(full.b, kRam));
  EXPECT_TRUE(full.memory.valid(full.a, kRam));
  full.memory.finish_all();
  full.memory.residency.check();
}

TEST(PlannedCopies, WaitForAVictimThatATaskInTheLookAheadWillUse) {
  FullRam full;
  auto& waiting = full.memory.make(kRam, {{&full.b, kR}});
  full.memory.residency.claim(waiting.task, kRam);
  EXPECT_FALSE(full.memory.load(full.c, kRam, &full.b));
  EXPECT_TRUE(full.memory.valid(full.b, kRam));
  full.memory.residency.unclaim(waiting.task, kRam);
  EXPECT_TRUE(full.memory.load(full.c, kRam, &full.b));
  full.memory.finish_all();
}

TEST(PlannedCopies, WaitUntilTheContentOfADirtyVictimIsSafe) {
  FakeMemory memory({.ram = 2});
  auto [a, c] = memory.on_disk("a", "c");
  graph::Handle& b = memory.data("b");
  memory.run(kRam, {{&b, kW}});
  memory.run(kRam, {{&a, kR}});
  EXPECT_FALSE(memory.load(c, kRam, &b));
  EXPECT_EQ(memory.copying(), Names{"b ram->disk"});
  EXPECT_FALSE(memory.load(c, kRam, &b));  // it leaves once
  EXPECT_TRUE(memory.valid(a, kRam));
  memory.finish_all();
  EXPECT_TRUE(memory.valid(b, kDisk));
  EXPECT_TRUE(memory.load(c, kRam, &b));
  EXPECT_EQ(memory.copying(), Names{"c disk->ram"});
  memory.finish_all();
  EXPECT_TRUE(memory.valid(a, kRam));
  EXPECT_TRUE(memory.valid(c, kRam));
  memory.residency.check();
}

TEST(PlannedCopies, TakeAnotherVictimWhereThePlannedOneIsNotThere) {
  FullRam full;
  graph::Handle& never_there = full.memory.on_disk("d");
  EXPECT_TRUE(full.memory.load(full.c, kRam, &never_there));
  EXPECT_FALSE(full.memory.valid(full.a, kRam));  // the oldest
  EXPECT_TRUE(full.memory.valid(full.b, kRam));
  full.memory.finish_all();
  EXPECT_TRUE(full.memory.valid(full.c, kRam));
  full.memory.residency.check();
}

TEST(PlannedCopies, ComeAfterWhoWaitsForRoom) {
  FullRam full;
  auto& user = full.memory.ask(kRam, {{&full.a, kR}, {&full.b, kR}});
  graph::Handle& other = full.memory.on_disk("d");
  auto& waits = full.memory.ask(kRam, {{&other, kR}});
  EXPECT_NE(waits.state(), RequestState::ready);
  EXPECT_FALSE(full.memory.load(full.c, kRam, &full.b));
  full.memory.end(user);
  full.memory.finish_all();
  EXPECT_EQ(waits.state(), RequestState::ready);
  full.memory.end(waits);
}

TEST(PlannedCopies, MemoryIsShortUntilAQuarterOfItIsFreeOrCouldBe) {
  FakeMemory memory({.ram = 4});
  auto [a, b, c, d, e] = memory.on_disk("a", "b", "c", "d", "e");
  for (auto* handle : {&a, &b, &c, &d}) memory.run(kRam, {{handle, kR}});
  EXPECT_FALSE(memory.residency.any_short());  // it is full, and nothing had to leave
  memory.run(kRam, {{&e, kR}});
  EXPECT_TRUE(memory.residency.any_short());
  memory.wont_use(e);
  EXPECT_FALSE(memory.residency.any_short());
  EXPECT_FALSE(memory.residency.any_short());
}

}  // namespace
}  // namespace vicinal::memory
