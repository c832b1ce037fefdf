// Ranks of one process: what a transport promises, under delays and orders that a seed draws.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "comm/local/local_world.hpp"
#include "support/packed_content.hpp"
#include "support/random_runs.hpp"
#include "support/threads.hpp"
#include "vicinal/error.hpp"

namespace vicinal::comm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using vicinal::testing::for_each_seed;
using vicinal::testing::in_threads;
using vicinal::testing::packed_content;

// What a rank was told, as "1:text" for a message of rank 1, "payload 7", "lost 2: why".
class LocalEars final : public TransportEvents {
 public:
  void message_arrived(RankId from, std::span<const std::byte> bytes) override {
    std::string text(bytes.size(), ' ');
    std::transform(bytes.begin(), bytes.end(), text.begin(),
                   [](std::byte b) { return static_cast<char>(b); });
    told.push_back(std::to_string(from.value) + ":" + text);
  }
  void payload_ended(PayloadId payload) override {
    told.push_back("payload " + std::to_string(payload.value));
  }
  void rank_lost(RankId rank, const std::string& why) override {
    told.push_back("lost " + std::to_string(rank.value) + ": " + why);
  }
  std::vector<std::string> told;
};

// A world whose transports one thread polls in turn.
struct LocalRanks {
  explicit LocalRanks(std::uint32_t count, const LocalRules& rules = {})
      : world(count, rules), ears(count) {
    for (std::uint32_t r = 0; r < count; ++r) ends.push_back(world.transport({r}));
  }
  void say(std::uint32_t from, std::uint32_t to, const std::string& text) {
    ends[from]->post_message({to}, std::as_bytes(std::span(text)));
  }
  // Packed bytes.
  void send(std::uint32_t from, std::uint32_t to, std::uint16_t channel,
            const std::vector<std::byte>& memory, std::uint64_t payload) {
    ends[from]->post_send({to}, {channel}, memory.data(), {memory.size()}, {payload});
  }
  void receive(std::uint32_t at, std::uint32_t from, std::uint16_t channel,
               std::vector<std::byte>& memory, std::uint64_t payload) {
    ends[at]->post_receive({from}, {channel}, memory.data(), {memory.size()}, {payload});
  }
  bool poll(std::uint32_t rank) { return ends[rank]->poll(ears[rank]); }
  void poll_all(int rounds) {
    for (int i = 0; i < rounds; ++i) {
      for (std::uint32_t r = 0; r < ends.size(); ++r) poll(r);
    }
  }
  const std::vector<std::string>& told(std::uint32_t rank) const { return ears[rank].told; }

  LocalWorld world;
  std::vector<std::unique_ptr<Transport>> ends;
  std::vector<LocalEars> ears;
};

std::vector<std::byte> counted_bytes(std::size_t size, unsigned first) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(first + i);
  return bytes;
}

std::string refusal_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing was refused";
}

// --- messages

TEST(LocalTransport, MessagesOfAPairComeInTheirOrderWhateverTheDelays) {
  for_each_seed(50, [](base::Random& random, std::uint64_t seed) {
    LocalRanks ranks(3, {.seed = seed, .delayed = 0.7, .most_delay = 6, .most_per_poll = 2});
    std::array<int, 2> sent{};
    for (int i = 0; i < 60; ++i) {
      const auto from = static_cast<std::uint32_t>(random.below(2));
      ranks.say(from, 2, std::to_string(sent[from]++));
      if (random.below(2) == 0) ranks.poll(2);
    }
    ranks.poll_all(600);
    std::array<int, 2> heard{};
    for (const std::string& text : ranks.told(2)) {
      const auto from = static_cast<std::size_t>(text[0] - '0');
      EXPECT_EQ(text, std::to_string(from) + ":" + std::to_string(heard[from]++));
    }
    EXPECT_EQ(heard, sent);
  });
}

TEST(LocalTransport, TheSeedDecidesTheOrderBetweenPairsAndRepeatsIt) {
  const auto played = [](std::uint64_t seed) {
    LocalRanks ranks(4, {.seed = seed, .delayed = 0.5, .most_delay = 5});
    for (int i = 0; i < 10; ++i) {
      for (std::uint32_t from = 0; from < 3; ++from) ranks.say(from, 3, std::to_string(i));
    }
    ranks.poll_all(100);
    return ranks.told(3);
  };
  std::vector<std::vector<std::string>> orders;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    orders.push_back(played(seed));
    EXPECT_EQ(orders.back().size(), 30U);
    EXPECT_EQ(orders.back(), played(seed));
  }
  std::sort(orders.begin(), orders.end());
  EXPECT_GT(std::unique(orders.begin(), orders.end()) - orders.begin(), 15);
}

