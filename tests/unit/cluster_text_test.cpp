// [cluster] of machine files: the meaning of its keys, the routes of messages, and the words of refusals.
#include "machine/cluster_text.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "machine/machine_model.hpp"
#include "support/machine_checks.hpp"
#include "support/random_runs.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {
namespace {

using namespace vicinal::
    testing;  // NOLINT(google-build-using-namespace): the vocabulary of the tests
using ::testing::StartsWith;

constexpr std::string_view kHost = R"(name = "small"
sentence = "a cluster of a test"
[cpu]
most = 2
)";
constexpr std::string_view kFlat = R"([cluster]
hosts = 4
nic = "10 GB/s"
)";
constexpr std::string_view kTree = R"([cluster]
hosts = 10
nics = 2
nic = "10 GB/s"
latency = "1 us"
hop_latency = "100 ns"
send_overhead = "200 ns"
receive_overhead = "300 ns"
hosts_per_leaf = 4
spines = 2
uplink = "25 GB/s"
)";

ClusterModel cluster(std::string_view table) {
  return parse_cluster(std::string(kHost) + std::string(table), "m.toml", {}).value();
}

std::string refusal(std::string_view text, const MachineChoice& choice = {}) {
  try {
    parse_cluster(text, "m.toml", choice);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}
std::string refused(std::string_view part, std::string_view replacement, std::string_view table) {
  std::string text = std::string(kHost) + std::string(table);
  text.replace(text.find(part), part.size(), replacement);
  return refusal(text);
}

std::vector<std::string> names(const NetworkModel& network, std::uint32_t from, std::uint32_t to) {
  std::vector<std::string> passed;
  const NetworkRoute route = network.route(from, to);
  for (const NetworkLink link : route.links()) passed.push_back(network.name(link));
  return passed;
}

// --- Meaning --------------------------------------------------------------------------------------

TEST(ClusterText, SaysWhatEachHostIsAndTheNetworkBetweenThem) {
  const ClusterModel model = cluster(kTree);
  EXPECT_EQ(model.name, "small");
  EXPECT_EQ(model.host.description.workers.size(), 2U);
  EXPECT_EQ(model.network, (NetworkModel{.hosts = 10,
                                         .nics = 2,
                                         .nic = {10e9},
                                         .latency = {1000},
                                         .hop_latency = {100},
                                         .send_overhead = {200},
                                         .receive_overhead = {300},
                                         .tree = FatTree{4, 2, {25e9}}}));
  // 3 leaves with two spines.
  EXPECT_EQ(model.network.leaves(), 3U);
  EXPECT_EQ(model.network.links(), 2U * 10 * 2 + 2 * 3 * 2);
}

TEST(ClusterText, OversubscriptionIsWhatALeafsHostsCanSendOverWhatItsUplinksTake) {
  // 4 hosts with 2 NICs of 10 GB/s, a quarter of which is spread over 2 spines.
  std::string text(kTree);
  text.replace(text.find("uplink = \"25 GB/s\""), 18, "oversubscription = 4");
  EXPECT_EQ(cluster(text).network.tree->uplink.value, 10e9);
}

TEST(ClusterText, AFileWithoutItIsOneMachine) {
  EXPECT_FALSE(parse_cluster(kHost, "m.toml", {}).has_value());
  EXPECT_FALSE(load_cluster("v100", {}).has_value());
}

TEST(ClusterText, NamesTheMachineOfItsHosts) {
  const auto model = load_cluster("summit-cluster", {.gpus = 2, .ranks = 20}).value();
  EXPECT_EQ(model.network.hosts, 20U);
  EXPECT_EQ(model.network.leaves(), 2U);
  EXPECT_EQ(model.host.name, "summit");
  EXPECT_EQ(model.host.description.workers.size(), 2U);
}

TEST(ClusterText, FindsTheMachineOfItsHostsBesideItsOwnFile) {
  const std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / "vicinal_cluster_text";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "host.toml") << kHost;
  std::ofstream(folder / "all.toml") << "name = \"all\"\nsentence = \"four of them\"\n"
                                     << kFlat << "machine = \"host.toml\"\n";
  const auto model = load_cluster((folder / "all.toml").string(), {}).value();
  EXPECT_EQ(model.host.name, "small");
  std::filesystem::remove_all(folder);
}

