// What a rank sends and receives, and when: sequences of events, worked by hand.
#include "comm/exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "support/exchange_by_hand.hpp"

namespace vicinal::comm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(OfOneRank, BeginsWhenAllHaveSaidHello) {
  exchange = std::make_unique<Exchange>(RankId{1}, 3, few(), told);
  exchange->start({}, 77, false, 0);
  EXPECT_THAT(told.take(), ElementsAre("hello>0", "hello>2"));
  hear(0, {.kind = MessageKind::hello, .value = 77, .number = 1});
  EXPECT_FALSE(exchange->all_have_begun());
  hear(2, {.kind = MessageKind::hello, .value = 77});
  EXPECT_TRUE(exchange->all_have_begun());
  EXPECT_TRUE(exchange->any_is_limited());
}

TEST_F(OfOneRank, AnotherBuildIsRefused) {
  begin();
  exchange = std::make_unique<Exchange>(RankId{1}, 3, few(), told);
  exchange->start({}, 77, false, 0);
  hear(2, {.kind = MessageKind::hello, .value = 78});
  EXPECT_THAT(told.failure, HasSubstr("rank 2 runs another build"));
}

TEST_F(OfOneRank, WhoHasFinishedOwesNothing) {
  begin();
  receive(4, 7, 0, 2048);
  hear(0, {.kind = MessageKind::finished});
  exchange->tick(seconds(0));
  exchange->tick(seconds(1));
  EXPECT_THAT(told.failure, HasSubstr("rank 0 has ended, and rank 1 still waits for it"));
}

// Another rank sends it on, and may do so later than the root ends.
TEST_F(OfOneRank, WhatComesThroughAnotherRankMayComeAfterTheEndOfTheFirst) {
  begin(few(), 4);
  receive(4, 7, 0, 100);
  receive(5, 8, 0, 100, 2);
  hear(0, {.kind = MessageKind::finished});
  exchange->tick(seconds(0));
  const auto content = [&](std::uint32_t datum, std::uint32_t version) {
    hear_of_tree(3,
                 {.kind = MessageKind::content, .datum = datum, .version = version, .value = 100},
                 {.root = 0, .rest = std::string(100, 42)});
  };
  content(7, 1);
  content(8, 2);
  exchange->tick(seconds(1));
  exchange->tick(seconds(3));
  EXPECT_EQ(told.failure, "");
  // What does not come is missed all the same.
  receive(6, 9, 0, 100, 3);
  exchange->tick(seconds(4));
  exchange->tick(seconds(5));
  EXPECT_THAT(told.failure, HasSubstr("rank 0 has ended, and rank 1 still waits for it"));
}

TEST_F(OfOneRank, FinishesWhenAllHave) {
  begin();
  hear(0, {.kind = MessageKind::finished});
  hear(0, {.kind = MessageKind::left});
  exchange->finish();
  EXPECT_THAT(told.take(), ElementsAre("finished>0", "finished>2"));
  EXPECT_FALSE(exchange->all_have_finished());
  exchange->tick(seconds(30));  // who has left is silent
  hear(2, {.kind = MessageKind::finished});
  EXPECT_TRUE(exchange->all_have_finished());
  EXPECT_EQ(told.failure, "");
}

TEST_F(OfOneRank, WhoLeavesEarlyIsNamed) {
  begin();
  hear(2, {.kind = MessageKind::left});
  EXPECT_THAT(told.failure, HasSubstr("rank 2 has left early"));
  EXPECT_THAT(told.take(), ElementsAre("failed>0", "failed>2"));
}

