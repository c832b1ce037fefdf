// What ranks find out about the link between them, from times that are worked by hand.
#include "comm/measured_link.hpp"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "support/exchange_by_hand.hpp"
#include "vicinal/error.hpp"

namespace vicinal::comm {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr LinkCost kGuess{.latency = {20'000}, .bytes_per_second = 1e9};

// One content that comes from there in one piece, from `begin` on.
void come(MeasuredLink& link, std::uint32_t from, std::uint64_t bytes, std::int64_t begin,
          std::int64_t nanoseconds) {
  link.awaits({from}, {begin});
  link.came({from}, {bytes}, {begin + nanoseconds});
}

TEST(MeasuredLink, StaysAsItIsIfItDoesNotLearn) {
  MeasuredLink link(kGuess, 3, false);
  link.answered({2000});
  come(link, 1, kMiB, 0, 1000);
  EXPECT_EQ(link.cost().latency, Time{20'000});
  EXPECT_EQ(link.cost().bytes_per_second, 1e9);
  EXPECT_EQ(link.bandwidth(), 0U);
}

TEST(MeasuredLink, LatencyIsHalfOfTheShortestRoundTrip) {
  MeasuredLink link(kGuess, 3, true);
  EXPECT_EQ(link.cost().latency, Time{20'000});
  link.answered({90'000});
  EXPECT_EQ(link.cost().latency, Time{45'000});
  link.answered({60'000});
  link.answered({200'000});
  EXPECT_EQ(link.cost().latency, Time{30'000});
  EXPECT_EQ(link.round_trip(), Time{60'000});
}

TEST(MeasuredLink, Rank0KnowsTheMedianOfWhatOthersTell) {
  MeasuredLink link(kGuess, 4, true);
  link.told_round_trip({1}, {});  // knows nothing yet
  EXPECT_EQ(link.cost().latency, Time{20'000});
  link.told_round_trip({1}, {2'000});  // a rank of the same host
  link.told_round_trip({2}, {60'000});
  link.told_round_trip({3}, {70'000});
  EXPECT_EQ(link.cost().latency, Time{30'000});
  EXPECT_EQ(link.round_trip(), Time{});
}

TEST(MeasuredLink, BandwidthIsWhatComesOverTheTimeWithoutTheRoundTrip) {
  MeasuredLink link(kGuess, 2, true);
  link.answered({100'000});
  // 2^20 bytes in 8.1 ms, 0.1 of them for the credit and the first byte: 131 MB/s.
  come(link, 1, kMiB, 5'000'000, 8'100'000);
  EXPECT_EQ(link.cost().bytes_per_second, 131'072'000);
  EXPECT_EQ(link.bandwidth(), 131'072'000U);
}

TEST(MeasuredLink, ContentThatOverlapsIsOneBusyTimeOfWhichTheBestPartCounts) {
  MeasuredLink link(kGuess, 2, true);
  // Two receives from 0 on: both have come at 2 ms, the last piece of a third, from 1 ms on, at 12 ms: 1 byte/ns at best.
  link.awaits({1}, {0});
  link.awaits({1}, {0});
  link.awaits({1}, {1'000'000});
  link.came({1}, {1'000'000}, {2'000'000});
  EXPECT_EQ(link.bandwidth(), 0U) << "the busy time goes on";
  link.came({1}, {1'000'000}, {2'000'000});
  link.came({1}, {1'000'000}, {12'000'000});
  EXPECT_EQ(link.bandwidth(), 1'000'000'000U);
}

TEST(MeasuredLink, TheBeginningOfABusyTimeIsNotItsPart) {
  MeasuredLink link(kGuess, 2, true);
  // The first half comes at once, out of a bucket.
  link.awaits({1}, {0});
  link.awaits({1}, {0});
  link.came({1}, {400'000}, {1000});
  link.came({1}, {400'000}, {8'000'000});
  EXPECT_EQ(link.bandwidth(), 100'000'000U);
}

TEST(MeasuredLink, RanksAreBusyEachForItself) {
  MeasuredLink link(kGuess, 3, true);
  // From rank 1 nothing comes for long; from rank 2 meanwhile 0.5 bytes/ns.
  link.awaits({1}, {0});
  come(link, 2, 1'000'000, 50'000'000, 2'000'000);
  EXPECT_EQ(link.bandwidth(), 500'000'000U);
}

TEST(MeasuredLink, LittleContentSaysNothing) {
  MeasuredLink link(kGuess, 2, true);
  come(link, 1, MeasuredLink::kLeast - 1, 0, 1000);
  EXPECT_EQ(link.bandwidth(), 0U);
  EXPECT_EQ(link.cost().bytes_per_second, 1e9);
}

TEST(MeasuredLink, OfTheLastBusyTimesTheUpperQuartileCounts) {
  MeasuredLink link(kGuess, 2, true);
  // 10, 20, ... 50 MB/s: the quartile of five is the fourth.
  for (std::int64_t i = 1; i <= 5; ++i) come(link, 1, 1'000'000, 0, 100'000'000 / i);
  EXPECT_EQ(link.bandwidth(), 40'000'000U);
  // A network that has become slower: of 32 times the 24th.
  for (int i = 0; i < 40; ++i) come(link, 1, 1'000'000, 0, 250'000'000);
  EXPECT_EQ(link.bandwidth(), 4'000'000U);
}

TEST(MeasuredLink, WhoSendsKnowsWhatReceiversTell) {
  MeasuredLink link(kGuess, 4, true);
  link.told_bandwidth({1}, 0);
  EXPECT_EQ(link.cost().bytes_per_second, 1e9);
  link.told_bandwidth({1}, 9'000'000'000);
  link.told_bandwidth({2}, 120'000'000);
  link.told_bandwidth({3}, 110'000'000);
  EXPECT_EQ(link.cost().bytes_per_second, 120e6);
}

TEST(MeasuredLink, TheOptionNamesLatencyAndBandwidth) {
  EXPECT_FALSE(link_of_option("auto"));
  const LinkCost link = link_of_option("50 us, 1.5GB/s").value();
  EXPECT_EQ(link.latency, Time{50'000});
  EXPECT_EQ(link.bytes_per_second, 1.5e9);
  for (const char* const wrong : {"", "fast", "50us", "50us,", ",1GB/s", "1GB/s,50us", "-1us,1GB/s",
                                  "1us,0GB/s", "1us,1GB/s,2"}) {
    try {
      link_of_option(wrong);
      ADD_FAILURE() << wrong;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("option rank_link")) << wrong;
    }
  }
}

// --- among other messages

ExchangeRules learning() {
  ExchangeRules rules = few();
  rules.deliveries.learns_link = true;
  return rules;
}

class LinkOfOneRank : public OfOneRank {
 protected:
  const MeasuredLink& link() const { return exchange->deliveries().link(); }
  std::uint64_t number_of_last() const {
    ParsedMessage message;
    EXPECT_TRUE(parse(told.posted.back().second, message));
    return message.header.number;
  }
};

TEST_F(LinkOfOneRank, IsLearntFromContentAndToldInCredits) {
  begin(learning());
  const auto take = [&](std::uint64_t id, std::uint32_t version) {
    receive(id, 7, 0, kMiB, version);
    announce(7, 0, kMiB, version);
    has_room(id);
  };
  told.time = seconds(1);
  take(1, 1);
  EXPECT_EQ(number_of_last(), 0U);
  told.time = seconds(1.5);
  payload_ended(1);
  take(2, 2);
  EXPECT_EQ(number_of_last(), 2 * kMiB);
}

TEST_F(LinkOfOneRank, IsLearntFromTheCreditsOfOthers) {
  begin(learning());
  send(3, 7, 2, 100'000);
  hear_of_tree(2,
               {.kind = MessageKind::credit, .channel = 4, .datum = 7, .version = 1, .number = 77},
               {.root = 1});
  EXPECT_EQ(link().cost().bytes_per_second, 77);
}

TEST_F(LinkOfOneRank, IsLearntFromComparisonsOfClocksAndTold) {
  ExchangeRules rules = learning();
  rules.clocks.rounds = 2;
  begin(rules);
  told.time = {1'000};
  exchange->tick(seconds(1));
  EXPECT_EQ(number_of_last(), 0U);
  told.time = {41'000};
  hear(0, {.kind = MessageKind::tells_time, .value = 1'000, .number = 5});
  EXPECT_EQ(link().cost().latency, Time{20'000});
  EXPECT_EQ(number_of_last(), 40'000U) << "the next question tells of the one before";
  hear(2, {.kind = MessageKind::asks_time, .value = 4, .number = 60'000});
  EXPECT_EQ(link().cost().latency, Time{20'000}) << "the lower median of two";
}

}  // namespace
}  // namespace vicinal::comm
