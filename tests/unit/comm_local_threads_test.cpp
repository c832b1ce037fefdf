// Ranks in threads of their own that trade over the transport of one process, as fast as they can, and one that dies.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "comm/local/local_world.hpp"
#include "support/packed_content.hpp"
#include "support/random_runs.hpp"
#include "support/threads.hpp"

namespace vicinal::comm {
namespace {

using ::testing::ElementsAre;
using vicinal::testing::for_each_seed;
using vicinal::testing::in_threads;
using vicinal::testing::packed_content;

// True while nobody has polled in vain so often that this is a hang.
class VainPolls {
 public:
  bool count(bool any) {
    if (!any) std::this_thread::yield();
    vain_ = any ? 0 : vain_ + 1;
    return vain_ < 10'000'000;
  }

 private:
  std::uint64_t vain_ = 0;
};

// A rank that receives payloads of each other rank on a few channels, one after the other on each. A credit goes out
// after its receive was posted; a payload follows each credit. Its content tells sender, receiver and number.
class LocalTrader final : public TransportEvents {
 public:
  static constexpr std::uint64_t kAsked = 60;  // of each other rank
  static constexpr std::uint64_t kAtOnce = 4;  // channels for each

  LocalTrader(Transport& end, std::uint64_t seed) : end_(end), random_(seed) {}

  void start() {
    for (std::uint32_t other = 0; other < end_.ranks(); ++other) {
      if (other == end_.rank().value) continue;
      for (std::uint64_t channel = 0; channel < kAtOnce; ++channel)
        ask({other}, static_cast<std::uint16_t>(channel));
    }
  }
  bool done() const {
    const std::uint64_t all = kAsked * (end_.ranks() - 1);
    return received_ == all && sent_ == all;
  }
  std::uint64_t wrong() const { return wrong_; }

  void message_arrived(RankId from, std::span<const std::byte> bytes) override {
    Credit credit;
    std::memcpy(&credit, bytes.data(), sizeof credit);
    if (credit.number != credits_[from.value]++) ++wrong_;  // messages of a pair keep their order
    const std::uint64_t id = next_++;
    std::vector<std::byte>& memory = sending_[id];
    const Layout layout = drawn_layout(credit.bytes);
    memory.resize(layout.span().value);
    fill(memory, layout, end_.rank(), from, credit.number);
    end_.post_send(from, {credit.channel}, memory.data(), layout, {id});
  }
  void payload_ended(PayloadId payload) override {
    if (sending_.erase(payload.value) == 1) {
      ++sent_;
      return;
    }
    const auto found = receiving_.find(payload.value);
    if (found == receiving_.end()) {
      ++wrong_;
      return;
    }
    const Asked asked = std::move(found->second);
    receiving_.erase(found);
    std::vector<std::byte> expected(asked.memory.size());
    fill(expected, asked.layout, asked.from, end_.rank(), asked.number);
    if (packed_content(expected, asked.layout) != packed_content(asked.memory, asked.layout))
      ++wrong_;
    ++received_;
    ask(asked.from, asked.channel);
  }
  void rank_lost(RankId, const std::string&) override { ++wrong_; }

 private:
  struct Credit {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    std::uint16_t channel = 0;
  };
  struct Asked {
    RankId from;
    std::uint16_t channel = 0;
    std::uint64_t number = 0;
    Layout layout;
    std::vector<std::byte> memory;
  };
  // Packed, or in columns of 8 bytes with gaps.
  Layout drawn_layout(std::uint64_t bytes) {
    if (random_.below(2) == 0) return {bytes};
    return {8, bytes / 8, 8 + random_.below(9)};
  }
  // Byte i in packed order.
  static void fill(std::vector<std::byte>& memory, const Layout& layout, RankId from, RankId to,
                   std::uint64_t number) {
    std::uint64_t i = 0;
    for (std::uint64_t c = 0; c < layout.columns; ++c) {
      for (std::uint64_t r = 0; r < layout.column_bytes; ++r, ++i)
        memory[c * layout.stride_bytes + r] =
            static_cast<std::byte>(i + 31 * from.value + 57 * to.value + 101 * number);
    }
  }
  void ask(RankId from, std::uint16_t channel) {
    if (asked_[from.value] == kAsked) return;
    const std::uint64_t number = asked_[from.value]++;
    // A few are too large to be copied when they are sent.
    const std::uint64_t bytes = random_.below(50) == 0 ? 80000 : 8 * random_.below(64);
    const std::uint64_t id = next_++;
    Asked& asked = receiving_[id];
    asked = {from, channel, number, drawn_layout(bytes), {}};
    asked.memory.resize(asked.layout.span().value);
    end_.post_receive(from, {channel}, asked.memory.data(), asked.layout, {id});
    const Credit credit{number, bytes, channel};
    std::array<std::byte, sizeof(Credit)> message;
    std::memcpy(message.data(), &credit, sizeof credit);
    end_.post_message(from, message);
  }