TEST_F(OfOneRank, AFailureEndsAll) {
  begin();
  send(3, 7, 2, 100'000);
  hear(0, {.kind = MessageKind::failed}, "rank 0: task x failed");
  EXPECT_EQ(told.failure, "rank 0: task x failed");
  told.take();
  hear(2, {.kind = MessageKind::credit, .datum = 7});
  exchange->fail("something else");
  exchange->tick(seconds(60));
  EXPECT_THAT(told.take(), IsEmpty());
  EXPECT_EQ(told.failure, "rank 0: task x failed");
}

TEST_F(OfOneRank, BeatsToTheRankBehind) {
  begin();
  exchange->tick(seconds(0));
  exchange->tick(seconds(0.1));
  exchange->tick(seconds(0.2));
  EXPECT_THAT(told.take(), ElementsAre("alive>2", "alive>2"));
  ParsedMessage message;
  parse(told.posted.back().second, message);
  EXPECT_EQ(message.text(), "it had run 5 tasks");
}

TEST_F(OfOneRank, ASilentRankIsLostWithWhatItDidLast) {
  begin();
  double now = 0;
  for (; now < 20; now += 1) {
    hear(0, {.kind = MessageKind::alive},
         now < 19 ? "it had run 6 tasks" : "it had run 7 tasks, ran gemm");
    exchange->tick(seconds(now));  // rank 2 is watched by rank 0
  }
  EXPECT_EQ(told.failure, "");
  for (; now < 29; now += 1) exchange->tick(seconds(now));
  EXPECT_EQ(told.failure, "");
  told.take();
  exchange->tick(seconds(29));
  EXPECT_THAT(told.take(), ElementsAre("alive>2", "asks_alive>2"));
  EXPECT_EQ(told.failure, "");
  hear(2, {.kind = MessageKind::alive});
  EXPECT_EQ(told.failure,
            "rank 0 is lost: nothing was heard of it for 10.0 s; 10.0 s ago it had run 7 tasks, "
            "ran gemm");
}

TEST_F(OfOneRank, WhoHearsNothingOfAnyRankMayBeCutOff) {
  begin();
  for (double now = 0; now <= 10; now += 1) exchange->tick(seconds(now));
  hear(0, {.kind = MessageKind::alive});  // in time
  for (double now = 10; now <= 20; now += 1) exchange->tick(seconds(now));
  hear(0, {.kind = MessageKind::asks_alive});
  for (double now = 20; now <= 30.5; now += 0.5) exchange->tick(seconds(now));
  EXPECT_EQ(told.failure, "");
  exchange->tick(seconds(31));
  EXPECT_THAT(told.failure,
              HasSubstr("rank 0 is lost: nothing was heard of it for 11.0 s, nor of any "
                        "other rank when asked: rank 1 may be cut off"));
}

TEST_F(OfOneRank, WhoWasStoppedItselfCountsNoSilence) {
  begin();
  exchange->tick(seconds(1));
  exchange->tick(seconds(60));
  EXPECT_EQ(told.failure, "");
  for (double now = 60; now < 70; now += 0.5) exchange->tick(seconds(now));
  EXPECT_EQ(told.failure, "");
  exchange->tick(seconds(70));
  hear(2, {.kind = MessageKind::alive});
  EXPECT_THAT(told.failure, HasSubstr("rank 0 is lost"));
}

TEST_F(OfOneRank, AnotherThanTheRankBehindLeavesItTheWord) {
  begin();
  exchange->tick(seconds(1));
  exchange->rank_lost({2}, "rank 2 was killed");
  EXPECT_EQ(told.failure, "");
  hear(0, {.kind = MessageKind::failed},
       "rank 2 is lost: rank 2 was killed; 0.1 s ago it had run 3 tasks");
  EXPECT_THAT(told.failure, HasSubstr("3 tasks"));
  begin();
  exchange->tick(seconds(1));
  exchange->rank_lost({2}, "rank 2 was killed");
  exchange->tick(seconds(2));
  exchange->tick(seconds(3));
  EXPECT_EQ(told.failure, "rank 2 is lost: rank 2 was killed");
}

TEST_F(OfOneRank, WhatIsNoMessageFails) {
  begin();
  const std::vector<std::byte> bytes(3);
  exchange->message_arrived({2}, bytes);
  EXPECT_THAT(told.failure, HasSubstr("rank 2 sent 3 bytes that are no message"));
}

TEST_F(OfOneRank, DescribesWhatWaits) {
  begin();
  send(3, 7, 2, 100'000);
  receive(4, 8, 0, 100'000);
  EXPECT_EQ(exchange->describe(20),
            "d8 (transfer 1) is awaited from rank 0, which has not offered it\n"
            "d7 (transfer 1) waits for credit from rank 2\n");
}

// --- clocks

ExchangeRules comparing() {
  ExchangeRules rules = few();
  rules.clocks = {.rounds = 3, .period = Time{1000}};
  return rules;
}

TEST_F(OfOneRank, AsksForTheTimeAndKeepsTheFastestAnswer) {
  begin(comparing());
  const auto answer = [&](std::int64_t asked, std::int64_t there, std::int64_t now) {
    told.time = {now};
    hear(0, {.kind = MessageKind::tells_time,
             .value = static_cast<std::uint64_t>(asked),
             .number = static_cast<std::uint64_t>(there)});
  };
  const auto question = ElementsAre("asks_time>0");
  told.time = {100};
  exchange->tick({0});
  EXPECT_THAT(told.take(), ElementsAre("alive>2", "asks_time>0"));
  answer(100, 1000, 200);
  EXPECT_THAT(told.take(), question);
  answer(200, 1025, 251);
  EXPECT_THAT(told.take(), question);
  EXPECT_THAT(told.compared, IsEmpty());
  answer(251, 1300, 400);
  EXPECT_THAT(told.take(), IsEmpty());
  ASSERT_EQ(told.compared.size(), 1U);
  EXPECT_EQ(told.compared[0].at, Time{225});
  EXPECT_EQ(told.compared[0].offset, Time{800});
  EXPECT_EQ(told.compared[0].error, Time{26});
  // Not before the period is over.
  exchange->tick({999});
  EXPECT_THAT(told.take(), IsEmpty());
  exchange->tick({1000});
  EXPECT_THAT(told.take(), question);
}

TEST_F(OfOneRank, ComparesClocksOnceMoreBeforeItHasFinished) {
  begin(comparing());
  exchange->finish();
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(told.take(), ElementsAre("asks_time>0")) << round;
    hear(0, {.kind = MessageKind::tells_time});
  }
  EXPECT_THAT(told.take(), ElementsAre("finished>0", "finished>2"));
  EXPECT_EQ(told.compared.size(), 1U);
}

TEST_F(OfOneRank, TheLastComparisonReplacesTheOneThatIsBeingMade) {
  begin(comparing());
  exchange->tick({0});
  hear(0, {.kind = MessageKind::tells_time});
  told.take();
  exchange->finish();
  EXPECT_THAT(told.take(), IsEmpty());  // a question is on its way
  hear(0, {.kind = MessageKind::tells_time});
  hear(0, {.kind = MessageKind::tells_time});
  EXPECT_THAT(told.take(), ElementsAre("asks_time>0", "asks_time>0"));
  hear(0, {.kind = MessageKind::tells_time});
  EXPECT_THAT(told.take(), ElementsAre("finished>0", "finished>2"));
}

TEST_F(OfOneRank, AComparisonIsNotWaitedForWhenTheRunHasFailed) {
  begin(comparing());
  exchange->finish();
  exchange->fail("no");
  told.take();
  hear(0, {.kind = MessageKind::tells_time});
  EXPECT_THAT(told.take(), IsEmpty());
}

TEST_F(OfOneRank, TellsTheTime) {
  begin();
  told.time = {5};
  hear(2, {.kind = MessageKind::asks_time, .value = 4});
  EXPECT_THAT(told.take(), ElementsAre("tells_time>2"));
  ParsedMessage message;
  ASSERT_TRUE(parse(told.posted.back().second, message));
  EXPECT_EQ(message.header.value, 4U);
  EXPECT_EQ(message.header.number, 5U);
}

// Ranks whose messages are carried by hand.
struct Several {
  explicit Several(std::uint32_t ranks, const ExchangeRules& rules = few()) : told(ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      all.push_back(std::make_unique<Exchange>(RankId{rank}, ranks, rules, told[rank]));
    }
    for (const auto& one : all) one->start({}, 1, false, 0);
    carry();
  }
  void carry() {
    for (bool any = true; any;) {
      any = false;
      for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
        for (const auto& [to, bytes] : std::exchange(told[rank].posted, {})) {
          all[to.value]->message_arrived({rank}, bytes);
          any = true;
        }
      }
    }
  }
  std::vector<Told> told;
  std::vector<std::unique_ptr<Exchange>> all;
};

