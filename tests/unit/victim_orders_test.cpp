// Who leaves a memory node first, without a node around it.
#include "memory/victim_orders.hpp"

#include <array>
#include <cstdint>

#include <gtest/gtest.h>

namespace vicinal::memory {
namespace {

constexpr NodeId kHere{2};

constexpr auto anybody = [](const Replica& /*replica*/) { return true; };

// Data of a page each, with room on one node; `used` in the order of their numbers.
struct Three {
  Three() {
    orders.set_up(UseOrder::as_announced, true);
    for (std::uint32_t i = 0; i < data.size(); ++i) {
      data[i].layout = {4096, 1, 4096, 1};
      Replica& r = replicas[i];
      r.node = kHere;
      r.handle = &data[i];
      r.last_use.store(i + 1);
      data[i].on.valid.add(kHere);
      orders.add(r);
    }
  }
  VictimOrders orders;
  std::array<graph::Handle, 3> data;
  std::array<Replica, 3> replicas;
};

TEST(VictimOrders, TheLeastRecentlyUsedGoesFirstByTheStampsOfTheLastUses) {
  Three t;
  EXPECT_EQ(t.orders.least_needed(anybody), &t.replicas[0]);
  t.replicas[0].last_use.store(9);  // used again, without any lock
  EXPECT_EQ(t.orders.least_needed(anybody), &t.replicas[1]);
  EXPECT_EQ(t.orders.least_recent(anybody), &t.replicas[1]);
  t.orders.check("here");
}

TEST(VictimOrders, WhatTheLookAheadClaimsGoesOnlyWhereNothingElseDoes) {
  Three t;
  t.replicas[0].claims.store(1);
  EXPECT_EQ(t.orders.least_recent_unclaimed(anybody), &t.replicas[1]);
  EXPECT_EQ(t.orders.least_recent(anybody), &t.replicas[0]);
}

TEST(VictimOrders, OfThoseThatTasksAwaitTheLastOneToBeReadGoesFirst) {
  Three t;
  for (const std::uint32_t i : {1U, 0U, 2U}) {  // read in this order
    const std::lock_guard held(t.orders.next_uses.lock);
    t.orders.next_uses.add(t.replicas[i]);
  }
  EXPECT_EQ(t.orders.least_needed(anybody), &t.replicas[2]);
  const auto not_the_last = [&](const Replica& r) { return &r != &t.replicas[2]; };
  EXPECT_EQ(t.orders.least_needed(not_the_last), &t.replicas[0]);
  t.orders.check("here");
}

TEST(VictimOrders, UnusedDataAreSavedOrNotByWhetherAnotherNodeHasThem) {
  Three t;
  t.data[1].on.valid.add(kRam);
  t.orders.put_unused(t.replicas[0]);
  t.orders.put_unused(t.replicas[1]);
  EXPECT_EQ(t.orders.saved(anybody), &t.replicas[1]);
  EXPECT_EQ(t.orders.unsaved(anybody), &t.replicas[0]);
  EXPECT_EQ(t.orders.saved_bytes(), Bytes{4096});
  t.data[1].on.valid.remove(kRam);  // it was the other copy
  EXPECT_EQ(t.orders.saved(anybody), nullptr);
  EXPECT_EQ(t.orders.saved_bytes(), Bytes{0});
  EXPECT_EQ(t.orders.unsaved([&](const Replica& r) { return &r != &t.replicas[0]; }),
            &t.replicas[1]);
  t.orders.check("here");
}

TEST(VictimOrders, CheckFindsAReplicaThatIsInNoOrder) {
  Three t;
  t.orders.leave(t.replicas[1]);
  EXPECT_THROW(t.orders.check("here"), std::logic_error);
  t.orders.put(t.replicas[1]);
  t.orders.check("here");
}

}  // namespace
}  // namespace vicinal::memory