  Transport& end_;
  base::Random random_;
  std::map<std::uint32_t, std::uint64_t> asked_;    // by rank
  std::map<std::uint32_t, std::uint64_t> credits_;  // by rank
  std::map<std::uint64_t, Asked> receiving_;
  std::map<std::uint64_t, std::vector<std::byte>> sending_;
  std::uint64_t next_ = 0;
  std::uint64_t sent_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t wrong_ = 0;
};

TEST(LocalTransport, RanksInThreadsOfTheirOwnTradeAllThatTheyAskFor) {
  for_each_seed(3, [](base::Random& random, std::uint64_t seed) {
    const LocalRules rules{.seed = seed,
                           .delayed = random.uniform(),
                           .most_delay = static_cast<std::uint32_t>(random.below(12)),
                           .most_per_poll = static_cast<std::uint32_t>(1 + random.below(5))};
    LocalWorld world(4, rules);
    std::array<std::uint64_t, 4> wrong{};
    in_threads(4, [&](std::size_t r) {
      const std::unique_ptr<Transport> end = world.transport({static_cast<std::uint32_t>(r)});
      LocalTrader trader(*end, seed + r);
      trader.start();
      VainPolls vain;
      while (!trader.done()) {
        if (!vain.count(end->poll(trader))) {
          ADD_FAILURE() << "rank " << r << " waits for what never comes";
          break;
        }
        if (r == 3) {  // silent for a while, now and then
          world.stop({1});
          world.go_on({1});
        }
      }
      wrong[r] = trader.wrong();
    });
    EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
    EXPECT_EQ(world.traffic({2}, {0}).payloads, LocalTrader::kAsked);
    EXPECT_EQ(world.traffic({2}, {0}).messages, LocalTrader::kAsked);
  });
}

TEST(LocalTransport, ARankThatDiesAmidTrafficIsLostByAllOthersAndItsMemoryIsLetGo) {
  // Counts losses, and what comes of the lost rank afterwards.
  struct Survivor final : TransportEvents {
    void message_arrived(RankId from, std::span<const std::byte>) override {
      if (lost != 0 && from == RankId{0}) ++late;
    }
    void payload_ended(PayloadId) override {}
    void rank_lost(RankId, const std::string&) override { ++lost; }
    int lost = 0;
    int late = 0;
  };
  for_each_seed(6, [](base::Random&, std::uint64_t seed) {
    LocalWorld world(4, {.seed = seed, .delayed = 0.5, .most_delay = 5});
    std::array<int, 4> lost{};
    std::array<int, 4> late{};
    in_threads(4, [&](std::size_t r) {
      const std::unique_ptr<Transport> end = world.transport({static_cast<std::uint32_t>(r)});
      auto memory = std::make_unique<std::vector<std::byte>>(4 * 64);
      Survivor survivor;
      if (r == 0) {
        for (std::uint32_t other = 1; other < 4; ++other)
          end->post_receive({other}, {0}, memory->data() + other * 64, {64}, {other});
        for (std::uint32_t other = 1; other < 4; ++other) end->post_message({other}, {});
        for (int i = 0; i < 20; ++i) end->poll(survivor);
        world.kill({0});
        memory.reset();
        for (int i = 0; i < 20; ++i) {
          end->post_message({1}, {});
          EXPECT_FALSE(end->poll(survivor));
        }
        return;
      }
      // Whoever was asked sends; whoever is killed meanwhile never ends it.
      bool is_asked = false;
      struct Asked final : TransportEvents {
        Asked(bool& flag, Survivor& other) : asked(flag), survivor(other) {}
        void message_arrived(RankId from, std::span<const std::byte> bytes) override {
          asked = true;
          survivor.message_arrived(from, bytes);
        }
        void payload_ended(PayloadId) override {}
        void rank_lost(RankId rank, const std::string& why) override {
          survivor.rank_lost(rank, why);
        }
        bool& asked;
        Survivor& survivor;
      } events(is_asked, survivor);
      bool is_sent = false;
      VainPolls vain;
      while (survivor.lost == 0 && vain.count(end->poll(events))) {
        if (is_asked && !std::exchange(is_sent, true))
          end->post_send({0}, {0}, memory->data(), {64}, {9});
      }
      for (int i = 0; i < 20; ++i) end->poll(events);
      end->cancel();
      lost[r] = survivor.lost;
      late[r] = survivor.late;
    });
    EXPECT_THAT(lost, ElementsAre(0, 1, 1, 1));
    EXPECT_THAT(late, ElementsAre(0, 0, 0, 0));
  });
}

}  // namespace
}  // namespace vicinal::comm