// --- Routes ---------------------------------------------------------------------------------------

TEST(NetworkRoutes, ThroughOneSwitchPassTheNicsOfBothHosts) {
  const NetworkModel network = cluster(kFlat).network;
  EXPECT_THAT(names(network, 0, 3), ElementsAre("host 0 out", "host 3 in"));
  EXPECT_THAT(names(network, 2, 2), ElementsAre());
  EXPECT_EQ(network.links(), 8U);
}

TEST(NetworkRoutes, PassABackplaneThatIsLimited) {
  const NetworkModel network = cluster(std::string(kFlat) + "backplane = \"30 GB/s\"\n").network;
  EXPECT_THAT(names(network, 1, 0), ElementsAre("host 1 out", "backplane", "host 0 in"));
  EXPECT_EQ(network.bandwidth(network.route(1, 0).links()[1]).value, 30e9);
}

TEST(NetworkRoutes, OfATreePassTheSpineOfTheDestinationAndTheNicOfThePair) {
  const NetworkModel network = cluster(kTree).network;
  EXPECT_THAT(names(network, 0, 3), ElementsAre("host 0 NIC 1 out", "host 3 NIC 1 in"));
  EXPECT_THAT(names(network, 1, 9), ElementsAre("host 1 NIC 0 out", "leaf 0 to spine 1",
                                                "spine 1 to leaf 2", "host 9 NIC 0 in"));
  EXPECT_EQ(network.bandwidth(network.route(1, 9).links()[1]).value, 25e9);
  // One switch, and three.
  EXPECT_EQ(network.latency_between(0, 3), Time{1100});
  EXPECT_EQ(network.latency_between(1, 9), Time{1300});
  EXPECT_EQ(network.latency_between(5, 5), Time{0});
}

// Links are numbered without gaps, have names of their own, and a bandwidth; a route is as long as its hosts are apart.
TEST(NetworkRoutes, ArePathsOfLinksThatAreThere) {
  for_each_seed(20, [](base::Random& random, std::uint64_t /*seed*/) {
    NetworkModel network{.hosts = static_cast<std::uint32_t>(1 + random.below(30)),
                         .nics = static_cast<std::uint32_t>(1 + random.below(3)),
                         .nic = {1e9}};
    if (random.below(2) == 0) {
      network.tree = FatTree{static_cast<std::uint32_t>(1 + random.below(8)),
                             static_cast<std::uint32_t>(1 + random.below(4)),
                             {2e9}};
    } else if (random.below(2) == 0) {
      network.backplane = BytesPerSecond{3e9};
    }
    std::set<std::string> known;
    for (NetworkLink link = 0; link < network.links(); ++link) {
      EXPECT_TRUE(known.insert(network.name(link)).second) << network.name(link);
      EXPECT_GT(network.bandwidth(link).value, 0);
    }
    for (std::uint32_t from = 0; from < network.hosts; ++from) {
      for (std::uint32_t to = 0; to < network.hosts; ++to) {
        const NetworkRoute route = network.route(from, to);
        for (const NetworkLink link : route.links()) ASSERT_LT(link, network.links());
        if (from == to) {
          EXPECT_EQ(route.count, 0U);
        } else {
          EXPECT_THAT(network.name(route.links().front()),
                      StartsWith("host " + std::to_string(from) + " "));
          EXPECT_THAT(network.name(route.links().back()),
                      StartsWith("host " + std::to_string(to) + " "));
        }
      }
    }
  });
}

// --- Round trips ----------------------------------------------------------------------------------

