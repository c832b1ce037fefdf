// The book of what a worker, or a node, has to do.
#include "sched/load.hpp"

#include <gtest/gtest.h>

namespace vicinal::sched {
namespace {

TEST(LoadOfPolicies, CountsWhatIsQueuedAndWhatWasGivenApart) {
  Load load;
  load.queue(100);
  load.queue(40);
  EXPECT_EQ(load.queued(), 2U);
  EXPECT_EQ(load.queued_ns(), 140);
  // Its time may have become known meanwhile: what leaves the queue is what came.
  load.take_out(100);
  load.give(70);
  EXPECT_EQ(load.queued(), 1U);
  EXPECT_EQ(load.given(), 1U);
  EXPECT_EQ(load.tasks(), 2U);
  EXPECT_EQ(load.given_ns(), 70);
  EXPECT_EQ(load.left_ns(), 110);
  load.end(70);
  load.take_out(40);
  EXPECT_EQ(load.tasks(), 0U);
  EXPECT_EQ(load.left_ns(), 0);
}

TEST(LoadOfPolicies, IsFreeWhenWhatItWasGivenHasEndedAndWhatIsQueuedBehindIt) {
  Load load;
  EXPECT_EQ(load.free_at_ns(Time{500}), 500);
  load.give(100, Time{500});  // until 600
  load.give(100, Time{510});  // behind it, until 700
  load.queue(50);
  EXPECT_EQ(load.free_at_ns(Time{520}), 750);
  EXPECT_EQ(load.free_at_ns(), 750);
  EXPECT_EQ(load.free_at_ns(Time{900}), 950);  // it is late
}

TEST(LoadOfPolicies, AnErrorOfThePredictionEndsWithItsTask) {
  Load load;
  load.give(100, Time{0});
  load.give(100, Time{0});
  // The first took 30, the second ends 100 after it.
  load.end(100, Time{30});
  EXPECT_EQ(load.free_at_ns(Time{30}), 130);
  // The second took 400: the next one begins then.
  load.end(100, Time{430});
  load.give(10, Time{450});
  EXPECT_EQ(load.free_at_ns(Time{450}), 460);
}

}  // namespace
}  // namespace vicinal::sched