TEST(SeveralRanks, TheFirstDifferentCallIsTold) {
  constexpr std::uint32_t kRanks = 4;
  constexpr std::uint32_t kCalls = 3000;
  for (const std::uint32_t differs : {0U, 1023U, 1024U, 2345U, 2999U}) {
    Several ranks(kRanks);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      CallRecorder calls;
      calls.registers({800}, RankId{2}, "a");
      for (std::uint32_t i = 0; i < kCalls; ++i) {
        const bool other = rank == 2 && i == differs;
        const std::vector<Use> uses{{{3}, AccessMode::RW}, {{other ? 2U : 1U}, AccessMode::R}};
        calls.submits("gemm", uses, {});
        if (calls.is_full()) ranks.all[rank]->called(calls.take());
      }
      ranks.all[rank]->called(calls.take());
    }
    ranks.carry();
    const std::string number = differs < 999
                                   ? std::to_string(differs + 1)
                                   : std::to_string((differs + 1) / 1000) + "," +
                                         std::to_string((differs + 1) % 1000 + 1000).substr(1);
    for (const Told& told : ranks.told) {
      EXPECT_THAT(told.failure, HasSubstr("submission " + number + ": rank "));
      EXPECT_THAT(told.failure, HasSubstr("rank 2 submits gemm(RW d3, R d2)"));
      EXPECT_THAT(told.failure, HasSubstr("submits gemm(RW d3, R d1)"));
    }
  }
}

