// Messages between simulated hosts, with times worked out by hand. Bandwidths are in bytes per nanosecond.
#include "sim/host_network.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "support/random_runs.hpp"

namespace vicinal::sim {
namespace {

using machine::FatTree;
using machine::NetworkModel;
using ::testing::ElementsAre;
using ::testing::Pair;
using vicinal::testing::for_each_seed;

BytesPerSecond per_ns(double bytes) {
  return {bytes * 1e9};
}

class HostNetworkTest : public ::testing::Test, public HostNetwork::Listener {
 protected:
  HostNetwork& open(const NetworkModel& model) {
    network_.emplace(world, model, *this);
    return *network_;
  }
  void run() {
    while (world.step()) {
    }
  }
  World world;
  std::vector<std::pair<std::uint64_t, std::int64_t>> arrived;  // message, ns
  std::vector<std::pair<std::uint64_t, std::int64_t>> left;
  std::function<void(std::uint64_t)> then = [](std::uint64_t) {};

 private:
  void message_left(std::uint64_t id) override { left.emplace_back(id, world.now().ns); }
  void message_arrived(std::uint64_t id) override {
    arrived.emplace_back(id, world.now().ns);
    then(id);
  }
  std::optional<HostNetwork> network_;
};

TEST_F(HostNetworkTest, AMessageTakesOverheadsLatencyAndItsBytesAtTheRateOfTheNic) {
  // 5 ns of the sender, 20 + 1 x 3 of the way, 1000 bytes at 2 bytes/ns, 7 ns of the receiver.
  HostNetwork& network = open({.hosts = 2,
                               .nic = per_ns(2),
                               .latency = {20},
                               .hop_latency = {3},
                               .send_overhead = {5},
                               .receive_overhead = {7}});
  network.send({.id = 9, .from = 0, .to = 1, .bytes = {1000}});
  EXPECT_EQ(network.on_their_way(), 1U);
  run();
  EXPECT_THAT(left, ElementsAre(Pair(9, 528)));
  EXPECT_THAT(arrived, ElementsAre(Pair(9, 535)));
  EXPECT_EQ(network.on_their_way(), 0U);
}

TEST_F(HostNetworkTest, BothDirectionsOfANicHaveItsBandwidth) {
  HostNetwork& network = open({.hosts = 2, .nic = per_ns(2)});
  network.send({.id = 0, .from = 0, .to = 1, .bytes = {1000}});
  network.send({.id = 1, .from = 1, .to = 0, .bytes = {1000}});
  run();
  EXPECT_THAT(arrived, ElementsAre(Pair(0, 500), Pair(1, 500)));
}

TEST_F(HostNetworkTest, MessagesOfOneHostShareItsNic) {
  // 1 byte/ns each until the first is there, then 2.
  HostNetwork& network = open({.hosts = 3, .nic = per_ns(2)});
  network.send({.id = 0, .from = 0, .to = 1, .bytes = {100}});
  network.send({.id = 1, .from = 0, .to = 2, .bytes = {300}});
  run();
  EXPECT_THAT(arrived, ElementsAre(Pair(0, 100), Pair(1, 200)));
}

TEST_F(HostNetworkTest, MessagesInOrderFlowOneAfterTheOtherWhileTheirLatencyPasses) {
  // They are due after 5, 10 and 15 ns of host 0, and 20 of latency. The first flows from 25 to 75, the second until 225, the third
  // until 235. Host 1 takes 7 ns for each.
  HostNetwork& network = open({.hosts = 2,
                               .nic = per_ns(2),
                               .latency = {20},
                               .send_overhead = {5},
                               .receive_overhead = {7}});
  const std::vector<std::uint64_t> bytes{100, 300, 20};
  for (std::uint64_t id = 0; id < bytes.size(); ++id)
    network.send({.id = id, .from = 0, .to = 1, .bytes = {bytes[id]}, .in_order = true});
  run();
  EXPECT_THAT(left, ElementsAre(Pair(0, 75), Pair(1, 225), Pair(2, 235)));
  EXPECT_THAT(arrived, ElementsAre(Pair(0, 82), Pair(1, 232), Pair(2, 242)));
  EXPECT_EQ(network.on_their_way(), 0U);
}

TEST_F(HostNetworkTest, AMessageInOrderWaitsForItsLatencyThoughThePairIsIdle) {
  // 50 ns of latency each: the first flows from 50 to 60. The second is sent at 60, then, and not before 110.
  HostNetwork& network = open({.hosts = 2, .nic = per_ns(1), .latency = {50}});
  network.send({.id = 0, .from = 0, .to = 1, .bytes = {10}, .in_order = true});
  then = [&](std::uint64_t id) {
    if (id == 0) network.send({.id = 1, .from = 0, .to = 1, .bytes = {10}, .in_order = true});
  };
  run();
  EXPECT_THAT(left, ElementsAre(Pair(0, 60), Pair(1, 120)));
}

TEST_F(HostNetworkTest, OnlyTheFirstMessageInOrderSharesWithOthers) {
  // Messages 0, 2 and 3 flow at first, 1 byte/ns each. At 100 message 2 has ended: 450 bytes of message 0 and 150 of message 3 are left, at
  // 1.5 bytes/ns. At 200 message 3 has ended: 300 bytes of message 0 are left, at 3 bytes/ns. At 300 message 1 begins.
  HostNetwork& network = open({.hosts = 3, .nic = per_ns(3)});
  network.send({.id = 0, .from = 0, .to = 1, .bytes = {550}, .in_order = true});
  network.send({.id = 1, .from = 0, .to = 1, .bytes = {300}, .in_order = true});
  network.send({.id = 2, .from = 0, .to = 1, .bytes = {100}});
  network.send({.id = 3, .from = 0, .to = 2, .bytes = {250}, .in_order = true});
  run();
  EXPECT_THAT(left, ElementsAre(Pair(2, 100), Pair(3, 200), Pair(0, 300), Pair(1, 400)));
}

TEST_F(HostNetworkTest, PairsOfHostsWithSeveralNicsUseThemInTurn) {
  // From host 0 to 1 and to 2: NICs 1 and 0, each 2 bytes/ns.
  HostNetwork& network = open({.hosts = 3, .nics = 2, .nic = per_ns(2)});
  network.send({.id = 0, .from = 0, .to = 1, .bytes = {100}});
  network.send({.id = 1, .from = 0, .to = 2, .bytes = {300}});
  run();
  EXPECT_THAT(arrived, ElementsAre(Pair(0, 50), Pair(1, 150)));
}

TEST_F(HostNetworkTest, TheBackplaneIsSharedByAll) {
  // NICs of 2, a backplane of 3: 1.5 for each of two pairs.
  HostNetwork& network = open({.hosts = 4, .nic = per_ns(2), .backplane = per_ns(3)});
  network.send({.id = 0, .from = 0, .to = 1, .bytes = {300}});
  network.send({.id = 1, .from = 2, .to = 3, .bytes = {300}});
  run();
  EXPECT_THAT(arrived, ElementsAre(Pair(0, 200), Pair(1, 200)));
}

TEST_F(HostNetworkTest, HostsOfAnOversubscribedLeafShareItsUplink) {
  // Leaves of 4 hosts with NICs of 2 and an uplink of 4. Four messages leave leaf 0: 1 byte/ns each. The fifth stays on
  // leaf 1, and the third ends there, too: host 6 receives 1 from below the spine and 1 from its neighbour.
  HostNetwork& network = open(
      {.hosts = 8, .nic = per_ns(2), .tree = FatTree{.hosts_per_leaf = 4, .uplink = per_ns(4)}});
  for (std::uint32_t h = 0; h < 4; ++h) {
    network.send({.id = h, .from = h, .to = 4 + h, .bytes = {1000}});
  }
  network.send({.id = 4, .from = 5, .to = 6, .bytes = {1000}});
  run();
  EXPECT_EQ(arrived.size(), 5U);
  for (const auto& [id, at] : arrived) EXPECT_EQ(at, 1000) << "message " << id;
  const NetworkModel& model = network.model();
  EXPECT_EQ(network.carried(model.route(0, 4).links()[1]), Bytes{4000});  // up
  EXPECT_EQ(network.carried(model.route(5, 6).links()[1]), Bytes{2000});  // into host 6
}

TEST_F(HostNetworkTest, SpinesAreChosenByTheDestination) {
  // Two spines with uplinks of 1: hosts 2 and 3 are behind different ones, hosts 2 and 4 (of another leaf) behind the same.
  const NetworkModel model{.hosts = 6,
                           .nic = per_ns(4),
                           .tree = FatTree{.hosts_per_leaf = 2, .spines = 2, .uplink = per_ns(1)}};
  HostNetwork& network = open(model);
  network.send({.id = 0, .from = 0, .to = 2, .bytes = {100}});
  network.send({.id = 1, .from = 1, .to = 3, .bytes = {100}});
  run();
  EXPECT_THAT(arrived, ElementsAre(Pair(0, 100), Pair(1, 100)));
  arrived.clear();
  network.send({.id = 2, .from = 0, .to = 2, .bytes = {100}});
  network.send({.id = 3, .from = 1, .to = 4, .bytes = {100}});
  run();
  EXPECT_THAT(arrived, ElementsAre(Pair(2, 300), Pair(3, 300)));
}

TEST_F(HostNetworkTest, AHostSpendsOneOverheadAtATime) {
  // Three empty messages leave host 0 after 10, 20 and 30 ns. Host 1 receives the first until 14, then sends its answer
  // until 24, and receives the second until 28 and the third from 30 to 34.
  HostNetwork& network =
      open({.hosts = 2, .nic = per_ns(1), .send_overhead = {10}, .receive_overhead = {4}});
  for (std::uint64_t id = 0; id < 3; ++id)
    network.send({.id = id, .from = 0, .to = 1, .bytes = {}});
  then = [&](std::uint64_t id) {
    if (id == 0) network.send({.id = 7, .from = 1, .to = 0, .bytes = {}});
  };
  run();
  // Host 0 has sent its last at 30 and can take the answer from then on, though it is there at 24.
  EXPECT_THAT(arrived, ElementsAre(Pair(0, 14), Pair(1, 28), Pair(7, 34), Pair(2, 34)));
}

TEST_F(HostNetworkTest, AMessageToOneselfTakesTheOverheadsAlone) {
  HostNetwork& network = open({.hosts = 2,
                               .nic = per_ns(1),
                               .latency = {100},
                               .send_overhead = {5},
                               .receive_overhead = {7}});
  network.send({.id = 1, .from = 1, .to = 1, .bytes = {1'000'000}});
  run();
  EXPECT_THAT(arrived, ElementsAre(Pair(1, 12)));
}

TEST_F(HostNetworkTest, AHostThatIsNotThereIsRefused) {
  HostNetwork& network = open({.hosts = 2, .nic = per_ns(1)});
  EXPECT_THROW(network.send({.id = 1, .from = 0, .to = 2, .bytes = {1}}), std::invalid_argument);
  EXPECT_THROW(network.send({.id = 1, .from = 2, .to = 0, .bytes = {1}}), std::invalid_argument);
}

// Each message arrives once, not before a NIC could have brought it; links carry what was sent over them; a second run is
// the same.
TEST_F(HostNetworkTest, RandomMessagesArriveOnceAndLinksCarryTheirBytes) {
  for_each_seed(3, [&](base::Random& random, std::uint64_t seed) {
    constexpr std::uint32_t kHosts = 48;
    NetworkModel model{.hosts = kHosts,
                       .nics = static_cast<std::uint32_t>(1 + random.below(2)),
                       .nic = per_ns(12.5),
                       .latency = {700},
                       .hop_latency = {100},
                       .send_overhead = {500},
                       .receive_overhead = {500}};
    if (random.below(2) == 0) {
      model.tree = FatTree{.hosts_per_leaf = 8, .spines = 2, .uplink = per_ns(25)};
    } else {
      model.backplane = per_ns(200);
    }
    std::vector<HostNetwork::Message> messages(300);
    for (std::uint64_t id = 0; id < messages.size(); ++id) {
      // A third of them between few, so that some wait for others.
      const std::uint64_t hosts = random.below(3) == 0 ? 3 : kHosts;
      messages[id] = {.id = id,
                      .from = static_cast<std::uint32_t>(random.below(hosts)),
                      .to = static_cast<std::uint32_t>(random.below(hosts)),
                      .bytes = {random.below(1'000'000)},
                      .in_order = random.below(2) == 0};
    }
    const auto play = [&] {
      arrived.clear();
      const std::int64_t begin = world.now().ns;
      HostNetwork& network = open(model);
      std::map<machine::NetworkLink, std::uint64_t> expected;
      for (const HostNetwork::Message& message : messages) {
        network.send(message);
        const machine::NetworkRoute route = model.route(message.from, message.to);
        for (const auto link : route.links()) {
          expected[link] += message.bytes.value;
        }
      }
      run();
      for (const auto& [link, bytes] : expected) {
        EXPECT_EQ(network.carried(link).value, bytes) << model.name(link);
      }
      for (auto& [id, at] : arrived) at -= begin;
      return arrived;
    };
    const auto first = play();
    EXPECT_EQ(first.size(), messages.size()) << "seed " << seed;
    std::vector<bool> seen(messages.size(), false);
    for (const auto& [id, at] : first) {
      EXPECT_FALSE(seen.at(id)) << "message " << id;
      seen[id] = true;
      const HostNetwork::Message& message = messages[id];
      if (message.from == message.to) continue;
      EXPECT_GE(at, 1800 + static_cast<std::int64_t>(message.bytes.value / 12.5))
          << "message " << id;
    }
    // Of each pair, those in order have left as they were sent.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> last;
    for (std::size_t l = left.size() - messages.size(); l < left.size(); ++l) {
      const HostNetwork::Message& message = messages[left[l].first];
      if (!message.in_order) continue;
      const auto [at, is_new] = last.try_emplace({message.from, message.to}, message.id);
      EXPECT_TRUE(is_new || at->second < message.id) << "message " << message.id;
      at->second = message.id;
    }
    EXPECT_EQ(play(), first);
  });
}

}  // namespace
}  // namespace vicinal::sim
