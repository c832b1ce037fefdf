// What no submitted task uses: it goes first, and is saved before its room is needed.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "support/fake_memory.hpp"
#include "vicinal/error.hpp"

namespace vicinal {
namespace {

using memory::RequestState;
using testing::FakeMemory;
using testing::kDevice;
using testing::kOther;
using testing::kR;
using testing::kRW;
using testing::kW;
using testing::Names;

// RAM of two pages with a, which may be used again, and b, which was used later and which nobody uses.
class UnusedOfTwo : public ::testing::Test {
 protected:
  void SetUp() override {
    memory.run(kRam, {{&a, kR}});
    memory.run_last(kRam, {{&b, kR}});
  }
  FakeMemory memory{{.ram = 2}};
  graph::Handle& a = memory.on_disk("a");
  graph::Handle& b = memory.on_disk("b");
  graph::Handle& c = memory.on_disk("c");
};

// A full device of two pages with b, which may be used again, and a, which nobody uses: it is being saved.
class WriteBehindOfOne : public ::testing::Test {
 protected:
  void SetUp() override {
    memory.run(kDevice, {{&b, kW}});
    memory.run_last(kDevice, {{&a, kW}});
    ASSERT_EQ(memory.copying(), Names{"a device->ram"});
  }
  FakeMemory memory{{.ram = 8, .device = 2, .devices = 1}};
  graph::Handle& a = memory.data("a");
  graph::Handle& b = memory.data("b");
  graph::Handle& c = memory.data("c");
};

// --- it goes first

// On a node of two pages, with c for what needs room: a, which may be used again, or b, which was used later and which
// nobody uses?
std::string goes_for_c(FakeMemory& memory, NodeId node) {
  auto [a, b, c] = memory.on_disk("a", "b", "c");
  memory.run(node, {{&a, kR}});
  memory.run_last(node, {{&b, kR}});
  memory.run(node, {{&c, kR}});
  EXPECT_NE(memory.valid(a, node), memory.valid(b, node));
  return memory.valid(b, node) ? "a" : "b";
}

TEST(Unused, GoesBeforeWhatWasUsedLessRecently) {
  FakeMemory memory({.ram = 2});
  EXPECT_EQ(goes_for_c(memory, kRam), "b");
}

TEST(Unused, WhatIsSavedGoesBeforeWhatIsNot) {
  FakeMemory memory({.ram = 3});
  auto [a, b, c, d] = memory.on_disk("a", "b", "c", "d");
  memory.run(kRam, {{&a, kR}});
  memory.run_last(kRam, {{&b, kRW}});
  memory.run_last(kRam, {{&c, kR}});
  auto& use = memory.ask(kRam, {{&d, kR}});
  EXPECT_EQ(memory.finish_all(), Names{"d disk->ram"});
  memory.end(use);
  EXPECT_FALSE(memory.valid(c, kRam));
  EXPECT_TRUE(memory.valid(b, kRam));
}

TEST(Unused, TheLeastRecentlyUsedOfSeveral) {
  FakeMemory memory({.ram = 3});
  auto [a, b, c, d] = memory.on_disk("a", "b", "c", "d");
  memory.run(kRam, {{&a, kR}});
  memory.run_last(kRam, {{&c, kR}});
  memory.run_last(kRam, {{&b, kR}});
  memory.run(kRam, {{&d, kR}});
  EXPECT_TRUE(memory.valid(b, kRam));
  EXPECT_FALSE(memory.valid(c, kRam));
}

TEST_F(UnusedOfTwo, WhatIsSubmittedAgainIsOneOfTheOthers) {
  b.word = graph::kReader;
  memory.run(kRam, {{&c, kR}});
  EXPECT_FALSE(memory.valid(a, kRam));
  EXPECT_TRUE(memory.valid(b, kRam));
}

TEST_F(UnusedOfTwo, NotWhatTheApplicationAsksForAgain) {
  EXPECT_TRUE(memory.prefetch(b, kRam));
  memory.run(kRam, {{&c, kR}});
  EXPECT_FALSE(memory.valid(a, kRam));
  EXPECT_TRUE(memory.valid(b, kRam));
}

TEST(Unused, OnEveryNode) {
  FakeMemory memory({.ram = 4, .device = 2, .devices = 2});
  auto [a, b, c] = memory.on_disk("a", "b", "c");
  memory.run(kDevice, {{&a, kR}});
  memory.run(kDevice, {{&b, kR}});
  memory.run_last(kOther, {{&b, kR}});
  memory.run(kDevice, {{&c, kR}});
  EXPECT_TRUE(memory.valid(a, kDevice));
  EXPECT_FALSE(memory.valid(b, kDevice));
}

TEST(Unused, ThePolicyIsNotAsked) {
  FakeMemory memory({.ram = 2, .external_victims = true});
  EXPECT_EQ(goes_for_c(memory, kRam), "b");
  EXPECT_TRUE(memory.queries.empty());
}

TEST(Unused, WhatTasksOfTheLookAheadUseIsNot) {
  FakeMemory memory({.ram = 2});
  auto [a, b, c] = memory.on_disk("a", "b", "c");
  memory.run(kRam, {{&a, kR}});
  auto& last = memory.ask(kRam, {{&b, kR}});
  memory.finish_all();
  memory.residency.claim(memory.make(kRam, {{&b, kR}}).task, kRam);
  memory.end(last);
  memory.note_unused(last);
  memory.run(kRam, {{&c, kR}});
  EXPECT_TRUE(memory.valid(b, kRam));
}

TEST(Unused, UnderTheOrderOfTheOtherRuntimeItIsOneOfTheOthers) {
  FakeMemory memory({.ram = 4, .device = 2, .devices = 1, .rules = {.lru = true}});
  EXPECT_EQ(goes_for_c(memory, kDevice), "a");
}

// --- it is saved early

TEST(WriteBehind, BeginsWhenHalfOfTheDeviceIsTaken) {
  FakeMemory memory({.ram = 8, .device = 4, .devices = 1});
  auto [a, b, c] = memory.data("a", "b", "c");
  memory.run_last(kDevice, {{&a, kW}});
  memory.run_last(kDevice, {{&b, kW}});
  EXPECT_EQ(memory.copying(), Names{});
  memory.run_last(kDevice, {{&c, kW}});
  EXPECT_EQ(memory.copying(), Names{"a device->ram"});
  memory.finish();
  // Half of it could be free at once.
  EXPECT_EQ(memory.copying(), Names{});
  EXPECT_TRUE(memory.valid(a, kDevice));
  EXPECT_TRUE(memory.valid(a, kRam));
}

TEST(WriteBehind, OneCopyAfterTheOther) {
  FakeMemory memory({.ram = 8, .device = 6, .devices = 1});
  auto [a, b, c, d, e] = memory.data("a", "b", "c", "d", "e");
  memory.run(kDevice, {{&d, kW}, {&e, kW}});
  memory.run_last(kDevice, {{&a, kW}, {&b, kW}, {&c, kW}});
  EXPECT_EQ(memory.copying(), Names{"a device->ram"});
  memory.finish();
  EXPECT_EQ(memory.copying(), Names{"b device->ram"});
  memory.finish();
  EXPECT_EQ(memory.copying(), Names{});
}

TEST(WriteBehind, NotWhileTheLinkIsBusy) {
  FakeMemory memory({.ram = 8, .device = 4, .devices = 1});
  auto [a, b, c] = memory.data("a", "b", "c");
  memory.run(kDevice, {{&a, kW}});
  memory.run(kDevice, {{&c, kW}});
  auto& wants_a = memory.ask(kRam, {{&a, kR}});
  auto& last = memory.ask(kDevice, {{&b, kW}});
  memory.end(last);
  memory.note_unused(last);
  EXPECT_EQ(memory.copying(), Names{"a device->ram"});
  memory.finish();
  EXPECT_EQ(memory.copying(), Names{"b device->ram"});
  memory.end(wants_a);
}

TEST(WriteBehind, NotWhatIsSubmittedAgain) {
  FakeMemory memory({.ram = 8, .device = 2, .devices = 1});
  auto [a, b] = memory.data("a", "b");
  memory.run_last(kDevice, {{&a, kW}});
  a.word = graph::kReader;
  memory.run_last(kDevice, {{&b, kW}});
  EXPECT_EQ(memory.finish_all(), Names{"b device->ram"});
}

TEST_F(WriteBehindOfOne, WhoWritesItAgainWaitsForTheCopy) {
  auto& writes = memory.ask(kDevice, {{&a, kRW}});
  EXPECT_EQ(writes.state(), RequestState::queued);
  memory.finish();
  ASSERT_EQ(writes.state(), RequestState::ready);
  memory.end(writes);
  EXPECT_TRUE(memory.valid(a, kDevice));
  EXPECT_FALSE(memory.valid(a, kRam));
}

TEST(WriteBehind, TakesOnlyRoomThatIsFree) {
  FakeMemory memory({.ram = 4, .device = 4, .devices = 1});
  graph::Handle& a = memory.data("a", 3);
  graph::Handle& c = memory.data("c", 2);
  memory.run(kRam, {{&c, kW}});
  memory.run_last(kDevice, {{&a, kW}});
  EXPECT_EQ(memory.copying(), Names{});
  EXPECT_TRUE(memory.valid(c, kRam));
}

TEST(WriteBehind, NotIntoARamThatIsShortItself) {
  FakeMemory memory({.ram = 4, .device = 4, .devices = 1});
  graph::Handle& a = memory.data("a", 1);
  graph::Handle& b = memory.data("b", 2);
  graph::Handle& c = memory.data("c", 3);
  memory.run(kRam, {{&c, kW}});
  memory.run(kDevice, {{&b, kW}});
  memory.run_last(kDevice, {{&a, kW}});
  EXPECT_EQ(memory.copying(), Names{});
}

TEST(WriteBehind, WhatIsUsedAgainDoesNotCountAsRoom) {
  FakeMemory memory({.ram = 8, .device = 4, .devices = 1});
  auto [a, b] = memory.on_disk("a", "b");
  auto [c, d] = memory.data("c", "d");
  memory.run_last(kDevice, {{&a, kR}, {&b, kR}});
  memory.run_last(kDevice, {{&c, kW}});
  EXPECT_EQ(memory.copying(), Names{});  // a and b could go at once
  auto& next = memory.make(kDevice, {{&a, kR}, {&b, kR}});
  memory.residency.claim(next.task, kDevice);
  memory.run_last(kDevice, {{&d, kW}});
  EXPECT_EQ(memory.copying(), Names{"c device->ram"});
}

TEST_F(WriteBehindOfOne, TheDeviceIsLookedAtWhenACopyHasEnded) {
  const memory::Copy copy = memory.copies.at(0);
  memory.copies.clear();
  memory.residency.copy_done(copy.id, nullptr, memory.actions);
  EXPECT_TRUE(std::ranges::count(memory.actions.arrivals, kDevice) > 0);
}

TEST(WriteBehind, TheCopyInRamGoesFirstThere) {
  FakeMemory memory({.ram = 4, .device = 2, .devices = 1});
  auto [x, y, z] = memory.on_disk("x", "y", "z");
  auto [a, b] = memory.data("a", "b");
  memory.run(kRam, {{&x, kR}});
  memory.run(kDevice, {{&b, kW}});
  memory.run_last(kDevice, {{&a, kW}});
  EXPECT_EQ(memory.finish_all(), Names{"a device->ram"});
  memory.run(kRam, {{&y, kR}});
  memory.run(kRam, {{&z, kR}});
  EXPECT_TRUE(memory.valid(a, kRam));
  auto& w = memory.on_disk("w");
  memory.run(kRam, {{&w, kR}});
  EXPECT_FALSE(memory.valid(a, kRam));
  EXPECT_TRUE(memory.valid(x, kRam));
  // And what is left on the device is the only copy again: its room is not free at once.
  auto& c = memory.data("c");
  auto& needs_room = memory.ask(kDevice, {{&c, kW}});
  EXPECT_EQ(needs_room.state(), RequestState::queued);
  EXPECT_EQ(memory.finish_all(), Names{"a device->ram"});
  memory.end(needs_room);
}

TEST(WriteBehind, WhatIsTheOnlyCopyAgainDoesNotCountAsRoom) {
  FakeMemory memory({.ram = 8, .device = 4, .devices = 2, .peers = true});
  auto [a, b, c] = memory.data("a", "b", "c");
  memory.run(kDevice, {{&a, kW}});
  memory.run_last(kOther, {{&a, kR}});
  memory.run(kDevice, {{&b, kW}});
  memory.run(kDevice, {{&c, kW}});
  auto [p, q, r, s] = memory.on_disk("p", "q", "r", "s");
  for (graph::Handle* other : {&p, &q, &r, &s}) memory.run(kOther, {{other, kR}});
  ASSERT_FALSE(memory.valid(a, kOther));
  memory.run_last(kDevice, {{&b, kR}});
  EXPECT_EQ(memory.copying(), Names{"a device->ram"});
}

TEST_F(WriteBehindOfOne, IsVoidWhenTheContentIs) {
  memory.residency.invalidate(a, memory.actions);
  memory.collect();
  memory.finish();
  EXPECT_FALSE(memory.valid(a, kRam));
  EXPECT_FALSE(memory.valid(a, kDevice));
  EXPECT_EQ(memory.resident(kRam), Bytes{0});
}

TEST_F(WriteBehindOfOne, WhoForgetsTheHandleWaitsForIt) {
  EXPECT_FALSE(memory.residency.remove(a, memory.actions));
  memory.finish();
  EXPECT_TRUE(memory.residency.remove(a, memory.actions));
  memory.collect();
  EXPECT_EQ(memory.resident(kRam), Bytes{0});
}

TEST(WriteBehind, NotToTheDisk) {
  FakeMemory memory({.ram = 2});
  auto [a, b] = memory.data("a", "b");
  memory.run_last(kRam, {{&a, kW}});
  memory.run_last(kRam, {{&b, kW}});
  EXPECT_EQ(memory.copying(), Names{});
}

TEST_F(WriteBehindOfOne, ACopyThatFailsIsNoError) {
  memory.finish(0, std::make_exception_ptr(DeviceError("injected")));
  EXPECT_EQ(memory.copying(), Names{});  // who needs its room tries again
  EXPECT_EQ(memory.residency.broken(), nullptr);
  auto& needs_room = memory.ask(kDevice, {{&c, kW}});
  EXPECT_EQ(memory.finish_all(), Names{"a device->ram"});
  EXPECT_EQ(needs_room.state(), RequestState::ready);
  memory.end(needs_room);
}

TEST(WriteBehind, NotWhereTheApplicationsHintsSaveIt) {
  FakeMemory memory({.ram = 8, .device = 2, .devices = 1, .rules = {.hint = true}});
  auto [a, b] = memory.data("a", "b");
  memory.run_last(kDevice, {{&a, kW}});
  memory.run_last(kDevice, {{&b, kW}});
  EXPECT_EQ(memory.copying(), Names{});
}

// It holds no access, so a writer may come at any moment: it finds the pin, or is seen by its own.
TEST(WriteBehind, NeverCopiesWhatATaskWrites) {
  for (std::uint64_t round = 0; round < 600; ++round) {
    FakeMemory memory({.ram = 8, .device = 2, .devices = 1});
    auto [a, b] = memory.data("a", "b");
    memory.run(kDevice, {{&b, kW}});
    auto& last = memory.ask(kDevice, {{&a, kW}});
    memory.end(last);
    auto& writes = memory.make(kDevice, {{&a, kRW}});
    std::atomic<bool> is_there{false};
    std::atomic<bool> go{false};
    bool pinned = false;
    std::thread worker([&] {
      is_there.store(true);
      while (!go.load()) {
      }
      for (volatile std::uint64_t i = 0; i < round * 7 % 400;) i = i + 1;
      pinned = memory.residency.pin_first(writes.task, kDevice) == 1;
    });
    while (!is_there.load()) {
    }
    go.store(true);
    memory.residency.note_unused(last.task, memory.actions);
    worker.join();
    EXPECT_FALSE(pinned && !memory.actions.copies.empty()) << "round " << round;
  }
}

}  // namespace
}  // namespace vicinal
