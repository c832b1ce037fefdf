// Eviction: who leaves a full memory and where to, what room in pieces is good for, what happens when
// somebody wants a victim, and victims that are chosen from outside.
#include <cstddef>
#include <exception>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_memory.hpp"
#include "vicinal/error.hpp"

namespace vicinal::memory {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

// Tasks that wait with the policy to read one handle each in RAM: 1, 2, ...
class Readers {
 public:
  explicit Readers(FakeMemory& memory) : memory_(memory) {}
  void wait(graph::Handle& handle) {
    tasks_.push_back(&memory_.make(kRam, {{&handle, kR}}).task);
    uses_.push_back(memory_.residency.await_uses(*tasks_.back(), kRam));
  }
  void leave(std::size_t reader) {
    memory_.residency.forget_uses(*tasks_[reader - 1], uses_[reader - 1], kRam);
  }

 private:
  FakeMemory& memory_;
  std::vector<const graph::Task*> tasks_;
  std::vector<std::uint64_t> uses_;
};

TEST(Residency, TheLeastRecentlyUsedLeavesFirstAndWhatTheUserGaveUpBeforeIt) {
  FakeMemory memory({.ram = 3});
  auto [a, b, c, d] = memory.on_disk("a", "b", "c", "d");
  for (auto* handle : {&a, &b, &c}) memory.run(kRam, {{handle, kR}});
  memory.run(kRam, {{&a, kR}});  // now b is the oldest
  memory.run(kRam, {{&d, kR}});
  EXPECT_FALSE(memory.valid(b, kRam));
  EXPECT_TRUE(memory.valid(a, kRam));
  memory.wont_use(d);  // the youngest
  memory.run(kRam, {{&b, kR}});
  EXPECT_FALSE(memory.valid(d, kRam));
  EXPECT_TRUE(memory.valid(c, kRam));
}

TEST(Residency, WhatWaitingTasksWillUseIsEvictedLast) {
  FakeMemory memory({.ram = 2});
  auto [a, b, c] = memory.on_disk("a", "b", "c");
  memory.run(kRam, {{&a, kR}});
  memory.run(kRam, {{&b, kR}});
  auto& waiting = memory.make(kRam, {{&a, kR}});
  EXPECT_EQ(memory.residency.claim(waiting.task, kRam), kPage);
  EXPECT_TRUE(memory.prefetch(c, kRam));  // b goes, although a is older
  EXPECT_TRUE(memory.valid(a, kRam));
  EXPECT_FALSE(memory.valid(b, kRam));
  memory.finish_all();
  auto& other = memory.make(kRam, {{&c, kR}});
  memory.residency.claim(other.task, kRam);
  EXPECT_FALSE(memory.prefetch(b, kRam));  // nothing that nobody wants
  auto& firm = memory.ask(kRam, {{&b, kR}});
  memory.finish_all();
  EXPECT_EQ(firm.state(), RequestState::ready);
  EXPECT_EQ(memory.residency.unclaim(waiting.task, kRam), kPage);
}

TEST(Residency, WhatTasksOfThePolicyWillReadGoesAfterWhatNobodyIsKnownToRead) {
  FakeMemory memory({.ram = 2});
  auto [a, b, c, d] = memory.on_disk("a", "b", "c", "d");
  memory.run(kRam, {{&a, kR}});
  memory.run(kRam, {{&b, kR}});
  Readers readers(memory);
  readers.wait(a);
  memory.run(kRam, {{&c, kR}});  // b goes, although a is older
  EXPECT_TRUE(memory.valid(a, kRam));
  EXPECT_FALSE(memory.valid(b, kRam));
  readers.leave(1);
  memory.run(kRam, {{&d, kR}});  // a is as old as it was
  EXPECT_FALSE(memory.valid(a, kRam));
  EXPECT_TRUE(memory.valid(c, kRam));
}

TEST(Residency, OfWhatTasksOfThePolicyWillReadTheOneReadLastGoesFirst) {
  FakeMemory memory({.ram = 3});
  auto [a, b, c, d] = memory.on_disk("a", "b", "c", "d");
  for (auto* handle : {&a, &b, &c}) memory.run(kRam, {{handle, kR}});
  Readers readers(memory);
  for (auto* handle : {&b, &c, &a, &b}) readers.wait(*handle);
  memory.run(kRam, {{&d, kR}});  // a is read third, b and c before
  EXPECT_FALSE(memory.valid(a, kRam));
  readers.leave(1);                       // c is read next, then b
  EXPECT_TRUE(memory.prefetch(a, kRam));  // d goes: nobody will read it
  memory.finish_all();
  EXPECT_FALSE(memory.valid(d, kRam));
  EXPECT_TRUE(memory.prefetch(d, kRam));  // named second, third and last: c, a, b
  EXPECT_FALSE(memory.valid(b, kRam));
  memory.finish_all();
  for (const std::size_t left : {2, 3, 4}) readers.leave(left);
  memory.residency.check();
}

TEST(Residency, WhereThePolicyChangesTheOrderTheOneWithFewestReadersGoesFirst) {
  FakeMemory memory({.ram = 2, .in_order = false});
  auto [a, b, c] = memory.on_disk("a", "b", "c");
  memory.run(kRam, {{&a, kR}});
  memory.run(kRam, {{&b, kR}});
  Readers readers(memory);
  for (auto* handle : {&b, &a, &a}) readers.wait(*handle);
  memory.run(kRam, {{&c, kR}});  // b is read first, but once
  EXPECT_FALSE(memory.valid(b, kRam));
  EXPECT_TRUE(memory.valid(a, kRam));
  for (const std::size_t left : {1, 2, 3}) readers.leave(left);
}

TEST(Residency, ATaskThatNamesDataLaterCountsAmongTheirReaders) {
  FakeMemory memory({.ram = 3, .in_order = false});
  auto [a, b, c, d, e] = memory.on_disk("a", "b", "c", "d", "e");
  for (auto* handle : {&a, &b, &c}) memory.run(kRam, {{handle, kR}});
  Readers readers(memory);
  for (auto* handle : {&a, &b, &c, &a}) readers.wait(*handle);
  memory.run(kRam, {{&d, kR}});  // b and c have one reader each, c's comes later
  EXPECT_FALSE(memory.valid(c, kRam));
  readers.wait(b);
  readers.leave(4);
  memory.run(kRam, {{&c, kR}});  // nobody will read d
  EXPECT_FALSE(memory.valid(d, kRam));
  readers.wait(c);
  memory.run(kRam, {{&e, kR}});  // b and c have two, a has one
  EXPECT_FALSE(memory.valid(a, kRam));
  for (const std::size_t left : {1, 2, 3, 5, 6}) readers.leave(left);
  memory.residency.check();
}

TEST(Residency, DirtyDataOfADeviceGoToRamAndFromThereToDisk) {
  FakeMemory memory({.ram = 1, .device = 1, .devices = 1});
  auto [a, b, c] = memory.data("a", "b", "c");
  memory.run(kDevice, {{&a, kW}});
  auto& second = memory.ask(kDevice, {{&b, kW}});
  EXPECT_EQ(memory.copying(), Names{"a device->ram"});
  memory.finish();
  EXPECT_EQ(second.state(), RequestState::ready);
  EXPECT_TRUE(memory.valid(a, kRam));
  memory.end(second);
  auto& third = memory.ask(kDevice, {{&c, kW}});  // b needs the room of a in RAM
  EXPECT_EQ(memory.copying(), Names{"a ram->disk"});
  memory.finish();
  EXPECT_EQ(memory.copying(), Names{"b device->ram"});
  EXPECT_EQ(third.state(), RequestState::queued);
  memory.finish();
  EXPECT_EQ(third.state(), RequestState::ready);
  EXPECT_TRUE(memory.valid(a, kDisk));
  EXPECT_TRUE(memory.valid(b, kRam));
}

TEST(Residency, AVictimThatSomebodyWantsIsKept) {
  FakeMemory memory({.ram = 2, .device = 2, .devices = 1});
  auto [a, b] = memory.data("a", "b");
  auto& c = memory.data("c", 2);
  memory.run(kDevice, {{&a, kW}});
  memory.run(kDevice, {{&b, kW}});
  auto& large = memory.ask(kDevice, {{&c, kW}});  // both must go
  EXPECT_EQ(memory.copying(), (Names{"a device->ram", "b device->ram"}));
  memory.withdraw(large);
  auto& reader = memory.ask(kDevice, {{&a, kR}});
  EXPECT_EQ(reader.state(), RequestState::ready);  // it has not left yet
  memory.finish_all();
  EXPECT_TRUE(memory.valid(a, kDevice));  // kept, and clean
  EXPECT_TRUE(memory.valid(a, kRam));
  EXPECT_FALSE(memory.valid(b, kDevice));
}

TEST(Residency, AnEvictionThatWaitsIsDroppedIfItsVictimIsWrittenMeanwhile) {
  // RAM is held, so a's way to safety queues there; then a task on the device takes a back and writes
  // it. When RAM is free nobody may copy from under the writer's hands.
  FakeMemory memory({.ram = 1, .device = 1, .devices = 1});
  auto [a, b, r] = memory.data("a", "b", "r");
  auto& holder = memory.ask(kRam, {{&r, kW}});
  memory.run(kDevice, {{&a, kW}});
  auto& other = memory.ask(kDevice, {{&b, kW}});
  EXPECT_EQ(memory.copying(), Names{});
  EXPECT_EQ(other.state(), RequestState::queued);
  memory.withdraw(other);
  auto& writer = memory.ask(kDevice, {{&a, kRW}});
  EXPECT_EQ(writer.state(), RequestState::ready);
  memory.end(holder);  // RAM can be had; r leaves if somebody needs it
  EXPECT_EQ(memory.copying(), Names{});
  memory.end(writer);
  memory.finish_all();
  EXPECT_TRUE(memory.valid(a, kDevice));
  EXPECT_FALSE(memory.valid(a, kRam));
}

TEST(Residency, AnEvictionNeverWritesWhereATaskOverwritesTheSameData) {
  // A task in RAM that overwrites a is before a's eviction in RAM's queue, and runs when that has its
  // turn: the old content must not come into its hands; it is dead.
  FakeMemory memory({.ram = 2, .device = 1, .devices = 1});
  auto [a, b] = memory.data("a", "b");
  auto& r = memory.data("r", 2);
  memory.run(kDevice, {{&a, kW}});
  auto& holder = memory.ask(kRam, {{&r, kW}});
  auto& writer = memory.ask(kRam, {{&a, kW}});    // queued
  auto& other = memory.ask(kDevice, {{&b, kW}});  // evicts a, queued behind
  memory.end(holder);
  while (writer.state() != RequestState::ready) {
    ASSERT_FALSE(memory.copies.empty());
    ASSERT_NE(memory.copying()[0], "a device->ram");
    memory.finish();
  }
  memory.finish_all();
  EXPECT_EQ(other.state(), RequestState::ready);
  EXPECT_EQ(memory.valid(a, kDevice), false);
  memory.end(writer);
  EXPECT_TRUE(memory.valid(a, kRam));
}

TEST(Residency, RoomInPiecesIsEmptiedAndTheOperandsPlacedAnew) {
  // RAM: a x c y, one page each. A task wants a, c and two pages for d: x and y go, but what is free
  // is in two pieces. Its own operands leave, too, and all are placed anew.
  FakeMemory memory({.ram = 4});
  auto [a, x, c, y] = memory.data("a", "x", "c", "y");
  auto& d = memory.data("d", 2);
  for (auto* handle : {&a, &x, &c, &y}) memory.run(kRam, {{handle, kW}});
  auto& task = memory.ask(kRam, {{&a, kRW}, {&c, kR}, {&d, kW}});
  EXPECT_THAT(memory.finish_all(),
              UnorderedElementsAre("x ram->disk", "y ram->disk", "a ram->disk", "c ram->disk",
                                   "a disk->ram", "c disk->ram"));
  EXPECT_EQ(task.state(), RequestState::ready) << memory.residency.describe();
  memory.end(task);
  EXPECT_EQ(memory.resident(kRam), kPage * 4);
}

TEST(Residency, RoomInPiecesWithNothingBehindItIsPushedTogether) {
  // RAM: a x c y, one page each, then a and c are void. Two pages for d are there, but in two pieces.
  FakeMemory memory({.ram = 4, .disk = 0});
  auto [a, x, c, y] = memory.data("a", "x", "c", "y");
  auto& d = memory.data("d", 2);
  for (auto* handle : {&a, &x, &c, &y}) memory.run(kRam, {{handle, kW}});
  for (auto* handle : {&a, &c}) memory.residency.invalidate(*handle, memory.actions);
  memory.collect();
  auto& reader = memory.ask(kRam, {{&y, kR}});
  auto& task = memory.ask(kRam, {{&x, kR}, {&d, kW}});
  EXPECT_EQ(task.state(), RequestState::queued);  // y is in use and stays where it is
  memory.end(reader);
  EXPECT_EQ(task.state(), RequestState::ready) << memory.residency.describe();
  EXPECT_EQ(memory.source.moved, kPage * 2);
  memory.end(task);
  for (auto* handle : {&x, &y, &d}) EXPECT_TRUE(memory.valid(*handle, kRam)) << handle->name;
  auto& never = memory.ask(kRam, {{&a, kW}});
  EXPECT_EQ(never.state(), RequestState::failed);  // nothing is lost for it
}

TEST(Residency, AFullDiskFailsTheReservationAndKeepsTheContent) {
  FakeMemory memory({.ram = 1, .disk = 1});
  auto [a, b, c] = memory.data("a", "b", "c");
  memory.run(kRam, {{&a, kW}});
  memory.run(kRam, {{&b, kW}});  // a is on disk now
  auto& third = memory.ask(kRam, {{&c, kW}});
  EXPECT_EQ(third.state(), RequestState::failed);
  EXPECT_TRUE(memory.valid(a, kDisk));
  EXPECT_TRUE(memory.valid(b, kRam));
  ASSERT_TRUE(memory.residency.broken());
  try {
    std::rethrow_exception(third.request.error);
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("disk full"));
    EXPECT_THAT(error.what(), HasSubstr("b"));
  }
}

