// What a rank sends and receives of data: sequences of events that are worked by hand, and many ranks whose events come in random
// orders.
#include "comm/deliveries.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/random.hpp"
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
  rules.deliveries.tree = tree_of_option(tree);
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

TEST_F(Broadcast, SmallContentGoesAlongTheTreeInMessages) {
  begin_one(100, "binomial");
  EXPECT_THAT(told.take(), ElementsAre("bring 12"));
  in_ram(12);
  EXPECT_THAT(told.take(), ElementsAre("read 12", "content>3 d7 {4}", "content>2 d7", "end 12",
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
  EXPECT_EQ(exchange->deliveries().counts().forwarded, Bytes{100});
  receive(4, 7, 0, 100);
  has_room(4);
  EXPECT_THAT(told.take(), ElementsAre("room 4", "write 4 of 100", "end 4"));
}

class Forwarding : public Broadcast {
 protected:
  // From rank 3, which has it from the root, for ranks 2 and 4; in segments.
  void announce_one(std::uint64_t segment) {
    begin(along("chain"), 5);
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

TEST_F(Forwarding, WhatIsNoTreeIsNoMessage) {
  begin(along("chain"), 5);
  hear(0, {.kind = MessageKind::announced, .datum = 7, .version = 1, .value = 100});
  EXPECT_THAT(told.failure, HasSubstr("rank 0 sent 32 bytes that are no message"));
}

// --- many ranks, in random orders

constexpr std::uint64_t kRamOfRank = 3;  // contents with room at once

// Ranks whose messages, payloads and rooms come in the order that a seed draws. Each may hold few contents in RAM at once, and
// has room for the next only when one of them has ended, or has been read for long enough.
class Net {
 public:
  Net(std::uint32_t ranks, std::uint64_t seed, const DeliveryRules& rules)
      : random_(seed), ranks_(ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      all_.push_back(std::make_unique<One>(*this, RankId{rank}, ranks, rules));
    }
  }

  // One version of a datum, from one rank to others.
  void broadcast(std::uint32_t datum, std::uint32_t root, std::vector<std::uint32_t> to,
                 std::uint64_t bytes) {
    std::vector<ReadyTransfer> group;
    for (const std::uint32_t rank : to) {
      const std::uint32_t version = ++counts_[{root, rank}];
      const int priority = static_cast<int>(random_.below(3));
      const Transfer what{{datum}, version, RankId{root}, RankId{rank}};
      group.push_back({{++ids_}, what, {bytes}, priority});
      const ReadyTransfer receive{{++ids_}, what, {bytes}, 0};
      ++expected_;
      later_.push_back([this, rank, receive] { all_[rank]->machine.receive(receive); });
      datum_of_[receive.id.value] = datum;
    }
    for (const ReadyTransfer& one : group) datum_of_[one.id.value] = datum;
    all_[root]->has[group.front().id.value] = all_segments();
    later_.push_back([this, root, group] {
      all_[root]->machine.send(group, group[random_.below(group.size())].id);
    });
    for (const ReadyTransfer& one : group) all_[root]->has[one.id.value] = all_segments();
  }

  // False: nothing more happens, and something is left.
  bool run() {
    for (std::uint64_t step = 0; !is_quiet(); ++step) {
      if (step > 2'000'000) return false;
      if (random_.below(4) == 0 && !later_.empty()) {
        const std::size_t one = random_.below(later_.size());
        const auto event = later_[one];
        later_.erase(later_.begin() + static_cast<std::ptrdiff_t>(one));
        event();
        continue;
      }
      One& rank = *all_[random_.below(ranks_)];
      now_ = now_ + Time{static_cast<std::int64_t>(random_.below(20'000))};
      rank.machine.tick(now_);
      rank.do_something(random_);
    }
    return true;
  }

  std::uint64_t expected() const { return expected_; }
  std::uint64_t received = 0;
  std::uint64_t ended = 0;
  std::uint64_t forwarded() const {
    std::uint64_t sum = 0;
    for (const auto& one : all_) sum += one->machine.counts().forwarded.value;
    return sum;
  }
  std::uint64_t sent() const {
    std::uint64_t sum = 0;
    for (const auto& one : all_) sum += one->machine.counts().sent.value;
    return sum;
  }
  std::string failure;

 private:
  using Segments = std::set<std::uint64_t>;  // offsets; all of them: one that none has
  static Segments all_segments() { return {~std::uint64_t{0}}; }

  struct One final : DeliveryActions {
    One(Net& its_net, RankId here, std::uint32_t ranks, const DeliveryRules& rules)
        : net(its_net),
          rank(here),
          machine(here, ranks, rules, *this,
                  {.post =
                       [this](RankId to, const MessageBytes& bytes) {
                         net.messages_[{rank.value, to.value}].push_back(bytes);
                       },
                   .suspect = [this](const std::string& text) { net.failure = text; }}) {}

    void bring(TransferId id) override {
      ++brought;
      todo.push_back([this, id] { machine.in_ram(id); });
    }
    void put_down(TransferId /*id*/) override { --brought; }
    void make_room(TransferId id) override { wants_room.push_back(id); }
    void send(PayloadId payload, TransferId id, RankId to, Channel channel, Piece piece) override {
      if (!has[id.value].contains(~std::uint64_t{0}) && !has[id.value].contains(piece.offset))
        net.failure = "what has not come is sent on";
      net.sent_.push_back({payload, rank, to, channel, piece, net.datum_of_.at(id.value)});
    }
    void receive(PayloadId payload, TransferId id, RankId from, Channel channel,
                 Piece piece) override {
      if (holds.count(id.value) == 0) net.failure = "a receive without room";
      net.posted_.push_back({payload, from, rank, channel, piece, net.datum_of_.at(id.value)});
      ids[payload.value] = id.value;
    }
    void read(TransferId id, std::span<std::byte> content) override {
      std::ranges::fill(content, static_cast<std::byte>(net.datum_of_.at(id.value)));
    }
    void write(TransferId id, std::span<const std::byte> content) override {
      for (const std::byte byte : content) {
        if (byte != static_cast<std::byte>(net.datum_of_.at(id.value)))
          net.failure = "other content";
      }
    }
    void began(const Hop& /*hop*/) override {}
    void ended(const Hop& hop) override { net.received += hop.is_sent ? 0 : 1; }
    void share(TransferId /*id*/) override {}
    void end(TransferId id) override {
      ++net.ended;
      holds.erase(id.value);
    }
    void do_something(base::Random& random) {
      switch (random.below(4)) {
        case 0:
          if (todo.empty()) return;
          {
            const auto event = todo.front();
            todo.pop_front();
            event();
          }
          return;
        case 1:
          if (wants_room.empty() || holds.size() >= kRamOfRank || random.below(8) != 0) return;
          {
            const TransferId id = wants_room.front();
            wants_room.pop_front();
            holds.insert(id.value);
            machine.has_room(id);
          }
          return;
        case 2:
          return net.deliver_message(*this);
        default:
          return net.deliver_payload(*this);
      }
    }

    Net& net;
    RankId rank;
    Deliveries machine;
    std::deque<std::function<void()>> todo;
    std::deque<TransferId> wants_room;
    std::set<std::uint64_t> holds;
    std::map<std::uint64_t, Segments> has;       // by transfer: what is there
    std::map<std::uint64_t, std::uint64_t> ids;  // of payloads that are received
    int brought = 0;
  };
  struct Payload {
    PayloadId id;
    RankId from;
    RankId to;
    Channel channel;
    Piece piece;
    std::uint32_t datum;
  };

  bool is_quiet() const {
    return later_.empty() && sent_.empty() && posted_.empty() &&
           std::ranges::all_of(messages_, [](const auto& one) { return one.second.empty(); }) &&
           std::ranges::all_of(
               all_,
               [](const auto& one) { return one->todo.empty() && one->wants_room.empty(); }) &&
           ended == 2 * expected_;
  }

  // In order between two ranks; any pair.
  void deliver_message(One& to) {
    const auto from = static_cast<std::uint32_t>(random_.below(ranks_));
    const auto found = messages_.find({from, to.rank.value});
    if (found == messages_.end() || found->second.empty()) return;
    const MessageBytes bytes = found->second.front();
    found->second.pop_front();
    ParsedMessage message;
    parse(bytes, message);
    bool good = true;
    switch (message.header.kind) {
      case MessageKind::announced:
        good = to.machine.announced({from}, message);
        break;
      case MessageKind::content:
        good = to.machine.content({from}, message);
        break;
      case MessageKind::credit:
        good = to.machine.credit({from}, message);
        break;
      case MessageKind::declined:
        ++declines;
        good = to.machine.declined({from}, message);
        break;
      case MessageKind::accepted:
        to.machine.accepted({from}, message.header);
        break;
      case MessageKind::consumed:
        to.machine.consumed({from}, message.header.value);
        break;
      default:
        good = false;
    }
    if (!good) failure = "a message is none";
  }

  // A random one whose receive was posted; to the sender it ends at once.
  void deliver_payload(One& to) {
    std::vector<std::size_t> mine;
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      if (sent_[i].to == to.rank) mine.push_back(i);
    }
    if (mine.empty()) return;
    const auto at = static_cast<std::ptrdiff_t>(mine[random_.below(mine.size())]);
    const Payload sent = sent_[static_cast<std::size_t>(at)];
    const auto receive = std::ranges::find_if(posted_, [&](const Payload& one) {
      return one.from == sent.from && one.to == sent.to && one.channel == sent.channel;
    });
    if (receive == posted_.end()) {
      failure = "a payload finds no receive";
      sent_.erase(sent_.begin() + at);
      return;
    }
    if (receive->datum != sent.datum || receive->piece.offset != sent.piece.offset ||
        receive->piece.bytes != sent.piece.bytes) {
      failure = "a payload finds another receive";
    }
    const PayloadId received_one = receive->id;
    posted_.erase(receive);
    sent_.erase(sent_.begin() + at);
    to.has[to.ids.at(received_one.value)].insert(sent.piece.offset);
    all_[sent.from.value]->machine.payload_ended(sent.id);
    to.machine.payload_ended(received_one);
  }

  base::Random random_;
  std::uint32_t ranks_;
  std::vector<std::unique_ptr<One>> all_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<MessageBytes>> messages_;
  std::vector<Payload> sent_;
  std::vector<Payload> posted_;
  std::vector<std::function<void()>> later_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> counts_;
  std::map<std::uint64_t, std::uint32_t> datum_of_;
  std::uint64_t ids_ = 0;
  std::uint64_t expected_ = 0;
  Time now_;

 public:
  std::uint64_t declines = 0;
};

TEST(RandomBroadcasts, EachReachesAllInAnyOrder) {
  std::uint64_t forwarded = 0;
  std::uint64_t declines = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    base::Random random(seed);
    DeliveryRules rules;
    rules.most_sends = 1 + random.below(4);
    rules.most_receives = 1 + random.below(4);
    rules.most_small = 8192;
    rules.patience = Time{static_cast<std::int64_t>(random.below(3) * 1'000'000)};
    const char* const trees[] = {"auto",     "off",       "chain", "binary",
                                 "binomial", "delegated", "3-ary"};
    rules.tree = tree_of_option(trees[random.below(7)]);
    const auto ranks = static_cast<std::uint32_t>(2 + random.below(9));
    Net net(ranks, seed, rules);
    std::uint64_t bytes = 0;
    const std::uint64_t broadcasts = 1 + random.below(30);
    for (std::uint32_t datum = 0; datum < broadcasts; ++datum) {
      const auto root = static_cast<std::uint32_t>(random.below(ranks));
      std::vector<std::uint32_t> to;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        if (rank != root && random.below(3) != 0) to.push_back(rank);
      }
      if (to.empty()) continue;
      const std::uint64_t size = random.below(3) == 0 ? random.below(5000) : random.below(300'000);
      bytes += to.size() * size;
      net.broadcast(datum, root, to, size);
    }
    ASSERT_TRUE(net.run()) << "seed " << seed << ": it does not end";
    ASSERT_EQ(net.failure, "") << "seed " << seed;
    EXPECT_EQ(net.received, net.expected()) << "seed " << seed;
    EXPECT_EQ(net.ended, 2 * net.expected()) << "seed " << seed;
    EXPECT_EQ(net.sent(), bytes) << "seed " << seed << ": no byte more than from one to one";
    forwarded += net.forwarded();
    declines += net.declines;
  }
  EXPECT_GT(forwarded, 0U);
  EXPECT_GT(declines, 0U);
}

}  // namespace
}  // namespace vicinal::comm