TEST(ClusterText, IsReadAsItWasWritten) {
  for_each_seed(60, [](base::Random& random, std::uint64_t /*seed*/) {
    ClusterText written;
    NetworkModel& network = written.network;
    const auto draw = [&](std::uint64_t below) {
      return static_cast<std::uint32_t>(1 + random.below(below));
    };
    const auto time = [&] {
      return Time{static_cast<std::int64_t>(random.below(3) * random.below(100'000))};
    };
    network.hosts = draw(1000);
    network.nics = draw(4);
    network.nic = {random.below(2) == 0 ? 1e9 * draw(100) : 1e3 + 1e10 * random.uniform()};
    network.latency = time();
    network.hop_latency = time();
    network.send_overhead = time();
    network.receive_overhead = time();
    if (random.below(2) == 0) {
      network.tree = FatTree{draw(40), draw(10), {1e6 + 1e12 * random.uniform()}};
    } else if (random.below(2) == 0) {
      network.backplane = BytesPerSecond{1e3 + 1e14 * random.uniform()};
    }
    const std::string table = cluster_table(written);
    SCOPED_TRACE(table);
    EXPECT_EQ(cluster(table).network, network);
  });
}

TEST(ClusterText, WritesTheMachineThatItNames) {
  ClusterText written;
  written.machine = "v100";
  written.network = {.hosts = 3, .nic = {12.5e9}};
  EXPECT_EQ(cluster_table(written),
            "[cluster]\nmachine = \"v100\"\nhosts = 3\nnic = \"12.5 GB/s\"\n");
}

// --- Refusals -------------------------------------------------------------------------------------

TEST(ClusterText, RefusalsNameTheKeyAndTheRemedy) {
  EXPECT_THAT(refused("hosts = 4", "", kFlat), HasSubstr("[cluster]: lacks the key \"hosts\""));
  EXPECT_THAT(refused("hosts = 4", "hosts = 0", kFlat),
              AllOf(StartsWith("m.toml:6: hosts of [cluster]"), HasSubstr("from 1 to 100000")));
  EXPECT_THAT(refused("hosts", "host", kFlat), HasSubstr("did you mean \"hosts\"?"));
  EXPECT_THAT(refused("10 GB/s", "10 Gb/s", kFlat), HasSubstr("nic of [cluster]"));
  EXPECT_THAT(
      refused("spines = 2", "", "[cluster]\nhosts = 4\nnic = 1e9\nspines = 2\nuplink = 1e9\n"),
      HasSubstr("uplink of [cluster]: is of a fat tree: write hosts_per_leaf"));
  EXPECT_THAT(refused("uplink = \"25 GB/s\"", "", kTree),
              AllOf(HasSubstr("\"uplink\""), HasSubstr("\"oversubscription\"")));
  EXPECT_THAT(refused("uplink", "oversubscription = 2\nuplink", kTree), HasSubstr("needs either"));
  EXPECT_THAT(refused("uplink = \"25 GB/s\"", "oversubscription = 0", kTree),
              HasSubstr("expected a number from 0.01 to 1000"));
  EXPECT_THAT(refused("uplink = \"25 GB/s\"", "oversubscription = \"2\"", kTree),
              HasSubstr("expected a number"));
  EXPECT_THAT(refused("uplink", "backplane = 1e9\nuplink", kTree),
              HasSubstr("leave out hosts_per_leaf"));
  EXPECT_THAT(refused("hosts = 10", "hosts = 100000", kTree), "accepted");
  EXPECT_THAT(refused("nics = 2", "nics = 64\n#", kTree), "accepted");
  EXPECT_THAT(refused("hosts = 10\nnics = 2", "hosts = 100000\nnics = 64", kTree),
              HasSubstr("write fewer hosts or nics"));
}

TEST(ClusterText, AHostIsOneMachineThatIsThere) {
  EXPECT_THAT(refused("hosts = 4", "hosts = 4\nmachine = \"v100\"", kFlat),
              AllOf(HasSubstr("machine of [cluster]"), HasSubstr("\"cpu\" of this file")));
  constexpr std::string_view kHead = "name = \"a\"\nsentence = \"b\"\n";
  const std::string named = std::string(kHead) + std::string(kFlat) + "machine = ";
  EXPECT_THAT(refusal(named + "\"v1000\"\n"),
              AllOf(StartsWith("m.toml:3: machine of [cluster]"), HasSubstr("did you mean")));
  EXPECT_THAT(refusal(named + "\"inti\"\n"), HasSubstr("inti is a cluster itself"));
  EXPECT_THAT(refusal(named + "\"./nowhere.toml\"\n"), HasSubstr("nowhere.toml cannot be read"));
  EXPECT_THAT(refusal(std::string(kHead) + std::string(kFlat)), HasSubstr("no workers"));
  EXPECT_THAT(refusal(named + "\"v100\"\n", {.ranks = 5}), HasSubstr("has 4 hosts, and 5"));
}

std::string machine_refusal(const std::string& name, const MachineChoice& choice) {
  try {
    load_machine(name, choice);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(ClusterText, WhereOneMachineIsWantedAClusterIsRefusedWithAWayToTakeOneHost) {
  EXPECT_THAT(machine_refusal("occigen", {}),
              AllOf(HasSubstr("cluster of 1260 hosts"), HasSubstr("one machine is wanted here"),
                    HasSubstr("--ranks 1")));
  EXPECT_THAT(machine_refusal("occigen", {.ranks = 2}), HasSubstr("one machine is wanted here"));
  EXPECT_EQ(load_machine("occigen", {.ranks = 1}).description.workers.size(), 28U);
  EXPECT_EQ(load_machine_of_option("henri,ranks=1,cpus=3").description.workers.size(), 3U);
  EXPECT_THAT(machine_refusal("v100", {.ranks = 4}), HasSubstr("cluster:ranks=4,machine=v100"));
  EXPECT_EQ(machine_refusal("v100", {.ranks = 1}), "accepted");
}

// --- Generated clusters ---------------------------------------------------------------------------

TEST(GeneratedCluster, HasSoManyHostsOfAShippedMachine) {
  const auto model = load_cluster_of_option("cluster:ranks=64,gpus=4").value();
  EXPECT_EQ(model.network.hosts, 64U);
  EXPECT_EQ(model.network.links(), 128U);
  EXPECT_EQ(model.host.name, "guyot");
  EXPECT_EQ(model.host.description.workers.size(), 4U);
  EXPECT_EQ(model.network.nic.value, 12.5e9);
}

TEST(GeneratedCluster, TakesTheMachineAndTheNetworkThatItIsGiven) {
  const auto model =
      load_cluster(
          "cluster:ranks=9,machine=v100,gpus=2,memory=1GiB,nics=2,nic=25GB/s,latency=3us,"
          "hosts_per_leaf=3,oversubscription=2",
          {.gpus = 1})
          .value();
  EXPECT_EQ(model.host.name, "v100");
  EXPECT_EQ(model.host.description.workers.size(), 1U);  // what is chosen beside it comes first
  EXPECT_EQ(model.host.description.nodes[1].limit, 1_GiB);
  EXPECT_EQ(model.network.nic.value, 25e9);
  EXPECT_EQ(model.network.latency, Time{3000});
  // 3 hosts with 2 NICs, half of which leads up.
  EXPECT_EQ(model.network.tree, (FatTree{3, 1, {75e9}}));
}

TEST(GeneratedCluster, RefusalsNameTheKeyAndTheRemedy) {
  const auto refused = [](const std::string& text) {
    try {
      load_cluster_of_option(text);
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused("cluster:gpus=4"), HasSubstr("write how many hosts there are"));
  EXPECT_THAT(refused("cluster:"), HasSubstr("is no choice"));
  EXPECT_THAT(refused("cluster:rank=4"), HasSubstr("did you mean ranks=?"));
  EXPECT_THAT(refused("cluster:ranks=0"), HasSubstr("ranks"));
  EXPECT_THAT(refused("cluster:ranks=4,nic=12"), HasSubstr("nic: \"12\""));
  EXPECT_THAT(refused("cluster:ranks=4,nic=1B/s"), HasSubstr("1 kB/s"));
  EXPECT_THAT(refused("cluster:ranks=4,latency=-1s"), HasSubstr("latency"));
  EXPECT_THAT(refused("cluster:ranks=4,oversubscription=2"), HasSubstr("hosts_per_leaf=32"));
  EXPECT_THAT(refused("cluster:ranks=100000,nics=64"), HasSubstr("fewer ranks or nics"));
  EXPECT_THAT(refused("cluster:ranks=4,gpus=9"), HasSubstr("at most 8 GPUs"));
  EXPECT_THAT(refused("cluster:ranks=4,machine=inti"), HasSubstr("is a cluster itself"));
  EXPECT_THAT(machine_refusal("cluster:ranks=4,gpus=2", {}),
              HasSubstr("one machine is wanted here"));
  EXPECT_EQ(machine_refusal("cluster:ranks=1,gpus=2", {}), "accepted");
}

}  // namespace
}  // namespace vicinal::machine
