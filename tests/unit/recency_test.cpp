#include "memory/recency.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace vicinal::memory {
namespace {

const auto kAnyone = [](const Replica&) { return true; };
const auto kNobody = [](const Replica&) { return false; };
const auto kTellNobody = [](Replica&) {};

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
  EXPECT_EQ(recency.least(kAnyone, kNobody, kTellNobody), &oldest);
  EXPECT_EQ(recency.least(kAnyone, kNobody, kTellNobody), &oldest);
}

TEST_F(RecencyTest, AUseIsSeenWithoutBeingTold) {
  Replica& first = make(1);
  Replica& second = make(2);
  first.last_use = 5;
  EXPECT_EQ(recency.least(kAnyone, kNobody, kTellNobody), &second);
  second.last_use = 6;
  EXPECT_EQ(recency.least(kAnyone, kNobody, kTellNobody), &first);
}

TEST_F(RecencyTest, WhatIsLeftOutWhenDeadEntriesAreDroppedTakesNoOtherWithIt) {
  for (std::uint64_t use = 1; use <= 100; ++use) make(use);
  // 18 entries live: with one less the dead ones are dropped.
  for (std::size_t i = 18; i < 100; ++i) recency.remove(replicas[i]);
  std::vector<Replica*> left;
  const auto is_first = [&](const Replica& r) { return &r == &replicas[0]; };
  EXPECT_EQ(recency.least(kAnyone, is_first, [&](Replica& r) { left.push_back(&r); }),
            &replicas[1]);
  EXPECT_EQ(left, std::vector{&replicas[0]});
  for (std::size_t i = 1; i < 18; ++i) {
    EXPECT_EQ(recency.least(kAnyone, kNobody, kTellNobody), &replicas[i]);
    recency.remove(replicas[i]);
  }
  EXPECT_EQ(recency.least(kAnyone, kNobody, kTellNobody), nullptr);
}

TEST_F(RecencyTest, WhatIsNotAcceptedStaysAndWhatIsLeftOutDoesNot) {
  Replica& first = make(1);
  Replica& second = make(2);
  const auto is_second = [&](const Replica& r) { return &r == &second; };
  EXPECT_EQ(recency.least(is_second, kNobody, kTellNobody), &second);
  EXPECT_EQ(recency.least(kAnyone, kNobody, kTellNobody), &first);
  EXPECT_EQ(recency.least(
                kAnyone, [&](const Replica& r) { return &r == &first; }, kTellNobody),
            &second);
  recency.remove(second);
  EXPECT_EQ(recency.least(kAnyone, kNobody, kTellNobody), nullptr);  // until it is added again
  recency.add(first);
  EXPECT_EQ(recency.least(kAnyone, kNobody, kTellNobody), &first);
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
  EXPECT_EQ(recency.least(kAnyone, kNobody, kTellNobody), &stays);
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
      const Replica* const found = order.least(kAnyone, kNobody, kTellNobody);
      ASSERT_EQ(found != nullptr, least.has_value());
      if (found != nullptr) {
        ASSERT_EQ(found->last_use.load(), *least);
      }
    }
  }
}

}  // namespace
}  // namespace vicinal::memory
