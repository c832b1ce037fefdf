// What a rank sends and receives of data: sequences of events that are worked by hand.
#include "comm/deliveries.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "comm/broadcast_option.hpp"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "support/exchange_by_hand.hpp"

namespace vicinal::comm {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(OfOneRank, APayloadWaitsForCredit) {
  begin();
  send(3, 7, 2, 100'000);
  EXPECT_THAT(told.take(), ElementsAre("announced>2 d7"));
  credit(2, 7, 9);
  EXPECT_THAT(told.take(), ElementsAre("bring 3"));
  in_ram(3);
  EXPECT_THAT(told.take(), ElementsAre("send 3>2 on 9"));
  payload_ended(3);
  EXPECT_THAT(told.take(), ElementsAre("end 3"));
  EXPECT_EQ(exchange->deliveries().counts().sent, Bytes{100'000});
}

TEST_F(OfOneRank, LargerPrioritiesGoFirstOneAtATime) {
  begin();
  for (const std::uint32_t datum : {1U, 2U, 3U, 4U}) {
    send(datum, datum, 2, 100'000, datum == 3 ? 5 : 0, datum);
    credit(2, datum, 0, datum);
  }
  Lines lines = told.take();
  EXPECT_THAT(lines.back(), "announced>2 d4");
  const auto next = [&](std::uint64_t ends) {
    in_ram(ends);
    payload_ended(ends);
    return told.take();
  };
  EXPECT_THAT(next(1), ElementsAre("send 1>2 on 0", "end 1", "bring 3"));
  EXPECT_THAT(next(3), ElementsAre("send 3>2 on 0", "end 3", "bring 2"));
  EXPECT_THAT(next(2), ElementsAre("send 2>2 on 0", "end 2", "bring 4"));
}

TEST_F(OfOneRank, AReceiveIsPostedBeforeItsCredit) {
  begin();
  receive(4, 7, 0, 100'000);
  EXPECT_THAT(told.take(), IsEmpty());
  announce(7, 0, 100'000);
  EXPECT_THAT(told.take(), ElementsAre("room 4"));
  has_room(4);
  EXPECT_THAT(told.take(), ElementsAre("receive 4<0 on 0", "credit>0 d7"));
  payload_ended(4);
  EXPECT_THAT(told.take(), ElementsAre("end 4"));
  EXPECT_EQ(exchange->deliveries().counts().received, Bytes{100'000});
  // The channel is used again; an offer may come first, and two of one datum in their order.
  announce(7, 0, 100'000, 2);
  announce(7, 0, 100'000, 3);
  receive(5, 7, 0, 100'000, 2);
  has_room(5);
  payload_ended(5);
  EXPECT_THAT(told.take(), ElementsAre("room 5", "receive 5<0 on 0", "credit>0 d7", "end 5"));
  receive(6, 7, 0, 100'000, 3);
  EXPECT_THAT(told.take(), ElementsAre("room 6"));
}

TEST_F(OfOneRank, AsManyReceivesAsTheRulesAllow) {
  begin();
  for (const std::uint32_t datum : {1U, 2U, 3U}) {
    announce(datum, 0, 10'000, datum);
    receive(datum, datum, 0, 10'000, datum);
  }
  EXPECT_THAT(told.take(), ElementsAre("room 1", "room 2"));
  has_room(2);
  has_room(1);
  EXPECT_THAT(told.take(),
              ElementsAre("receive 2<0 on 0", "credit>0 d2", "receive 1<0 on 1", "credit>0 d1"));
  payload_ended(1);
  EXPECT_THAT(told.take(), ElementsAre("end 1", "room 3"));
  has_room(3);
  EXPECT_THAT(told.take(), ElementsAre("receive 3<0 on 1", "credit>0 d3"));
}

TEST_F(OfOneRank, SmallContentGoesAtOnceUpToABound) {
  begin();
  send(1, 1, 2, 4096);
  EXPECT_THAT(told.take(), ElementsAre("bring 1"));
  in_ram(1);
  EXPECT_THAT(told.take(), ElementsAre("read 1", "content>2 d1", "end 1"));
  send(2, 2, 2, 4096);
  in_ram(2);
  told.take();
  send(3, 3, 2, 1);  // 8192 are there, and were not consumed
  EXPECT_THAT(told.take(), ElementsAre("announced>2 d3"));
  send(4, 4, 0, 1);  // another rank
  EXPECT_THAT(told.take(), ElementsAre("bring 4"));
  hear(2, {.kind = MessageKind::consumed, .value = 4096});
  send(5, 5, 2, 4096);
  EXPECT_THAT(told.take(), ElementsAre("bring 5"));
}

TEST_F(OfOneRank, SmallContentIsKeptUntilThereIsRoom) {
  begin();
  hear_of_tree(0, {.kind = MessageKind::content, .datum = 7, .version = 1, .value = 2048},
               {.root = 0, .rest = std::string(2048, 42)});
  EXPECT_THAT(told.take(), IsEmpty());
  receive(4, 7, 0, 2048);
  EXPECT_THAT(told.take(), ElementsAre("room 4"));
  has_room(4);
  EXPECT_THAT(told.take(),
              ElementsAre("write 4 of 2048", "consumed>0", "end 4"));  // a quarter of 8192
  receive(5, 8, 0, 0, 2);
  hear_of_tree(0, {.kind = MessageKind::content, .datum = 8, .version = 2}, {.root = 0});
  has_room(5);
  EXPECT_THAT(told.take(), ElementsAre("room 5", "write 5 of 0", "end 5"));
}

TEST_F(OfOneRank, ADifferentOfferFailsUnlessTheCauseIsTold) {
  begin();
  receive(4, 7, 0, 2048);
  announce(7, 0, 10'000);
  EXPECT_EQ(told.failure, "");
  exchange->tick(seconds(1));
  exchange->tick(seconds(1.9));
  EXPECT_EQ(told.failure, "");
  exchange->tick(seconds(2));
  EXPECT_THAT(told.failure, HasSubstr("rank 1 waits for transfer 1 of rank 0, datum 7, 2048 bytes, "
                                      "and is offered datum 7, 10000 bytes"));
}

// --- broadcasts

ExchangeRules along(const char* tree) {
  ExchangeRules rules = few();
  rules.deliveries.most_sends = 4;
  set_broadcast(rules.deliveries, tree);
  return rules;
}

class Broadcast : public OfOneRank {
 protected:
  // Rank 1 begins one to ranks 2 to 4, to each its first transfer.
  void begin_one(std::uint64_t bytes, const char* tree) {
    begin(along(tree), 5);
    send_all({to(12, 7, 2, bytes), to(13, 7, 3, bytes), to(14, 7, 4, bytes)});
  }
  void accepted(std::uint32_t from) {
    hear(from, {.kind = MessageKind::accepted, .datum = 7, .version = 1});
  }
  void declined(std::uint32_t from, const Tells& tells) {
    hear_of_tree(from, {.kind = MessageKind::declined, .datum = 7, .version = 1}, tells);
  }
};

TEST_F(Broadcast, TheRootServesTheFirstOfAChainAndWaitsForTheOthers) {
  begin_one(10'000, "chain");
  EXPECT_THAT(told.take(), ElementsAre("announced>2 d7 {3 4}"));
  credit(2, 7, 9);
  in_ram(12);
  EXPECT_THAT(told.take(), ElementsAre("bring 12", "send 12>2 on 9"));
  payload_ended(12);
  EXPECT_THAT(told.take(), ElementsAre("put_down 12"));
  accepted(4);
  EXPECT_THAT(told.take(), IsEmpty());
  EXPECT_THAT(exchange->describe(9), HasSubstr("is to reach rank 3 through another rank"));
  accepted(3);
  EXPECT_THAT(told.take(), ElementsAre("end 12", "end 13", "end 14"));
  EXPECT_EQ(exchange->deliveries().counts().broadcasts, 1U);
  EXPECT_EQ(exchange->deliveries().counts().sent, Bytes{10'000});
}

TEST_F(Broadcast, TheRootServesWhoDeclinesAndThoseBelow) {
  begin_one(10'000, "chain");
  credit(2, 7, 9);
  in_ram(12);
  payload_ended(12);
  told.take();
  declined(3, {.root = 1, .shape = TreeShape::chain, .segment = 10'000, .recipients = {{4, 1, 0}}});
  EXPECT_THAT(told.take(), ElementsAre("announced>3 d7", "announced>4 d7"));
  credit(4, 7, 2);
  EXPECT_THAT(told.take(), ElementsAre("bring 12"));
  in_ram(12);
  credit(3, 7, 5);
  payload_ended(12);
  EXPECT_THAT(told.take(), ElementsAre("send 12>4 on 2", "send 12>3 on 5"));
  payload_ended(12);
  EXPECT_THAT(told.take(), ElementsAre("end 12", "end 13", "end 14"));
  EXPECT_EQ(exchange->deliveries().counts().sent, Bytes{30'000});
}

TEST_F(Broadcast, LargerPrioritiesAreServedEarlier) {
  begin(along("binomial"), 5);
  send_all({to(12, 7, 2, 10'000, 1), to(13, 7, 3, 10'000, 9), to(14, 7, 4, 10'000, 5)});
  // Of three: participant 2 is served first and serves 3; participant 1 is served by the root, too.
  EXPECT_THAT(told.take(), ElementsAre("announced>3 d7 {2}", "announced>4 d7"));
}

TEST_F(Broadcast, PrioritiesMayCountAmongSendsAlone) {
  begin(along("binomial:priorities=sends"), 5);
  send_all({to(12, 7, 2, 10'000, 1), to(13, 7, 3, 10'000, 9), to(14, 7, 4, 10'000, 5)});
  // As they were submitted.
  EXPECT_THAT(told.take(), ElementsAre("announced>2 d7 {4}", "announced>3 d7"));
  credit(2, 7, 5);
  in_ram(12);
  EXPECT_THAT(told.take(), ElementsAre("bring 12", "send 12>2 on 5"));
}

TEST_F(Broadcast, PrioritiesMayCountNowhere) {
  for (const bool count : {true, false}) {
    begin(along(count ? "off:priorities=sends" : "off:priorities=no"), 5);
    send_all({to(12, 7, 2, 10'000, 1), to(13, 7, 3, 10'000, 9)});
    EXPECT_THAT(told.take(), ElementsAre("announced>2 d7", "announced>3 d7"));
    credit(2, 7, 5);
    credit(3, 7, 6);
    in_ram(12);
    EXPECT_THAT(told.take(), count ? ElementsAre("bring 12", "send 12>3 on 6", "send 12>2 on 5")
                                   : ElementsAre("bring 12", "send 12>2 on 5", "send 12>3 on 6"));
  }
}

TEST_F(Broadcast, SmallContentGoesAlongTheTreeInMessages) {
  begin_one(100, "binomial");
  EXPECT_THAT(told.take(), ElementsAre("bring 12"));
  in_ram(12);
  EXPECT_THAT(told.take(), ElementsAre("read 12", "content>2 d7 {4}", "content>3 d7", "end 12",
                                       "end 13", "end 14"));
}

TEST_F(Broadcast, SmallContentIsSentOnAtOnce) {
  begin(along("chain"), 5);
  hear_of_tree(0, {.kind = MessageKind::content, .datum = 7, .version = 1, .value = 100},
               {.root = 0,
                .shape = TreeShape::chain,
                .segment = 100,
                .recipients = {{2, 1, 0}, {3, 1, 0}},
                .rest = std::string(100, 42)});
  EXPECT_THAT(told.take(), ElementsAre("content>2 d7 {3}"));
  // It may belong to a part of the run that has not begun here.
  EXPECT_EQ(exchange->deliveries().counts().forwarded, Bytes{0});
  receive(4, 7, 0, 100);
  has_room(4);
  EXPECT_THAT(told.take(), ElementsAre("room 4", "write 4 of 100", "end 4"));
  EXPECT_EQ(exchange->deliveries().counts().forwarded, Bytes{100});
  EXPECT_EQ(exchange->deliveries().counts().sent, Bytes{100});
  EXPECT_EQ(exchange->deliveries().counts().received, Bytes{100});
}

class Forwarding : public Broadcast {
 protected:
  // From rank 3, which has it from the root, for ranks 2 and 4; in segments.
  void announce_one(std::uint64_t segment, const char* tree = "chain") {
    begin(along(tree), 5);
    hear_of_tree(3, {.kind = MessageKind::announced, .datum = 7, .version = 1, .value = 100'000},
                 {.root = 0,
                  .shape = TreeShape::binary,
                  .segment = segment,
                  .recipients = {{2, 1, 0}, {4, 1, 0}}});
  }
  void credit_of(std::uint32_t from, const std::string& more) {
    hear_of_tree(from, {.kind = MessageKind::credit, .channel = 8, .datum = 7, .version = 1},
                 {.root = 0, .rest = more});
  }
};

TEST_F(Forwarding, SegmentsAreSentOnAsTheyComeAndReadersNeedNotWait) {
  announce_one(60'000);
  receive(4, 7, 0, 100'000);
  EXPECT_THAT(told.take(), ElementsAre("room 4"));
  has_room(4);
  EXPECT_THAT(told.take(),
              ElementsAre("receive 4<3 on 0", "receive 4<3 on 1 from 60000", "credit>3 d7",
                          "accepted>0 d7", "announced>2 d7", "announced>4 d7"));
  const std::string second(1, 9);
  credit_of(2, second + std::string(1, 0));
  EXPECT_THAT(told.take(), IsEmpty());
  payload_ended(4);
  EXPECT_THAT(told.take(), ElementsAre("send 4>2 on 8"));
  payload_ended(4);
  EXPECT_THAT(told.take(), ElementsAre("share 4", "send 4>2 on 9 from 60000"));
  payload_ended(4);
  payload_ended(4);
  EXPECT_THAT(told.take(), IsEmpty());  // rank 4 has not answered
  EXPECT_THAT(exchange->describe(9), HasSubstr("has come from rank 0 and is sent on"));
  declined(4, {.root = 0});
  EXPECT_THAT(told.take(), ElementsAre("end 4"));
  EXPECT_EQ(exchange->deliveries().counts().forwarded, Bytes{100'000});
  EXPECT_EQ(told.hops_begun, 2);
  EXPECT_EQ(told.hops_ended, 2);
}

TEST_F(Forwarding, ReadersMayBeMadeToWait) {
  announce_one(100'000, "chain:readers=last");
  receive(4, 7, 0, 100'000);
  has_room(4);
  told.take();
  credit_of(2, "");
  credit_of(4, "");
  payload_ended(4);
  // It has come: no "share".
  EXPECT_THAT(told.take(), ElementsAre("send 4>2 on 8", "send 4>4 on 8"));
  payload_ended(4);
  EXPECT_THAT(told.take(), IsEmpty());
  payload_ended(4);
  EXPECT_THAT(told.take(), ElementsAre("end 4"));
}

TEST(BroadcastOption, SettingsStandBehindTheTree) {
  DeliveryRules rules;
  set_broadcast(rules, "auto");
  EXPECT_EQ(rules.tree, std::nullopt);
  EXPECT_TRUE(rules.by_priority && rules.places_by_priority && rules.readers_first);
  set_broadcast(rules, "binary:priorities=sends:readers=last");
  EXPECT_EQ(rules.tree, tree_of_option("binary"));
  EXPECT_TRUE(rules.by_priority && !rules.places_by_priority && !rules.readers_first);
  set_broadcast(rules, "off:priorities=no");
  EXPECT_FALSE(rules.by_priority || rules.places_by_priority);
  for (const char* const wrong : {"binary:", "binary:readers", "auto:priorities=perhaps"}) {
    EXPECT_THAT([&] { set_broadcast(rules, wrong); },
                ::testing::ThrowsMessage<UsageError>(HasSubstr("priorities=yes, sends or no")))
        << wrong;
  }
}

TEST_F(Forwarding, WhoHasNoRoomInTimeDeclinesAndIsServedByTheRoot) {
  announce_one(100'000);
  receive(4, 7, 0, 100'000);
  EXPECT_THAT(told.take(), ElementsAre("room 4"));
  exchange->tick(seconds(0.001));
  exchange->tick(seconds(0.0029));
  EXPECT_THAT(told.take(), Contains("alive>2"));
  exchange->tick(seconds(0.003));
  EXPECT_THAT(told.take(), ElementsAre("declined>3 d7", "declined>0 d7 {2 4}"));
  has_room(4);
  EXPECT_THAT(told.take(), IsEmpty());
  announce(7, 0, 100'000);
  EXPECT_THAT(told.take(), ElementsAre("receive 4<0 on 0", "credit>0 d7"));
  payload_ended(4);
  EXPECT_THAT(told.take(), ElementsAre("end 4"));
}

TEST_F(Forwarding, WhoIsServedByTheRootDeclinesThoseBelowAlone) {
  begin(along("chain"), 5);
  hear_of_tree(0, {.kind = MessageKind::announced, .datum = 7, .version = 1, .value = 100'000},
               {.root = 0, .segment = 100'000, .recipients = {{2, 1, 0}}});
  exchange->tick(seconds(1));
  exchange->tick(seconds(1.1));
  told.take();
  receive(4, 7, 0, 100'000);
  has_room(4);
  EXPECT_THAT(told.take(), ElementsAre("room 4", "receive 4<0 on 0", "credit>0 d7"));
}

TEST_F(Forwarding, AnOfferOfManySegmentsIsNoMessage) {
  begin(along("chain"), 5);
  receive(4, 7, 0, 1 << 20);
  hear_of_tree(0, {.kind = MessageKind::announced, .datum = 7, .version = 1, .value = 1 << 20},
               {.root = 0, .segment = (1 << 20) / 65});
  EXPECT_THAT(told.failure, HasSubstr("bytes that are no message"));
}

TEST_F(Broadcast, WhoDeclinesForRanksThatAreNotThereSendsNoMessage) {
  begin_one(10'000, "chain");
  declined(3, {.root = 1, .shape = TreeShape::chain, .recipients = {{99, 1, 0}}});
  EXPECT_THAT(told.failure, HasSubstr("rank 3 sent"));
}

TEST_F(Broadcast, WhoDeclinesForRanksThatAreServedSendsNoMessage) {
  begin_one(10'000, "chain");
  declined(3, {.root = 1, .shape = TreeShape::chain, .recipients = {{2, 1, 0}}});
  EXPECT_THAT(told.failure, HasSubstr("rank 3 sent"));
}

// The larger content of the second offer would not fit into the room.
TEST_F(OfOneRank, AnOfferThatDoesNotFitIsNotTakenWhenThereIsRoom) {
  begin();
  receive(4, 7, 0, 8);
  announce(7, 0, 8);
  told.take();
  receive(5, 8, 0, 8, 2);
  hear_of_tree(0, {.kind = MessageKind::content, .datum = 8, .version = 2, .value = 4096},
               {.root = 0, .rest = std::string(4096, 42)});
  has_room(4);
  EXPECT_THAT(told.take(), ElementsAre("receive 4<0 on 0", "credit>0 d7"));
  EXPECT_EQ(told.failure, "");
  exchange->tick(seconds(1));
  exchange->tick(seconds(2));
  EXPECT_THAT(told.failure, HasSubstr("is offered datum 8, 4096 bytes"));
}

TEST_F(OfOneRank, TheLeastPriorityIsOne) {
  begin();
  send(1, 1, 2, 100'000, std::numeric_limits<int>::min(), 1);
  send(2, 2, 2, 100'000, std::numeric_limits<int>::max(), 2);
  credit(2, 1, 0, 1);
  credit(2, 2, 1, 2);
  EXPECT_THAT(told.take(), ElementsAre("announced>2 d1", "announced>2 d2", "bring 1"));
}

TEST_F(Forwarding, WhatIsNoTreeIsNoMessage) {
  begin(along("chain"), 5);
  hear(0, {.kind = MessageKind::announced, .datum = 7, .version = 1, .value = 100});
  EXPECT_THAT(told.failure, HasSubstr("rank 0 sent 32 bytes that are no message"));
}

}  // namespace
}  // namespace vicinal::comm
