// Sleeps between polls: short behind traffic, few in a silence, and never long against the silence before them.
#include "comm/poll_pace.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace vicinal::comm {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(PollPace, BehindTrafficSleepsGrowFrom20To200Microseconds) {
  PollPace pace;
  for (int round = 0; round < 2; ++round) {
    for (const int us : {20, 40, 80, 160, 200, 200}) EXPECT_EQ(pace.next_sleep(), microseconds(us));
    pace.traffic();
  }
}

TEST(PollPace, ASleepIsShortAgainstTheSilenceBeforeIt) {
  PollPace pace;
  PollPace::Duration silence{};
  while (silence < std::chrono::seconds(1)) {
    const PollPace::Duration sleep = pace.next_sleep();
    EXPECT_LE(sleep, std::max(PollPace::Duration(microseconds(200)), silence / 64));
    EXPECT_LE(sleep, milliseconds(2));
    silence += sleep;
  }
}

TEST(PollPace, ALongSilenceIsPolledEveryTwoMilliseconds) {
  PollPace pace;
  PollPace::Duration silence{};
  for (int polls = 0; polls < 400; ++polls) silence += pace.next_sleep();
  EXPECT_GT(silence, milliseconds(200));
  EXPECT_EQ(pace.next_sleep(), milliseconds(2));
}

}  // namespace
}  // namespace vicinal::comm
