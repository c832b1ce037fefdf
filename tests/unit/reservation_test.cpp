// Reservations: all or nothing, first in first out, and the pins that need none.
#include <gtest/gtest.h>

#include "support/fake_memory.hpp"

namespace vicinal::memory {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

TEST(Residency, AReservationHoldsNothingUntilItHasEverything) {
  FakeMemory memory({.ram = 3});
  auto& a = memory.data("a", 2);
  auto [b, c] = memory.data("b", "c");
  auto& first = memory.ask(kRam, {{&a, kW}});
  EXPECT_EQ(first.state(), RequestState::ready);
  auto& second = memory.ask(kRam, {{&b, kW}, {&c, kW}});  // 2 pages, 1 is free
  EXPECT_EQ(second.state(), RequestState::queued);
  EXPECT_EQ(memory.resident(kRam), kPage * 2);  // not b alone
  memory.end(first);
  EXPECT_EQ(memory.copying(), Names{"a ram->disk"});
  EXPECT_EQ(second.state(), RequestState::queued);
  memory.finish();
  EXPECT_EQ(second.state(), RequestState::ready);
}

// RAM of three pages: the first task has two of them and the second waits for two, before the third, which could
// have the one that is free.
class ReservationQueue : public ::testing::Test {
 protected:
  FakeMemory memory{{.ram = 3}};
  FakeMemory::Use& first = memory.ask(kRam, {{&memory.data("a", 2), kW}});
  FakeMemory::Use& second = memory.ask(kRam, {{&memory.data("b", 2), kW}});
  FakeMemory::Use& third = memory.ask(kRam, {{&memory.data("c"), kW}});
};

TEST_F(ReservationQueue, NothingOvertakesTheFirstThatWaits) {
  EXPECT_EQ(second.state(), RequestState::queued);
  EXPECT_EQ(third.state(), RequestState::queued);
  memory.end(first);
  memory.finish_all();
  EXPECT_EQ(second.state(), RequestState::ready);
  EXPECT_EQ(third.state(), RequestState::ready);
}

TEST_F(ReservationQueue, AWithdrawnReservationLetsTheNextOneThrough) {
  memory.withdraw(second);
  EXPECT_EQ(second.state(), RequestState::idle);
  EXPECT_EQ(third.state(), RequestState::ready);
  memory.withdraw(third);  // held: given back
  EXPECT_EQ(memory.resident(kRam), kPage * 2);
}

TEST(Residency, TasksPinWhatIsThereWithoutAReservation) {
  FakeMemory memory;
  auto [a, b] = memory.data("a", "b");
  memory.run(kRam, {{&a, kW}});
  auto& one = memory.make(kRam, {{&a, kR}});
  auto& two = memory.make(kRam, {{&a, kR}});
  auto& writer = memory.make(kRam, {{&a, kRW}});
  auto& both = memory.make(kRam, {{&a, kR}, {&b, kR}});
  EXPECT_TRUE(memory.try_pin(one));
  EXPECT_TRUE(memory.try_pin(two));
  EXPECT_FALSE(memory.try_pin(writer));
  EXPECT_FALSE(memory.try_pin(both));  // b is not here
  memory.end(one);
  memory.end(two);
  EXPECT_TRUE(memory.try_pin(writer));
}

TEST(Residency, AHandleThatIsGoneGetsNoRoom) {
  FakeMemory memory;
  auto& a = memory.data("a");
  a.takes_writes.store(false);
  ASSERT_TRUE(memory.residency.remove(a, memory.actions));
  memory.residency.forget(a);
  memory.residency.give_room(a, a.life());
  EXPECT_FALSE(a.takes_writes.load());
}

}  // namespace
}  // namespace vicinal::memory
