// Many ranks that send versions to several others, in random orders of events: each version reaches all, and nothing hangs.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "comm/deliveries.hpp"
#include "gtest/gtest.h"

namespace vicinal::comm {
namespace {

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
    Time clock() override { return {ticks += 1000}; }
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
    std::int64_t ticks = 0;
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
    rules.learns_link = random.below(2) == 0;
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
