#include "memory/next_uses.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace vicinal::memory {
namespace {

class NextUsesTest : public ::testing::Test {
 protected:
  std::uint64_t next(std::size_t i) const { return replicas[i].next_use; }
  std::vector<const Replica*> remove(std::uint64_t task) {
    std::vector<const Replica*> told;
    uses.remove(task, [&](const Replica& replica) { told.push_back(&replica); });
    return told;
  }
  std::array<Replica, 3> replicas;
  NextUses uses;
};

TEST_F(NextUsesTest, TheFirstTaskThatIsLeftSaysWhenAReplicaIsUsedNext) {
  uses.add(7, replicas[0]);  // number 1
  uses.add(7, replicas[1]);  // 2
  uses.add(9, replicas[0]);  // 3
  EXPECT_EQ(next(0), 1U);
  EXPECT_EQ(replicas[0].uses, 2U);
  EXPECT_EQ(remove(7).size(), 2U);
  EXPECT_EQ(next(0), 3U);
  EXPECT_EQ(next(1), 0U);
  EXPECT_EQ(next(2), 0U);
  EXPECT_EQ(replicas[0].uses, 1U);
}

TEST_F(NextUsesTest, ATaskLeavesFromTheMiddleAndItsSlotIsUsedAgain) {
  for (const std::uint64_t task : {1, 2, 3}) uses.add(task, replicas[0]);  // numbers 1, 2, 3
  EXPECT_EQ(remove(2), std::vector<const Replica*>{&replicas[0]});
  EXPECT_FALSE(uses.names(2));
  uses.add(2, replicas[0]);  // 4
  remove(1);
  EXPECT_EQ(next(0), 3U);
  remove(3);
  EXPECT_EQ(next(0), 4U);
  EXPECT_TRUE(uses.names(2));
  remove(2);
  EXPECT_EQ(next(0), 0U);
  EXPECT_EQ(replicas[0].uses, 0U);
  EXPECT_FALSE(uses.names(1000));  // a slot that nobody named
}

}  // namespace
}  // namespace vicinal::memory
