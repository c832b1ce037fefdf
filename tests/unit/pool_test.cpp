// Objects that are used again.
#include "base/pool.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace vicinal::base {
namespace {

TEST(Pool, GivesTheLastOneBackAsItWasLeft) {
  Pool<std::vector<int>> pool;
  std::vector<int>& first = pool.take();
  std::vector<int>& second = pool.take();
  EXPECT_NE(&first, &second);
  first.assign({1, 2});
  pool.give_back(second);
  pool.give_back(first);
  EXPECT_EQ(&pool.take(), &first);
  EXPECT_EQ(first, (std::vector{1, 2}));
  EXPECT_EQ(&pool.take(), &second);
}

TEST(Pool, ObjectsStayWhereTheyAreWhenMoreAreMade) {
  Pool<int> pool;
  std::vector<int*> taken;
  for (int i = 0; i < 1000; ++i) taken.push_back(&(pool.take() = i));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(*taken[static_cast<std::size_t>(i)], i);
  for (int* each : taken) pool.give_back(*each);
  for (auto last = taken.rbegin(); last != taken.rend(); ++last) {
    ASSERT_EQ(&pool.take(), *last);
  }
}

}  // namespace
}  // namespace vicinal::base
