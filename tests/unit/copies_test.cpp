// Copies: their number and their way, copies that outlive their purpose, and prefetches.
#include <exception>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/fake_memory.hpp"
#include "vicinal/error.hpp"

namespace vicinal::memory {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests

TEST(Residency, DataOnDiskComeToADeviceThroughRam) {
  FakeMemory memory({.ram = 1, .device = 2, .devices = 1});
  auto [a, b] = memory.on_disk("a", "b");
  auto& task = memory.ask(kDevice, {{&a, kR}, {&b, kR}});
  // One page of RAM: one after the other.
  EXPECT_EQ(memory.finish_all(),
            (Names{"a disk->ram", "a ram->device", "b disk->ram", "b ram->device"}));
  EXPECT_EQ(task.state(), RequestState::ready);
}

TEST(Residency, AFailedReadOnTheWayThroughRamFailsTheReservation) {
  FakeMemory memory({.ram = 2, .device = 2, .devices = 1});
  auto [a, b] = memory.on_disk("a", "b");
  auto& task = memory.ask(kDevice, {{&a, kR}, {&b, kR}});
  memory.finish(0, std::make_exception_ptr(DeviceError("reading a failed")));
  memory.finish_all();
  EXPECT_EQ(task.state(), RequestState::failed);
  EXPECT_TRUE(task.request.error != nullptr);
  EXPECT_FALSE(memory.valid(a, kDevice));
  EXPECT_FALSE(memory.valid(a, kRam));
  EXPECT_TRUE(memory.valid(a, kDisk));
  memory.run(kDevice, {{&a, kR}, {&b, kR}});  // the next one tries again
}

TEST(Residency, AWayThroughRamThatIsFullForGoodFailsTheReservation) {
  FakeMemory memory({.ram = 1, .device = 1, .devices = 1, .disk = 1});
  auto& a = memory.on_disk("a");
  auto [b, c] = memory.data("b", "c");
  memory.run(kRam, {{&b, kW}});
  memory.run(kRam, {{&c, kW}});  // b has the only page of the disk
  auto& task = memory.ask(kDevice, {{&a, kR}});
  EXPECT_EQ(task.state(), RequestState::failed);
  EXPECT_EQ(memory.copying(), Names{});
  EXPECT_EQ(memory.resident(kDevice).value, 0U);
  EXPECT_TRUE(memory.valid(a, kDisk));
  EXPECT_TRUE(memory.valid(b, kDisk));
  EXPECT_TRUE(memory.valid(c, kRam));
}

TEST(Residency, ACopyThatEndsAfterAWriteIsVoid) {
  FakeMemory memory({.devices = 2, .peers = true});
  auto& a = memory.data("a");
  memory.run(kRam, {{&a, kW}});
  memory.run(kDevice, {{&a, kR}});
  EXPECT_TRUE(memory.prefetch(a, kOther));  // from RAM, in flight
  auto& writer = memory.ask(kDevice, {{&a, kRW}});
  EXPECT_EQ(writer.state(), RequestState::ready);  // nobody reads the device's replica
  memory.end(writer);
  EXPECT_FALSE(memory.valid(a, kRam));
  memory.finish();
  EXPECT_FALSE(memory.valid(a, kOther));
  EXPECT_EQ(memory.resident(kOther).value, 0U);
}

// What was started for a task that was cancelled goes on, and knows nothing of the graph.
TEST(Residency, ACopyThroughRamThatNobodyWaitsForDoesNotPassForATaskThatOverwritesTheData) {
  FakeMemory memory({.ram = 4, .device = 1, .devices = 2});
  auto [a, b] = memory.data("a", "b");
  memory.run(kOther, {{&a, kW}});
  auto& cancelled = memory.ask(kDevice, {{&a, kRW}});
  memory.finish();  // other->ram
  ASSERT_EQ(memory.copying(), Names{"a ram->device"});
  memory.withdraw(cancelled);
  auto& writer = memory.ask(kOther, {{&a, kW}});
  ASSERT_EQ(writer.state(), RequestState::ready);
  memory.end(writer);
  // Its only replica leaves, while RAM still holds what was there before.
  auto& next = memory.ask(kOther, {{&b, kW}});
  memory.finish_all();
  ASSERT_EQ(next.state(), RequestState::ready) << memory.residency.describe();
  memory.end(next);
  EXPECT_TRUE(memory.valid(a, kRam));
  memory.run(kRam, {{&a, kR}});
}

TEST(Residency, AWayThroughRamThatWaitsForItsRoomIsNotWaitedForByTheVictimThatIsToGiveIt) {
  FakeMemory memory({.ram = 2, .device = 2, .devices = 1});
  auto [a, b, c] = memory.data("a", "b", "c");
  memory.run(kDevice, {{&a, kW}});
  auto& holder = memory.ask(kRam, {{&b, kW}});
  memory.prefetch(a, kRam);
  auto& head = memory.ask(kRam, {{&b, kW}, {&c, kW}});
  auto& saver = memory.ask(kDisk, {{&a, kR}});  // through RAM, behind `head`
  memory.finish();
  EXPECT_TRUE(memory.valid(a, kRam));
  auto& filler = memory.ask(kDevice, {{&c, kW}, {&b, kW}});
  EXPECT_FALSE(memory.valid(a, kDevice));
  memory.withdraw(filler);
  memory.end(holder);  // now a is to make room in RAM, and goes to the disk
  EXPECT_EQ(memory.copying(), Names{"a ram->disk"});
  memory.finish_all();
  EXPECT_EQ(saver.state(), RequestState::ready);
  EXPECT_EQ(head.state(), RequestState::ready);
}

TEST(Residency, AWayThroughRamThatStillWaitsIsCancelledWithTheTaskItWasFor) {
  FakeMemory memory({.ram = 1, .device = 1, .devices = 2});
  auto [a, r] = memory.data("a", "r");
  memory.run(kOther, {{&a, kW}});
  auto& holder = memory.ask(kRam, {{&r, kW}});
  auto& cancelled = memory.ask(kDevice, {{&a, kR}});  // through RAM, which is full
  memory.withdraw(cancelled);
  EXPECT_EQ(memory.resident(kDevice).value, 0U);
  auto& writer = memory.ask(kOther, {{&a, kRW}});
  ASSERT_EQ(writer.state(), RequestState::ready);
  memory.end(holder);  // room in RAM; but what lies on `other` is being written
  EXPECT_EQ(memory.copying(), Names{});
  memory.end(writer);
}

TEST(Residency, NobodyJoinsACopyOfOlderContent) {
  FakeMemory memory({.devices = 2, .peers = true});
  auto& a = memory.data("a");
  memory.run(kRam, {{&a, kW}});
  memory.run(kDevice, {{&a, kR}});
  memory.prefetch(a, kOther);  // from RAM, in flight
  auto& again = memory.ask(kDevice, {{&a, kRW}});
  ASSERT_EQ(again.state(), RequestState::ready);
  memory.end(again);
  auto& reader = memory.ask(kOther, {{&a, kR}});
  EXPECT_EQ(memory.finish_all(), (Names{"a ram->other", "a device->other"}));
  EXPECT_EQ(reader.state(), RequestState::ready);
  EXPECT_TRUE(memory.valid(a, kOther));
}

TEST(Residency, PrefetchesGiveWayToAReservation) {
  // One copy at a time on the link: the second prefetch waits, and its room is taken back.
  FakeMemory memory({.ram = 4, .device = 2, .devices = 1, .copies = 1});
  auto [a, b, c] = memory.data("a", "b", "c");
  for (auto* handle : {&a, &b, &c}) memory.run(kRam, {{handle, kW}});
  EXPECT_TRUE(memory.prefetch(a, kDevice));
  EXPECT_TRUE(memory.prefetch(b, kDevice));
  EXPECT_EQ(memory.copying(), Names{"a ram->device"});
  EXPECT_EQ(memory.resident(kDevice), kPage * 2);
  auto& task = memory.ask(kDevice, {{&c, kR}});
  EXPECT_EQ(memory.resident(kDevice), kPage * 2);  // a and c
  EXPECT_FALSE(memory.residency.on_node(b, kDevice));
  EXPECT_FALSE(memory.prefetch(b, kDevice));
  memory.finish_all();
  EXPECT_EQ(task.state(), RequestState::ready);
}

TEST(Residency, APrefetchTakesNoRoomThatSomebodyWaitsFor) {
  FakeMemory memory({.ram = 2});
  auto& a = memory.data("a");
  auto& b = memory.data("b", 2);
  auto& c = memory.on_disk("c");
  auto& holder = memory.ask(kRam, {{&a, kW}});
  auto& waiting = memory.ask(kRam, {{&b, kW}});
  EXPECT_EQ(waiting.state(), RequestState::queued);
  EXPECT_FALSE(memory.prefetch(c, kRam));  // although a page is free
  EXPECT_EQ(memory.copying(), Names{});
  memory.end(holder);
  memory.finish_all();
  EXPECT_EQ(waiting.state(), RequestState::ready);
}

TEST(Residency, OutputsOnlyWrittenAreNotCopiedIn) {
  FakeMemory memory({.devices = 1});
  auto& a = memory.data("a");
  memory.run(kRam, {{&a, kW}});
  auto& writer = memory.ask(kDevice, {{&a, kW}});
  EXPECT_EQ(writer.state(), RequestState::ready);
  EXPECT_EQ(memory.copying(), Names{});
  EXPECT_TRUE(memory.valid(a, kRam));  // until it is done
  memory.end(writer);
  EXPECT_FALSE(memory.valid(a, kRam));
  EXPECT_EQ(memory.resident(kRam).value, 0U);
}

TEST(Residency, InvalidatedContentGivesItsRoomBack) {
  FakeMemory memory({.devices = 1});
  auto& a = memory.data("a");
  memory.run(kRam, {{&a, kW}});
  memory.run(kDevice, {{&a, kR}});
  memory.residency.invalidate(a, memory.actions);
  memory.collect();
  EXPECT_EQ(memory.resident(kRam).value, 0U);
  EXPECT_EQ(memory.resident(kDevice).value, 0U);
  auto& reader = memory.ask(kRam, {{&a, kR}});
  EXPECT_EQ(reader.state(), RequestState::failed);
}

TEST(Residency, AHandleIsRemovedWhenItsLastCopyHasEnded) {
  FakeMemory memory({.devices = 1});
  auto& a = memory.data("a");
  memory.run(kRam, {{&a, kW}});
  memory.prefetch(a, kDevice);
  EXPECT_FALSE(memory.residency.remove(a, memory.actions));
  memory.finish_all();
  EXPECT_TRUE(memory.residency.remove(a, memory.actions));
  memory.residency.forget(a);
  EXPECT_EQ(memory.resident(kRam).value, 0U);
  EXPECT_EQ(memory.resident(kDevice).value, 0U);
}

TEST(Residency, AHandleThatIsUsedAgainKnowsNothingOfTheDatumBefore) {
  FakeMemory memory({.devices = 1});
  auto& a = memory.data("a");
  memory.run(kRam, {{&a, kW}});
  memory.prefetch(a, kDevice);
  memory.finish(0, std::make_exception_ptr(DeviceError("copying a failed")));
  memory.prefetch(a, kDevice);
  EXPECT_EQ(memory.copying(), Names{});  // left to whoever needs it
  EXPECT_TRUE(memory.residency.remove(a, memory.actions));
  memory.collect();
  memory.residency.forget(a);
  memory.residency.add(a);
  memory.run(kRam, {{&a, kW}});
  EXPECT_TRUE(memory.prefetch(a, kDevice));
  EXPECT_EQ(memory.copying(), Names{"a ram->device"});
  memory.finish_all();
}

TEST(Residency, AHandleWhoseEvictionWaitsCanBeRemoved) {
  FakeMemory memory({.ram = 1, .device = 1, .devices = 1});
  auto [a, b, r] = memory.data("a", "b", "r");
  memory.ask(kRam, {{&r, kW}});
  memory.run(kDevice, {{&a, kW}});
  auto& other = memory.ask(kDevice, {{&b, kW}});
  EXPECT_EQ(other.state(), RequestState::queued);
  EXPECT_TRUE(memory.residency.remove(a, memory.actions));
  memory.collect();
  memory.residency.forget(a);
  EXPECT_EQ(other.state(), RequestState::ready);
}

// --- ids that drivers give back

class CopyIds : public ::testing::Test {
 protected:
  // A copy of a page from the disk, in flight.
  static Copy begun(FakeMemory& of, const std::string& name) {
    of.ask(kRam, {{&of.on_disk(name), kR}});
    return of.copies.back();
  }
  // What a driver is told that reports the id.
  std::string refusal(CopyId id) {
    Actions actions;
    const std::string message =
        message_of<DeviceError>([&] { memory.residency.copy_done(id, nullptr, actions); });
    EXPECT_TRUE(actions.empty());
    memory.residency.check();
    return message;
  }
  FakeMemory memory;
};

TEST_F(CopyIds, ACopyEndsOnce) {
  const CopyId id = begun(memory, "a").id;
  memory.finish();
  EXPECT_THAT(refusal(id),
              AllOf(HasSubstr("copy " + to_string(id)), HasSubstr("has ended before")));
}

TEST_F(CopyIds, AStaleIdEndsNoLaterCopy) {
  const CopyId stale = begun(memory, "a").id;
  memory.finish();
  const CopyId later = begun(memory, "b").id;
  EXPECT_EQ(later.slot, stale.slot);
  EXPECT_THAT(refusal(stale), HasSubstr("copy " + to_string(stale)));
  EXPECT_EQ(memory.copying(), Names{"b disk->ram"});
  memory.finish();  // it ends as if nothing had been
  EXPECT_TRUE(memory.residency.quiet());
}

TEST_F(CopyIds, AnIdOfAnotherRuntimeIsRefused) {
  FakeMemory other;
  const CopyId own = begun(memory, "a").id;
  const CopyId foreign = begun(other, "a").id;
  EXPECT_EQ(foreign.slot, own.slot);
  EXPECT_EQ(foreign.generation, own.generation);
  EXPECT_THAT(refusal(foreign), HasSubstr("no copy of this runtime has that id"));
  memory.finish();
  other.finish();
}

TEST_F(CopyIds, AnIdThatNobodyGaveIsRefused) {
  const CopyId id = begun(memory, "a").id;
  EXPECT_THAT(refusal({id.slot + 1, 1, id.table}), HasSubstr("was never started"));
  EXPECT_THAT(refusal({id.slot, id.generation + 1, id.table}), HasSubstr("was never started"));
  EXPECT_THAT(refusal({0xffffffffU, 0, id.table}), HasSubstr("copy 4294967295.0"));
  EXPECT_THAT(refusal({}), HasSubstr("no copy of this runtime"));
  memory.finish();
}

}  // namespace
}  // namespace vicinal::memory