std::string told_of(const std::function<void(CallRecorder&)>& first,
                    const std::function<void(CallRecorder&)>& second) {
  Several ranks(2);
  for (const std::uint32_t rank : {0U, 1U}) {
    CallRecorder calls;
    calls.registers({8}, RankId{0}, "a");
    calls.submits("init", std::vector<Use>{{{0}, AccessMode::W}}, {});
    (rank == 0 ? first : second)(calls);
    ranks.all[rank]->called(calls.take());
  }
  ranks.carry();
  EXPECT_EQ(ranks.told[0].failure, ranks.told[1].failure);
  return ranks.told[0].failure;
}

TEST(SeveralRanks, EachCallIsToldAsItIs) {
  EXPECT_THAT(
      told_of([](auto& calls) { calls.registers({1234}, RankId{1}, "b"); },
              [](auto& calls) { calls.registers({99}, RankId{1}, "b"); }),
      HasSubstr("after submission 1: rank 0 registers data of 1,234 bytes, owned by rank 1, rank 1 "
                "registers data of 99 bytes"));
  EXPECT_THAT(told_of([](auto& calls) { calls.waits(); },
                      [](auto& calls) { calls.accesses({0}, AccessMode::R); }),
              HasSubstr("rank 0 waits for all tasks, rank 1 acquires d0 (R)"));
  EXPECT_THAT(told_of([](auto& calls) { calls.forgets({0}); }, [](auto& calls) { calls.ends(); }),
              HasSubstr("rank 0 unregisters or invalidates d0, rank 1 ends its runtime"));
  EXPECT_THAT(told_of([](auto& calls) { calls.submits("x", {}, RankId{1}); },
                      [](auto& calls) { calls.submits("x", {}, {}); }),
              HasSubstr("submission 2: rank 0 submits x() on rank 1, rank 1 submits x()"));
  EXPECT_THAT(told_of([](auto& calls) { calls.partitions({0}, 1234, true); },
                      [](auto& calls) { calls.partitions({0}, 1234, false); }),
              HasSubstr("rank 0 divides d0 into 1,234 parts, rank 1 divides d0 into 1,234 parts to "
                        "be read"));
  EXPECT_THAT(told_of([](auto& calls) { calls.partitions({0}, 3, true); },
                      [](auto& calls) { calls.partitions({0}, 4, true); }),
              HasSubstr("rank 0 divides d0 into 3 parts, rank 1 divides d0 into 4 parts"));
  EXPECT_THAT(
      told_of([](auto& calls) { calls.unpartitions({0}); },
              [](auto& calls) { calls.reduces({0}, 0); }),
      HasSubstr(
          "rank 0 takes back the partition of which d0 is a part, rank 1 sets a reduction for d0"));
  EXPECT_THAT(told_of([](auto& calls) { calls.combines({0}); }, [](auto& calls) { calls.waits(); }),
              HasSubstr("rank 0 combines what tasks have reduced into d0, rank 1 waits"));
  EXPECT_EQ(told_of([](auto& calls) { calls.waits(); }, [](auto& calls) { calls.waits(); }), "");
  EXPECT_EQ(told_of([](auto& calls) { calls.waits(); }, [](auto&) {}), "");  // not as far
}

TEST(SeveralRanks, NoCallIsComparedBehindTheLast) {
  for (const bool early : {false, true}) {
    Several ranks(2);
    for (const std::uint32_t rank : {0U, 1U}) {
      CallRecorder calls;
      calls.waits();
      CallBatch batch = calls.take();
      batch.is_last = true;
      ranks.all[rank]->called(std::move(batch));
      if (early) ranks.carry();
      if (rank == 0) calls.ends();
      calls.waits();
      ranks.all[rank]->called(calls.take());
    }
    ranks.carry();
    EXPECT_EQ(ranks.told[0].failure, "");
  }
}

TEST(SeveralRanks, OneReportOfAll) {
  Several ranks(3);
  ranks.told[1].own_report = std::string(10'000, 'x') + "y\n";
  ranks.all[2]->stalled();
  ranks.carry();
  EXPECT_THAT(ranks.told[0].stall, HasSubstr("no task has ended for a while on rank 2"));
  EXPECT_THAT(ranks.told[0].stall, HasSubstr("rank 0:\na worker runs nothing\n"));
  EXPECT_THAT(ranks.told[0].stall, HasSubstr("xxxy\nrank 2:\na worker"));
  EXPECT_EQ(ranks.told[1].stall, "");
  ranks.told[0].stall.clear();
  ranks.all[0]->stalled();  // nobody answers
  ranks.all[0]->tick({0});
  ranks.all[0]->tick({2'000'000'000});
  EXPECT_THAT(ranks.told[0].stall, HasSubstr("rank 1:\n(no more was heard of it)"));
}

}  // namespace
}  // namespace vicinal::comm