// --- victims chosen from outside --------------------------------------------------------------

TEST(Residency, TheChoiceOfVictimsIsAskedAndOverruledOnlyForFirmReservations) {
  FakeMemory memory({.ram = 2, .external_victims = true});
  auto [a, b, c] = memory.on_disk("a", "b", "c");
  memory.run(kRam, {{&a, kR}});
  memory.run(kRam, {{&b, kR}});
  EXPECT_FALSE(memory.prefetch(c, kRam));
  ASSERT_EQ(memory.queries.size(), 1U);
  EXPECT_EQ(memory.queries[0].reason, EvictionReason::prefetch);
  ASSERT_EQ(memory.candidates().size(), 2U);
  EXPECT_EQ(memory.candidates()[0].handle, &a);  // least recently used first
  memory.answer(nullptr);
  EXPECT_EQ(memory.statistics(kRam).evictions, 0U);  // a refusal counts for a prefetch
  auto& task = memory.ask(kRam, {{&c, kR}});
  ASSERT_EQ(memory.queries.size(), 1U);
  EXPECT_EQ(memory.queries[0].reason, EvictionReason::firm);
  memory.answer(&b);
  memory.finish_all();
  EXPECT_EQ(task.state(), RequestState::ready);
  EXPECT_TRUE(memory.valid(a, kRam));
  EXPECT_FALSE(memory.valid(b, kRam));
  memory.end(task);
  auto& next = memory.ask(kRam, {{&b, kR}});
  ASSERT_EQ(memory.queries.size(), 1U);
  memory.answer(nullptr);  // refused: the oldest goes
  memory.finish_all();
  EXPECT_EQ(next.state(), RequestState::ready);
  EXPECT_FALSE(memory.valid(a, kRam));
}

