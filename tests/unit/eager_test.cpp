// eager: first in, first out; and the tasks that eager announces as next.
#include <vector>

#include <gtest/gtest.h>

#include "support/policy_fixture.hpp"

namespace vicinal {
namespace {

class Eager : public testing::PolicyTest {
 protected:
  Eager() : PolicyTest("eager") {}
};

TEST_F(Eager, GivesTasksOutInTheirOrderAndSaysWhichComeNext) {
  context.add_worker();
  context.add_worker();
  policy->start(context);
  std::vector<const graph::Task*> tasks;
  for (const char* name : {"a", "b", "c", "d", "e"}) tasks.push_back(&push(name));
  ASSERT_EQ(pop(1), "a");
  EXPECT_EQ(context.expected_worker, WorkerId{1});
  EXPECT_EQ(context.expected, (std::vector{tasks[1], tasks[2], tasks[3]}));
  ASSERT_EQ(pop(0), "b");
  EXPECT_EQ(context.expected_worker, WorkerId{0});
  EXPECT_EQ(context.expected, (std::vector{tasks[2], tasks[3], tasks[4]}));
  EXPECT_EQ(pop_all(0), "c d e");
}

}  // namespace
}  // namespace vicinal
