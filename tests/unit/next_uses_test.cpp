#include "memory/next_uses.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <stdexcept>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "memory/replica.hpp"

namespace vicinal::memory {
namespace {

class NextUsesTest : public ::testing::Test {
 protected:
  std::uint64_t next(std::size_t i) { return uses.first(replicas[i]); }
  std::array<Replica, 3> replicas;
  NextUses uses;
};

TEST_F(NextUsesTest, TheFirstTaskThatIsLeftSaysWhenAReplicaIsUsedNext) {
  EXPECT_EQ(uses.add(replicas[0]), 1U);
  EXPECT_EQ(uses.add(replicas[1]), 2U);
  EXPECT_EQ(uses.add(replicas[0]), 3U);
  EXPECT_EQ(next(0), 1U);
  EXPECT_EQ(replicas[0].uses, 2U);
  uses.leave(replicas[0], 1);
  uses.leave(replicas[1], 2);
  EXPECT_EQ(next(0), 3U);
  EXPECT_EQ(next(1), 0U);
  EXPECT_EQ(next(2), 0U);
  EXPECT_EQ(replicas[0].uses, 1U);
}

TEST_F(NextUsesTest, AUseLeavesFromTheMiddleAndOnlyOnce) {
  for (int i = 0; i < 3; ++i) uses.add(replicas[0]);  // numbers 1, 2, 3
  uses.leave(replicas[0], 2);
  EXPECT_EQ(uses.add(replicas[0]), 4U);
  uses.leave(replicas[0], 1);
  EXPECT_EQ(next(0), 3U);
  EXPECT_THROW(uses.leave(replicas[0], 2), std::logic_error);
  EXPECT_THROW(uses.leave(replicas[0], 5), std::logic_error);
  uses.leave(replicas[0], 3);
  EXPECT_EQ(next(0), 4U);
  uses.leave(replicas[0], 4);
  EXPECT_EQ(next(0), 0U);
  EXPECT_EQ(replicas[0].uses, 0U);
}

// Number 1: a task that uses both; 2: one that uses the second.
TEST(NextUses, TheUsesOfATaskShareANumberAndLeaveTogether) {
  NextUses uses;
  Uses first;
  Uses second;
  const std::uint64_t both = uses.take_number();
  uses.add(first, both);
  uses.add(second, both);
  EXPECT_EQ(uses.add(second), 2U);
  EXPECT_EQ(uses.first(first), 1U);
  EXPECT_EQ(uses.first(second), 1U);
  uses.mark_left(both);
  uses.drop(first);
  uses.drop(second);
  EXPECT_EQ(uses.first(first), 0U);
  EXPECT_EQ(uses.first(second), 2U);
  EXPECT_THROW(uses.mark_left(both), std::logic_error);
}

// A model that takes each use out at once. Queues are used again many times.
TEST_F(NextUsesTest, SaysWhatAListWithoutThoseThatLeftSays) {
  base::Random random(20261122);
  std::map<std::uint64_t, std::size_t> all;  // number -> replica
  for (int step = 0; step < 20000; ++step) {
    if (all.size() > random.below(120)) {
      const auto at = std::next(all.begin(), static_cast<std::ptrdiff_t>(random.below(all.size())));
      uses.leave(replicas[at->second], at->first);
      all.erase(at);
    } else {
      const std::size_t of = random.below(replicas.size());
      all[uses.add(replicas[of])] = of;
    }
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      const auto of_it = [&](const auto& use) { return use.second == i; };
      const auto first = std::ranges::find_if(all, of_it);
      ASSERT_EQ(next(i), first == all.end() ? 0 : first->first) << step;
      ASSERT_EQ(replicas[i].uses, std::ranges::count_if(all, of_it)) << step;
    }
  }
}

}  // namespace
}  // namespace vicinal::memory
