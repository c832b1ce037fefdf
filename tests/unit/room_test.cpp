// The room of one memory node, with and without a limit.
#include "memory/room.hpp"

#include <array>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/fake_memory.hpp"

namespace vicinal::memory {
namespace {

using testing::FakeSource;
using testing::kPage;

struct Data {
  explicit Data(std::uint64_t pages) {
    handle.layout = {pages * kPage.value, 1, pages * kPage.value, 1};
    replica.handle = &handle;
  }
  graph::Handle handle;
  Replica replica;
};

Room& set_up(Room& room, MemorySource& source, std::optional<Bytes> limit) {
  room.set_up({kRam, "ram", NodeKind::ram, limit}, source);
  room.reserve();
  return room;
}

TEST(Room, UnderALimitCountsPagesAndRefusesWhatDoesNotFit) {
  FakeSource source;
  Room room;
  set_up(room, source, kPage * 3 + Bytes{100});  // rounded down
  Data two(2);
  Data other(2);
  EXPECT_EQ(room.capacity(), kPage * 3);
  ASSERT_TRUE(room.allocate(two.replica));
  EXPECT_NE(two.replica.address, nullptr);
  EXPECT_FALSE(room.allocate(other.replica));
  EXPECT_EQ(room.unused(), kPage);
  room.free(two.replica);
  EXPECT_TRUE(room.allocate(other.replica));
  EXPECT_EQ(room.peak(), kPage * 2);
}

TEST(Room, WhatIsKeptFreeIsNotForOthers) {
  FakeSource source;
  Room room;
  set_up(room, source, kPage * 3);
  room.keep_free(kPage * 2);
  EXPECT_TRUE(room.has_free(kPage));
  EXPECT_FALSE(room.has_free(kPage * 2));
}

TEST(Room, WhatLeavesIsCountedUntilItStaysOrIsGone) {
  FakeSource source;
  Room room;
  set_up(room, source, kPage * 3);
  Data two(2);
  room.begins_to_leave(two.replica);
  EXPECT_EQ(room.leaving(), kPage * 2);
  room.stays_or_is_gone(two.replica);
  EXPECT_EQ(room.leaving(), Bytes{0});
}

// Pages 0 and 2 are used, 1 and 3 free: no hole of two pages until they are moved.
TEST(Room, CompactingMakesOneHoleOfAll) {
  FakeSource source;
  Room room;
  set_up(room, source, kPage * 4);
  std::array<Data, 4> data{Data(1), Data(1), Data(1), Data(1)};
  for (Data& d : data) ASSERT_TRUE(room.allocate(d.replica));
  room.free(data[1].replica);
  room.free(data[3].replica);
  Data two(2);
  ASSERT_FALSE(room.allocate(two.replica));
  room.compact(std::array{&data[2].replica, &data[0].replica});
  EXPECT_EQ(source.moved, kPage);  // page 2 to page 1
  EXPECT_TRUE(room.allocate(two.replica));
}

// What the system does not give.
class Refuses final : public MemorySource {
 public:
  std::byte* reserve(NodeId, Bytes) override { return nullptr; }
  std::byte* allocate(NodeId, Bytes) override { throw std::runtime_error("no more"); }
  void release(NodeId, std::byte*, Bytes) override {}
  void relocate(NodeId, std::byte*, const std::byte*, Bytes) override {}
};

TEST(Room, WithoutALimitKeepsWhyTheSystemRefused) {
  Refuses source;
  Room room;
  set_up(room, source, std::nullopt);
  Data one(1);
  EXPECT_FALSE(room.allocate(one.replica));
  EXPECT_THROW(std::rethrow_exception(room.take_refusal()), std::runtime_error);
  EXPECT_EQ(room.take_refusal(), nullptr);
}

}  // namespace
}  // namespace vicinal::memory