TEST(LocalTransport, WithoutDelayTheNextPollTellsAllThatItMayTell) {
  LocalRanks ranks(2, {.most_per_poll = 2});
  for (const char* const text : {"a", "b", "c"}) ranks.say(0, 1, text);
  EXPECT_EQ(ranks.world.under_way(), 3U);
  EXPECT_TRUE(ranks.poll(1));
  EXPECT_THAT(ranks.told(1), ElementsAre("0:a", "0:b"));
  EXPECT_TRUE(ranks.poll(1));
  EXPECT_FALSE(ranks.poll(1));
  EXPECT_THAT(ranks.told(1), ElementsAre("0:a", "0:b", "0:c"));
  EXPECT_EQ(ranks.world.under_way(), 0U);
}

TEST(LocalTransport, ADelayIsCountedInPollsOfTheReceiver) {
  // All are delayed, by one poll: the first tells nothing, the second does.
  LocalRanks ranks(2, {.delayed = 1, .most_delay = 1});
  ranks.say(0, 1, "late");
  for (int i = 0; i < 5; ++i) ranks.poll(0);
  EXPECT_FALSE(ranks.poll(1));
  EXPECT_TRUE(ranks.poll(1));
}

TEST(LocalTransport, TheLargestMessageArrivesAndAnEmptyOne) {
  LocalRanks ranks(2);
  const std::string largest(kMostMessage, 'x');
  ranks.say(0, 1, largest);
  ranks.say(0, 1, "");
  ranks.poll(1);
  EXPECT_THAT(ranks.told(1), ElementsAre("0:" + largest, "0:"));
}

TEST(LocalTransport, WhoIsToldMayAnswerAtOnce) {
  struct Echo final : TransportEvents {
    explicit Echo(Transport& own) : end(own) {}
    void message_arrived(RankId from, std::span<const std::byte> bytes) override {
      end.post_message(from, bytes);
    }
    void payload_ended(PayloadId) override {}
    void rank_lost(RankId, const std::string&) override {}
    Transport& end;
  };
  LocalRanks ranks(2);
  Echo echo(*ranks.ends[1]);
  ranks.say(0, 1, "hallo");
  ranks.ends[1]->poll(echo);
  ranks.poll(0);
  EXPECT_THAT(ranks.told(0), ElementsAre("1:hallo"));
}

TEST(LocalTransport, WhatWasNotToldWhenAnEventThrewIsToldByTheNextPoll) {
  struct Thrower final : TransportEvents {
    void message_arrived(RankId, std::span<const std::byte>) override {
      throw std::runtime_error("no");
    }
    void payload_ended(PayloadId) override {}
    void rank_lost(RankId, const std::string&) override {}
  };
  LocalRanks ranks(2);
  ranks.say(0, 1, "a");
  ranks.say(0, 1, "b");
  Thrower thrower;
  EXPECT_THROW(ranks.ends[1]->poll(thrower), std::runtime_error);
  ranks.poll(1);
  EXPECT_THAT(ranks.told(1), ElementsAre("0:b"));
}

// --- payloads

TEST(LocalTransport, PayloadsFindTheirReceivesBySenderAndChannel) {
  for_each_seed(30, [](base::Random&, std::uint64_t seed) {
    LocalRanks ranks(3, {.seed = seed, .delayed = 0.5, .most_delay = 4});
    // The same channel of two senders, and two channels of one.
    std::array<std::vector<std::byte>, 3> to;
    to.fill(std::vector<std::byte>(5));
    ranks.receive(2, 0, 9, to[0], 100);
    ranks.receive(2, 1, 9, to[1], 101);
    ranks.receive(2, 1, kChannels - 1, to[2], 102);
    const std::array<std::vector<std::byte>, 3> from{counted_bytes(5, 0), counted_bytes(5, 50),
                                                     counted_bytes(5, 90)};
    ranks.send(1, 2, kChannels - 1, from[2], 7);
    ranks.send(1, 2, 9, from[1], 8);
    ranks.send(0, 2, 9, from[0], 7);
    ranks.poll_all(20);
    EXPECT_EQ(to, from);
    EXPECT_THAT(ranks.told(0), ElementsAre("payload 7"));
    EXPECT_THAT(ranks.told(1), UnorderedElementsAre("payload 7", "payload 8"));
    EXPECT_THAT(ranks.told(2), UnorderedElementsAre("payload 100", "payload 101", "payload 102"));
    EXPECT_EQ(ranks.world.under_way(), 0U);
  });
}

