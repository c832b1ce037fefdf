// belady: the victim is what the queue uses last.
#include <vector>

#include <gtest/gtest.h>

#include "support/deque_model_fixture.hpp"
#include "support/fake_candidates.hpp"

namespace vicinal {
namespace {

using memory::EvictionReason;
using testing::DequeModelTest;
using testing::reading;

class Belady : public DequeModelTest {
 protected:
  Belady() : DequeModelTest("belady") {}

  graph::Handle* choose(const std::vector<graph::Handle*>& candidates,
                        EvictionReason reason = EvictionReason::firm) {
    testing::FakeCandidates list(candidates);
    return policy->victims()->choose(nodes[0], Bytes{100}, reason, list);
  }
};

TEST_F(Belady, EvictsWhatIsUsedLastByTheQueue) {
  start(1);
  graph::Handle& a = data_on(nodes[0]);
  graph::Handle& b = data_on(nodes[0]);
  graph::Handle& c = data_on(nodes[0]);
  push("1", {reading(b)});
  push("2", {reading(c)});
  push("3", {reading(a)});
  push("4", {reading(c)});
  EXPECT_EQ(choose({&b, &c, &a}), &a);  // next uses 1, 2, 3
  EXPECT_EQ(pop(), "1");
  EXPECT_EQ(choose({&b, &c, &a}), &a);  // b is in use: it comes before all that is queued
}

TEST_F(Belady, EvictsFirstWhatNoReadyTaskUses) {
  start(1);
  graph::Handle& used = data_on(nodes[0]);
  graph::Handle& unknown = data_on(nodes[0]);
  graph::Handle& done = data_on(nodes[0]);
  graph::Task& task = push("t", {reading(done)});
  EXPECT_EQ(pop(), "t");
  policy->task_done(task, WorkerId{0});
  push("u", {reading(used)});
  EXPECT_EQ(choose({&used, &unknown, &done}), &unknown);
  EXPECT_EQ(choose({&used, &done, &unknown}), &done);
}

TEST_F(Belady, APrefetchDoesNotEvictWhatTheNodeWasGiven) {
  start(1);
  graph::Handle& first = data_on(nodes[0]);
  graph::Handle& second = data_on(nodes[0]);
  push("1", {reading(first)});
  push("2", {reading(second)});
  EXPECT_EQ(pop_all(), "1 2");
  EXPECT_EQ(choose({&first, &second}, EvictionReason::prefetch), nullptr);
  EXPECT_EQ(choose({&first, &second}), &second);
}

}  // namespace
}  // namespace vicinal
