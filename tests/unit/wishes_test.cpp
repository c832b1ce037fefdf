// What was wished for, and for which tasks.
#include "engine/wishes.hpp"

#include <gtest/gtest.h>

namespace vicinal::engine {
namespace {

constexpr NodeId kFirst{1};
constexpr NodeId kSecond{2};
constexpr NodeId kThird{3};

TEST(WishedTasks, KeepTheUseOfEachNodeUntilItIsTaken) {
  graph::TaskPool pool(1);
  const graph::Task& task = pool.take(0);
  const graph::Task& other = pool.take(0);
  WishedTasks wished;
  EXPECT_EQ(WishedTasks::take(task), 0U);
  EXPECT_TRUE(WishedTasks::name(task, kSecond));
  wished.keep_use(task, kSecond, 7);
  EXPECT_FALSE(WishedTasks::name(task, kSecond));
  EXPECT_TRUE(WishedTasks::name(task, kFirst));
  wished.keep_use(task, kFirst, 9);
  EXPECT_TRUE(WishedTasks::name(other, kFirst));
  wished.keep_use(other, kFirst, 12);
  EXPECT_TRUE(WishedTasks::name(task, kThird));  // that wish was not carried out
  EXPECT_EQ(WishedTasks::take(task), 0b1110U);
  EXPECT_EQ(wished.take_use(task, kFirst), 9U);
  EXPECT_EQ(wished.take_use(task, kSecond), 7U);
  EXPECT_EQ(wished.take_use(task, kThird), 0U);
  EXPECT_EQ(WishedTasks::take(task), 0U);
  // The slot's next task.
  EXPECT_TRUE(WishedTasks::name(task, kFirst));
  wished.keep_use(task, kFirst, 15);
  EXPECT_EQ(WishedTasks::take(task), 0b10U);
  EXPECT_EQ(wished.take_use(task, kFirst), 15U);
  // And one whose wish was not carried out.
  EXPECT_TRUE(WishedTasks::name(task, kSecond));
  EXPECT_EQ(WishedTasks::take(task), 0b100U);
  EXPECT_EQ(wished.take_use(task, kSecond), 0U);
  EXPECT_EQ(WishedTasks::take(other), 0b10U);
  EXPECT_EQ(wished.take_use(other, kFirst), 12U);
}

}  // namespace
}  // namespace vicinal::engine