TEST(LocalTransport, LayoutsOfBothEndsMayDiffer) {
  // 12 bytes each: three columns with gaps, packed, four columns with other gaps.
  const std::array<Layout, 3> layouts{Layout{4, 3, 7}, Layout{12}, Layout{3, 4, 5}};
  for_each_seed(8, [&](base::Random&, std::uint64_t seed) {
    for (const Layout& from_layout : layouts) {
      for (const Layout& to_layout : layouts) {
        LocalRanks ranks(2, {.seed = seed});
        const std::vector<std::byte> from = counted_bytes(from_layout.span().value, 1);
        std::vector<std::byte> to(to_layout.span().value, std::byte{255});
        ranks.ends[1]->post_receive({0}, {3}, to.data(), to_layout, {1});
        ranks.ends[0]->post_send({1}, {3}, from.data(), from_layout, {2});
        ranks.poll_all(3);
        EXPECT_THAT(ranks.told(0), ElementsAre("payload 2"));
        EXPECT_THAT(ranks.told(1), ElementsAre("payload 1"));
        EXPECT_EQ(packed_content(to, to_layout), packed_content(from, from_layout));
        // Gaps stay as they are.
        EXPECT_EQ(std::count(to.begin(), to.end(), std::byte{255}),
                  static_cast<std::ptrdiff_t>(to.size() - 12));
      }
    }
  });
}

TEST(LocalTransport, NoBytesAreAPayloadToo) {
  LocalRanks ranks(2);
  ranks.ends[1]->post_receive({0}, {0}, nullptr, {0}, {1});
  ranks.ends[0]->post_send({1}, {0}, nullptr, {8, 0, 8}, {2});
  ranks.poll_all(3);
  EXPECT_THAT(ranks.told(0), ElementsAre("payload 2"));
  EXPECT_THAT(ranks.told(1), ElementsAre("payload 1"));
}

TEST(LocalTransport, AChannelIsFreeForAnotherPayloadWhenItsReceiveHasEnded) {
  for_each_seed(10, [](base::Random&, std::uint64_t seed) {
    LocalRanks ranks(2, {.seed = seed, .delayed = 0.5, .most_delay = 8});
    // The memory of a send is kept until its own end, which may come after the end of later receives.
    std::vector<std::vector<std::byte>> from;
    for (unsigned i = 0; i < 100; ++i) from.push_back(counted_bytes(16, i));
    for (std::uint64_t i = 0; i < 100; ++i) {
      std::vector<std::byte> to(16);
      ranks.receive(1, 0, 5, to, i);
      ranks.send(0, 1, 5, from[i], i);
      ranks.ears[1].told.clear();
      for (int polls = 0; polls < 20 && ranks.told(1).empty(); ++polls) ranks.poll(1);
      EXPECT_THAT(ranks.told(1), ElementsAre("payload " + std::to_string(i)));
      EXPECT_EQ(to, from[i]);
    }
    ranks.poll_all(20);
    EXPECT_EQ(ranks.told(0).size(), 100U);
    EXPECT_EQ(ranks.world.traffic({0}, {1}), (LocalTraffic{0, 0, 100, 1600}));
  });
}

TEST(LocalTransport, EachEndMayHearFirstThatAPayloadHasEnded) {
  int sender_first = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    LocalRanks ranks(2, {.seed = seed});
    const std::vector<std::byte> from(8);
    std::vector<std::byte> to(8);
    ranks.receive(1, 0, 1, to, 1);
    ranks.send(0, 1, 1, from, 2);
    sender_first += ranks.poll(0) ? 1 : 0;
    ranks.poll_all(2);
    EXPECT_THAT(ranks.told(0), ElementsAre("payload 2"));
    EXPECT_THAT(ranks.told(1), ElementsAre("payload 1"));
  }
  EXPECT_GT(sender_first, 5);
  EXPECT_LT(sender_first, 35);
}

