#include "memory/recency.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace vicinal::memory {
namespace {

const auto kAnyone = [](const Replica&) { return true; };
const auto kNobody = [](const Replica&) { return false; };

class RecencyTest : public ::testing::Test {
 protected:
  Replica& make(std::uint64_t use) {
    Replica& replica = replicas.emplace_back();
    replica.last_use = use;
    recency.add(replica);
    return replica;
  }
  std::deque<Replica> replicas;
  Recency recency;
};

TEST_F(RecencyTest, TheLeastRecentlyUsedComesFirstAndKeepsItsEntry) {
  make(3);
  Replica& oldest = make(1);
  make(2);
  EXPECT_EQ(recency.least(kAnyone, kNobody), &oldest);
  EXPECT_EQ(recency.least(kAnyone, kNobody), &oldest);
}

TEST_F(RecencyTest, AUseIsSeenWithoutBeingTold) {
  Replica& first = make(1);
  Replica& second = make(2);
  first.last_use = 5;
  EXPECT_EQ(recency.least(kAnyone, kNobody), &second);
  second.last_use = 6;
  EXPECT_EQ(recency.least(kAnyone, kNobody), &first);
}

TEST_F(RecencyTest, WhatIsNotAcceptedStaysAndWhatIsLeftOutDoesNot) {
  Replica& first = make(1);
  Replica& second = make(2);
  const auto is_second = [&](const Replica& r) { return &r == &second; };
  EXPECT_EQ(recency.least(is_second, kNobody), &second);
  EXPECT_EQ(recency.least(kAnyone, kNobody), &first);
  EXPECT_EQ(recency.least(kAnyone, [&](const Replica& r) { return &r == &first; }), &second);
  recency.remove(second);
  EXPECT_EQ(recency.least(kAnyone, kNobody), nullptr);  // until it is added again
  recency.add(first);
  EXPECT_EQ(recency.least(kAnyone, kNobody), &first);
}

// Under the address sanitizer: what is left in the heap of a replica does not lead to it.
TEST_F(RecencyTest, NothingIsReadOfAReplicaThatIsGone) {
  Replica& stays = make(500);
  for (std::uint64_t use = 1; use <= 400; ++use) {
    auto gone = std::make_unique<Replica>();
    gone->last_use = use;
    recency.add(*gone);
    recency.remove(*gone);
  }
  EXPECT_EQ(recency.least(kAnyone, kNobody), &stays);
}

// Against a look at all of them.
TEST_F(RecencyTest, AgreesWithAWalkOverRandomUses) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    base::Random random(seed);
    Recency order;
    std::deque<Replica> all(20);
    std::uint64_t clock = 0;
    for (int step = 0; step < 2000; ++step) {
      Replica& one = all[random.below(all.size())];
      switch (random.below(4)) {
        case 0:
          if (one.recency_slot == 0) order.add(one);
          break;
        case 1:
          order.remove(one);
          break;
        case 2:
          one.last_use = ++clock;
          break;
        default:
          break;
      }
      std::optional<std::uint64_t> least;
      for (const Replica& r : all) {
        if (r.recency_slot != 0) least = std::min(least.value_or(r.last_use), r.last_use.load());
      }
      const Replica* const found = order.least(kAnyone, kNobody);
      ASSERT_EQ(found != nullptr, least.has_value());
      if (found != nullptr) {
        ASSERT_EQ(found->last_use.load(), *least);
      }
    }
  }
}

}  // namespace
}  // namespace vicinal::memory
