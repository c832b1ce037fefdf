#include "memory/next_uses.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace vicinal::memory {
namespace {

class NextUsesTest : public ::testing::Test {
 protected:
  std::uint64_t next(std::size_t i) const { return replicas[i].next_use; }
  void remove(std::uint64_t task, const std::vector<std::size_t>& of) {
    std::uint64_t number = uses.remove(task) + 1 - of.size();
    for (const std::size_t i : of) uses.leave(replicas[i], number++);
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
  remove(7, {0, 1});
  EXPECT_EQ(next(0), 3U);
  EXPECT_EQ(next(1), 0U);
  EXPECT_EQ(next(2), 0U);
  EXPECT_EQ(replicas[0].uses, 1U);
}

TEST_F(NextUsesTest, ATaskLeavesFromTheMiddleAndItsSlotIsUsedAgain) {
  for (const std::uint64_t task : {1, 2, 3}) uses.add(task, replicas[0]);  // numbers 1, 2, 3
  remove(2, {0});
  EXPECT_FALSE(uses.names(2));
  uses.add(2, replicas[0]);  // 4
  remove(1, {0});
  EXPECT_EQ(next(0), 3U);
  remove(3, {0});
  EXPECT_EQ(next(0), 4U);
  EXPECT_TRUE(uses.names(2));
  remove(2, {0});
  EXPECT_EQ(next(0), 0U);
  EXPECT_EQ(replicas[0].uses, 0U);
  EXPECT_FALSE(uses.names(1000));  // a slot that nobody named
}

// A model that takes each use out at once. Slots and queues are used again many times.
TEST_F(NextUsesTest, SaysWhatAListWithoutThoseThatLeftSays) {
  base::Random random(20261122);
  std::map<std::uint64_t, std::vector<std::size_t>> reads;             // by task
  std::map<std::uint64_t, std::pair<std::uint64_t, std::size_t>> all;  // number -> task, replica
  std::uint64_t number = 0;
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t task = random.below(60);
    if (uses.names(task)) {
      remove(task, reads[task]);
      std::erase_if(all, [&](const auto& use) { return use.second.first == task; });
    } else {
      reads[task] = {random.below(2), 2};
      for (const std::size_t i : reads[task]) {
        uses.add(task, replicas[i]);
        all[++number] = {task, i};
      }
    }
    for (std::size_t i = 0; i < replicas.size(); ++i) {
      const auto of_it = [&](const auto& use) { return use.second.second == i; };
      const auto first = std::ranges::find_if(all, of_it);
      ASSERT_EQ(next(i), first == all.end() ? 0 : first->first) << step;
      ASSERT_EQ(replicas[i].uses, std::ranges::count_if(all, of_it)) << step;
    }
  }
}

}  // namespace
}  // namespace vicinal::memory