TEST(LocalTransport, TrafficIsCountedByPair) {
  LocalRanks ranks(3);
  const std::vector<std::byte> from(10);
  std::vector<std::byte> to(10);
  ranks.say(0, 1, "abc");
  ranks.say(0, 1, "d");
  ranks.say(1, 0, "");
  ranks.receive(1, 2, 4, to, 1);
  ranks.send(2, 1, 4, from, 1);
  EXPECT_EQ(ranks.world.traffic({0}, {1}), (LocalTraffic{2, 4, 0, 0}));
  EXPECT_EQ(ranks.world.traffic({1}, {0}), (LocalTraffic{1, 0, 0, 0}));
  EXPECT_EQ(ranks.world.traffic({2}, {1}), (LocalTraffic{0, 0, 1, 10}));
  EXPECT_EQ(ranks.world.traffic({1}, {2}), LocalTraffic{});
}

// --- silent ranks, lost ranks, cancelled ones

TEST(LocalTransport, AStoppedRankIsSilentAndHearsNothingUntilItGoesOn) {
  for_each_seed(20, [](base::Random&, std::uint64_t seed) {
    LocalRanks ranks(3, {.seed = seed});
    std::vector<std::byte> to(4);
    std::vector<std::byte> back(4);
    const std::vector<std::byte> from = counted_bytes(4, 1);
    ranks.receive(0, 1, 1, to, 1);
    ranks.receive(1, 0, 1, back, 2);
    ranks.say(1, 0, "before");
    ranks.world.stop({1});
    ranks.say(1, 0, "during");
    ranks.say(0, 1, "you?");
    ranks.say(0, 2, "and you?");
    ranks.send(1, 0, 1, from, 3);
    ranks.send(0, 1, 1, from, 4);
    ranks.poll_all(10);
    EXPECT_THAT(ranks.told(0), IsEmpty());
    EXPECT_THAT(ranks.told(1), IsEmpty());
    EXPECT_THAT(ranks.told(2), ElementsAre("0:and you?"));
    EXPECT_EQ(ranks.world.under_way(), 5U);
    ranks.world.go_on({1});
    ranks.poll_all(10);
    EXPECT_THAT(ranks.told(0),
                UnorderedElementsAre("1:before", "1:during", "payload 1", "payload 4"));
    EXPECT_THAT(ranks.told(1), UnorderedElementsAre("0:you?", "payload 2", "payload 3"));
    EXPECT_EQ(to, from);
    EXPECT_EQ(back, from);
  });
}

TEST(LocalTransport, TheOthersAreToldOnceOfAKilledRankAndNothingMoreComesFromIt) {
  for_each_seed(20, [](base::Random&, std::uint64_t seed) {
    LocalRanks ranks(3, {.seed = seed, .delayed = 0.5, .most_delay = 3});
    std::vector<std::byte> to(4);
    std::vector<std::byte> back(4);
    std::vector<std::byte> other(4);
    const std::vector<std::byte> from = counted_bytes(4, 1);
    ranks.receive(0, 1, 1, to, 1);
    ranks.receive(1, 0, 1, back, 2);
    ranks.receive(0, 2, 1, other, 5);
    ranks.send(1, 0, 1, from, 3);
    ranks.send(0, 1, 1, from, 4);
    ranks.say(1, 0, "last words");
    ranks.say(0, 1, "nobody hears");
    ranks.world.kill({1});
    ranks.world.kill({1}, "again");
    ranks.world.go_on({1});
    ranks.say(1, 0, "from the grave");
    ranks.say(0, 1, "into it");
    ranks.send(1, 0, 2, from, 6);  // asks nobody whether there is a receive
    ranks.send(0, 1, 2, from, 7);
    ranks.send(2, 0, 1, from, 8);
    ranks.poll_all(20);
    EXPECT_THAT(ranks.told(0), UnorderedElementsAre("lost 1: rank 1 was killed", "payload 5"));
    EXPECT_THAT(ranks.told(1), IsEmpty());
    EXPECT_THAT(ranks.told(2), UnorderedElementsAre("lost 1: rank 1 was killed", "payload 8"));
    EXPECT_EQ(other, from);
    EXPECT_EQ(ranks.world.under_way(), 0U);
  });
}

TEST(LocalTransport, AKilledRankIsLostWithTheTextThatWasGiven) {
  LocalRanks ranks(2);
  ranks.world.kill({0}, "its cable is out");
  ranks.poll_all(2);
  EXPECT_THAT(ranks.told(1), ElementsAre("lost 0: its cable is out"));
}

