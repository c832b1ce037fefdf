#include "sched/future_uses.hpp"

#include <gtest/gtest.h>

#include "support/fake_candidates.hpp"
#include "support/fake_context.hpp"

namespace vicinal::sched {
namespace {

using memory::EvictionReason;
using testing::reading;

class FutureUsesTest : public ::testing::Test {
 protected:
  FutureUsesTest() { uses.start(context); }
  ~FutureUsesTest() override {
    for (graph::Handle* handle : {&a, &b, &c}) uses.forget(*handle);
  }
  graph::Handle* victim_on(NodeId node, EvictionReason reason = EvictionReason::firm) {
    testing::FakeCandidates list({&a, &b, &c});
    return uses.choose(node, Bytes{100}, reason, list);
  }

  testing::FakeContext context;
  NodeId first = context.add_device();
  NodeId second = context.add_device();
  testing::FakeGraph graph;
  graph::Handle& a = graph.data("a");
  graph::Handle& b = graph.data("b");
  graph::Handle& c = graph.data("c");
  graph::Task& reads_a = graph.task("reads a", {reading(a)});
  graph::Task& reads_b = graph.task("reads b", {reading(b)});
  graph::Task& reads_c = graph.task("reads c", {reading(c)});
  FutureUses uses;
  FutureUses::TaskUses place_a;
  FutureUses::TaskUses place_b;
  FutureUses::TaskUses place_c;
};

// On the first node b, a; on the second a, b; c, on any, after all of them.
TEST_F(FutureUsesTest, EachNodeHasAnOrderOfItsOwn) {
  graph::Task& again_a = graph.task("again a", {reading(a)});
  graph::Task& again_b = graph.task("again b", {reading(b)});
  FutureUses::TaskUses again_place_a;
  FutureUses::TaskUses again_place_b;
  uses.expect_on(reads_b, first, place_b);
  uses.expect_on(reads_a, first, place_a);
  uses.expect_on(again_a, second, again_place_a);
  uses.expect_on(again_b, second, again_place_b);
  uses.expect(reads_c, place_c);
  EXPECT_EQ(victim_on(first), &c);
  EXPECT_EQ(victim_on(second), &c);
  uses.give(reads_c, first, place_c);  // that comes before what is expected
  EXPECT_EQ(victim_on(first), &a);
  EXPECT_EQ(victim_on(second), &c);  // nobody reads it there
  uses.forget(reads_a, place_a);
  EXPECT_EQ(victim_on(first), &a);  // nobody does any more
  uses.forget(again_a, again_place_a);
  uses.forget(again_b, again_place_b);
  uses.forget(reads_b, place_b);
  uses.forget(reads_c, place_c);
}

TEST_F(FutureUsesTest, ATaskThatIsForgottenTwiceIsNowhereTheSecondTime) {
  uses.expect(reads_a, place_a);
  uses.forget(reads_a, place_a);
  uses.forget(reads_a, place_a);
  EXPECT_EQ(victim_on(first), &a);  // of three without a use the one used least recently
}

// The last of those that were given, in spite of their places in the plan; a prefetch gets none of them.
TEST_F(FutureUsesTest, WhatANodeWasGivenIsUsedInTheOrderInWhichItGotIt) {
  uses.expect(reads_a, place_a);
  uses.expect(reads_b, place_b);
  uses.expect(reads_c, place_c);
  uses.give(reads_c, first, place_c);
  uses.give(reads_b, first, place_b);
  EXPECT_EQ(victim_on(first, EvictionReason::prefetch), &a);
  uses.give(reads_a, first, place_a);
  EXPECT_EQ(victim_on(first, EvictionReason::prefetch), nullptr);
  EXPECT_EQ(victim_on(first), &a);
  uses.give(reads_c, first, place_c);  // again, behind the others: it was moved away and back
  EXPECT_EQ(victim_on(first), &c);
  uses.forget(reads_a, place_a);
  uses.forget(reads_b, place_b);
  uses.forget(reads_c, place_c);
}

}  // namespace
}  // namespace vicinal::sched