TEST(Residency, AChosenVictimThatIsPinnedMeanwhileIsAskedForAgain) {
  FakeMemory memory({.ram = 2, .external_victims = true});
  auto [a, b, c] = memory.on_disk("a", "b", "c");
  memory.run(kRam, {{&a, kR}});
  memory.run(kRam, {{&b, kR}});
  auto& task = memory.ask(kRam, {{&c, kR}});
  ASSERT_EQ(memory.queries.size(), 1U);
  auto& user = memory.make(kRam, {{&a, kR}});
  EXPECT_TRUE(memory.try_pin(user));
  memory.answer(&a);
  ASSERT_EQ(memory.queries.size(), 1U);
  ASSERT_EQ(memory.candidates().size(), 1U);
  EXPECT_EQ(memory.candidates()[0].handle, &b);
  memory.answer(&b);
  memory.finish_all();
  EXPECT_EQ(task.state(), RequestState::ready);
}

TEST(Residency, OneRankingGivesAllVictimsOfARequest) {
  FakeMemory memory({.ram = 4, .external_victims = true});
  auto [a, b, c, d, e] = memory.on_disk("a", "b", "c", "d", "e");
  auto [f, g] = memory.on_disk("f", "g");
  for (graph::Handle* handle : {&a, &b, &c, &d}) memory.run(kRam, {{handle, kR}});
  auto& task = memory.ask(kRam, {{&e, kR}, {&f, kR}, {&g, kR}, {&a, kR}});
  ASSERT_EQ(memory.queries.size(), 1U);
  Residency::Search search(memory.residency, memory.queries.front());
  EXPECT_FALSE(search.ranked());
  // The operand is no candidate; of equals the least recently used one comes first.
  std::size_t scored = 0;
  const graph::Handle* const greatest = &d;  // a lambda captures no structured binding in C++20
  const auto score = [&](const Candidate& candidate) -> std::uint64_t {
    ++scored;
    return candidate.handle == greatest ? 2 : 1;
  };
  for (graph::Handle* const expected : {&d, &b, &c}) {
    ASSERT_EQ(memory.queries.size(), 1U);
    graph::Handle* const victim = search.greatest(score);
    ASSERT_EQ(victim, expected);
    EXPECT_TRUE(search.ranked());
    memory.answer(victim);
    search.go_on();
  }
  EXPECT_EQ(scored, 3U);  // once each
  EXPECT_EQ(search.greatest(score), nullptr);
  EXPECT_TRUE(memory.queries.empty());
  memory.finish_all();
  EXPECT_EQ(task.state(), RequestState::ready);
  memory.end(task);
}

}  // namespace
}  // namespace vicinal::memory