TEST(LocalTransport, AfterCancelNoEventComesAndMessagesStillGo) {
  for_each_seed(20, [](base::Random&, std::uint64_t seed) {
    LocalRanks ranks(2, {.seed = seed});
    auto to = std::make_unique<std::vector<std::byte>>(4);
    auto from = std::make_unique<std::vector<std::byte>>(counted_bytes(4, 1));
    std::vector<std::byte> back(4);
    ranks.receive(0, 1, 1, *to, 1);
    ranks.receive(0, 1, 2, *to, 2);
    ranks.receive(1, 0, 1, back, 3);
    ranks.send(0, 1, 1, *from, 4);
    ranks.send(1, 0, 1, back, 5);
    ranks.say(1, 0, "hallo");
    ranks.ends[0]->cancel();
    to.reset();  // an address sanitizer sees who still uses it
    from.reset();
    ranks.send(1, 0, 2, back, 6);  // not refused: nobody can know that it is cancelled
    ranks.say(1, 0, "are you there?");
    ranks.say(0, 1, "it has failed");
    ranks.poll_all(10);
    EXPECT_THAT(ranks.told(0), IsEmpty());
    // The end of a send whose content had left may come, or not.
    EXPECT_THAT(ranks.told(1), ::testing::IsSupersetOf({"0:it has failed"}));
    EXPECT_EQ(ranks.world.under_way(), 0U);
    EXPECT_THAT(refusal_of([&] { ranks.send(0, 1, 1, back, 7); }),
                AllOf(HasSubstr("rank 0"), HasSubstr("after cancel()")));
    EXPECT_THAT(refusal_of([&] { ranks.receive(0, 1, 7, back, 7); }),
                AllOf(HasSubstr("rank 0"), HasSubstr("after cancel()")));
  });
}

TEST(LocalTransport, WhoCancelsInAnEventIsToldNothingMore) {
  struct Canceller final : TransportEvents {
    explicit Canceller(Transport& own) : end(own) {}
    void message_arrived(RankId, std::span<const std::byte>) override {
      ++heard;
      end.cancel();
    }
    void payload_ended(PayloadId) override {}
    void rank_lost(RankId, const std::string&) override {}
    Transport& end;
    int heard = 0;
  };
  LocalRanks ranks(2);
  for (int i = 0; i < 5; ++i) ranks.say(0, 1, "x");
  Canceller canceller(*ranks.ends[1]);
  ranks.ends[1]->poll(canceller);
  EXPECT_FALSE(ranks.ends[1]->poll(canceller));
  EXPECT_EQ(canceller.heard, 1);
}

TEST(LocalTransport, TheEndOfATransportIsToldToNobodyUnlessItsRankWasKilled) {
  LocalRanks ranks(3);
  ranks.say(0, 1, "bye");
  ranks.ends[0].reset();
  ranks.say(1, 0, "too late");
  ranks.poll(1);
  EXPECT_THAT(ranks.told(1), ElementsAre("0:bye"));
  EXPECT_EQ(ranks.world.under_way(), 0U);
  ranks.world.kill({0});
  ranks.poll(1);
  EXPECT_THAT(ranks.told(1), ElementsAre("0:bye", "lost 0: rank 0 was killed"));
}

TEST(LocalTransport, ASendWhoseEndWasToldArrivesThoughItsRankLeaves) {
  int left_early = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LocalRanks ranks(2, {.seed = seed});
    auto from = std::make_unique<std::vector<std::byte>>(counted_bytes(8, 1));
    std::vector<std::byte> to(8);
    ranks.receive(1, 0, 1, to, 1);
    ranks.send(0, 1, 1, *from, 2);
    if (!ranks.poll(0)) continue;  // it is copied by the receiver's poll
    ++left_early;
    ranks.ends[0].reset();
    from.reset();
    ranks.poll(1);
    EXPECT_THAT(ranks.told(1), ElementsAre("payload 1"));
    EXPECT_EQ(to, counted_bytes(8, 1));
  }
  EXPECT_GT(left_early, 0);
}

TEST(LocalTransport, TransportsMayOutliveTheirWorld) {
  std::unique_ptr<Transport> left;
  std::unique_ptr<Transport> right;
  {
    LocalWorld world(2);
    left = world.transport({0});
    right = world.transport({1});
  }
  left->post_message({1}, {});
  LocalEars ears;
  EXPECT_TRUE(right->poll(ears));
  EXPECT_EQ(right->ranks(), 2U);
  EXPECT_EQ(right->rank(), RankId{1});
}

// --- misuse

TEST(LocalTransport, ASendWithoutItsReceiveIsRefused) {
  LocalRanks ranks(3);
  const std::vector<std::byte> from(64);
  std::vector<std::byte> to(64);
  ranks.receive(1, 2, 7, to, 1);  // of another sender
  EXPECT_EQ(refusal_of([&] { ranks.send(0, 1, 7, from, 1); }),
            "rank 0 sends 64 bytes to rank 1 on channel 7, where rank 1 has posted no receive from "
            "rank 0: post the receive first");
}

TEST(LocalTransport, ASendOfOtherBytesThanItsReceiveIsRefused) {
  LocalRanks ranks(2);
  const std::vector<std::byte> from(64);
  std::vector<std::byte> to(63);
  ranks.receive(1, 0, 7, to, 1);
  EXPECT_EQ(refusal_of([&] { ranks.send(0, 1, 7, from, 1); }),
            "rank 0 sends 64 bytes to rank 1 on channel 7, where rank 1 waits for 63 bytes");
}

TEST(LocalTransport, AChannelThatIsInUseIsRefused) {
  LocalRanks ranks(2);
  const std::vector<std::byte> from(8);
  std::vector<std::byte> to(8);
  ranks.receive(1, 0, 7, to, 1);
  EXPECT_EQ(
      refusal_of([&] { ranks.receive(1, 0, 7, to, 2); }),
      "rank 1 posts a second receive from rank 0 on channel 7: wait for the end of the first");
  ranks.send(0, 1, 7, from, 1);
  EXPECT_EQ(refusal_of([&] { ranks.send(0, 1, 7, from, 2); }),
            "rank 0 sends 8 bytes to rank 1 on channel 7 while another payload is under way there: "
            "wait for its end at the receiver");
  ranks.poll_all(2);
  EXPECT_THAT(ranks.told(1), ElementsAre("payload 1"));
}

TEST(LocalTransport, WhatCannotBePostedIsRefused) {
  LocalRanks ranks(2);
  std::vector<std::byte> memory(64);
  Transport& end = *ranks.ends[0];
  const auto refused = [&](const std::function<void()>& act, const char* why) {
    EXPECT_THAT(refusal_of(act), AllOf(HasSubstr("rank"), HasSubstr(why)));
  };
  refused([&] { ranks.say(0, 1, std::string(kMostMessage + 1, 'x')); }, "the largest has 5120");
  refused([&] { ranks.say(0, 0, "me"); }, "for itself");
  refused([&] { ranks.say(0, 2, "who?"); }, "rank 2 does not exist");
  refused([&] { ranks.send(0, 1, kChannels, memory, 1); }, "channel 16384: the last is 16383");
  refused([&] { ranks.receive(0, 1, kChannels, memory, 1); }, "channel 16384: the last is 16383");
  refused([&] { ranks.receive(0, 0, 1, memory, 1); }, "for itself");
  refused([&] { ranks.receive(0, 9, 1, memory, 1); }, "rank 9 does not exist");
  refused([&] { end.post_receive({1}, {1}, nullptr, {8}, {1}); }, "without memory");
  refused([&] { end.post_receive({1}, {1}, memory.data(), {8, 2, 4}, {1}); }, "overlap");
  EXPECT_EQ(ranks.world.under_way(), 0U);
}

TEST(LocalWorld, RulesAndRanksThatCannotBeAreRefused) {
  EXPECT_THROW(LocalWorld(0), UsageError);
  EXPECT_THROW(LocalWorld(LocalWorld::kMostRanks + 1), UsageError);
  EXPECT_THROW(LocalWorld(2, {.delayed = 1.5}), UsageError);
  EXPECT_THROW(LocalWorld(2, {.delayed = std::numeric_limits<double>::quiet_NaN()}), UsageError);
  EXPECT_THROW(LocalWorld(2, {.most_per_poll = 0}), UsageError);
  LocalWorld world(2);
  EXPECT_THROW(world.transport({2}), UsageError);
  EXPECT_THROW(world.stop({2}), UsageError);
  EXPECT_THROW(world.kill({2}), UsageError);
  EXPECT_THROW(world.traffic({0}, {2}), UsageError);
  const std::unique_ptr<Transport> first = world.transport({0});
  EXPECT_THROW(world.transport({0}), UsageError);
}

}  // namespace
}  // namespace vicinal::comm
