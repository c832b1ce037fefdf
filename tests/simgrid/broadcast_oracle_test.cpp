// Simulated broadcasts take as long as SMPI, SimGrid's MPI, says of a program that sends the same messages.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "comm/broadcast_trees.hpp"
#include "comm/deliveries.hpp"
#include "comm/messages.hpp"
#include "machine/machine_model.hpp"
#include "simgrid/smpi_broadcasts.hpp"
#include "vicinal/runtime.hpp"
#include "vicinal/simulated_cluster.hpp"

namespace vicinal::testing {
namespace {

constexpr double kTolerance = 0.005;

struct Broadcast {
  const char* tree;
  Bytes bytes;
};
// When content has come to each rank but the root, in ns after the root has begun.
using Arrivals = std::vector<double>;

// Hosts whose tasks take their time and nothing else.
machine::ClusterModel cluster_of(std::uint32_t ranks) {
  machine::ClusterModel cluster =
      machine::load_cluster(fmt::format("cluster:ranks={},gpus=0,cpus=1", ranks), {}).value();
  MachineDescription& host = cluster.host.description;
  host.submit_overhead = {};
  for (auto& worker : host.workers) worker.task_overhead = {};
  return cluster;
}

// --- ours

Codelet codelet(const char* name, Time time) {
  Codelet made{.name = name};
  made.expected.fill(time);
  return made;
}
constexpr Time kRead{1};

// Rank 0 writes, all others read.
Arrivals simulated(const machine::ClusterModel& model, const Broadcast& broadcast) {
  const Codelet write = codelet("write", Time{1000});
  const Codelet read = codelet("read", kRead);
  const SimulatedCluster cluster(model, 0, broadcast.tree);
  std::vector<Time> ends(cluster.count());  // of each rank's task
  std::deque<Runtime> ranks;
  for (std::uint32_t r = 0; r < cluster.count(); ++r) {
    ranks.emplace_back(cluster.host(), Options{.policy = "lws"}, cluster.world(),
                       cluster.rank(RankId{r}));
  }
  const auto end_on = [&](std::uint32_t rank) {
    return [&, rank](Outcome) { ends[rank] = cluster.world().now(); };
  };
  for (Runtime& runtime : ranks) {
    const Handle x = runtime.register_empty(RankId{0}, broadcast.bytes, "x");
    runtime.submit({.codelet = &write, .operands = {W(x)}, .on_end = end_on(0)});
    for (std::uint32_t r = 1; r < cluster.count(); ++r) {
      const Handle seen = runtime.register_empty(RankId{r}, Bytes{8}, "seen");
      runtime.submit({.codelet = &read, .operands = {W(seen), R(x)}, .on_end = end_on(r)});
    }
  }
  for (Runtime& runtime : ranks) runtime.wait();
  Arrivals arrivals;
  for (std::uint32_t r = 1; r < cluster.count(); ++r)
    arrivals.push_back(static_cast<double>((ends[r] - kRead - ends[0]).ns));
  return arrivals;
}

// --- SMPI's

// "from to below", parents first, as broadcast.c reads them.
void add_edges(std::vector<std::string>& edges, const comm::Tree& tree, std::uint32_t from,
               const std::vector<std::uint32_t>& list) {
  for (const comm::Branch& branch : comm::branches(tree, list.size())) {
    const std::uint32_t to = list[branch.head];
    edges.push_back(fmt::format("{} {} {}\n", from, to, branch.count));
    const auto first = list.begin() + static_cast<std::ptrdiff_t>(branch.head) + 1;
    add_edges(edges, comm::below(tree), to,
              {first, first + static_cast<std::ptrdiff_t>(branch.count)});
  }
}

// In several trees if there are more recipients than a message can name.
std::string text_of(const machine::NetworkModel& network, const Broadcast& broadcast) {
  const comm::Tree tree = comm::tree_of_option(broadcast.tree).value();
  const std::uint32_t recipients = network.hosts - 1;
  const comm::LinkCost cost{.overhead = network.send_overhead + network.receive_overhead,
                            .latency = network.latency_between(0, 1),
                            .bytes_per_second = network.nic.value};
  const comm::Route route = comm::route_along(tree, recipients, broadcast.bytes, cost);
  std::vector<std::string> edges;
  for (std::uint32_t first = 1; first <= recipients; first += comm::kMostRecipients) {
    const std::size_t count = std::min<std::size_t>(network.hosts - first, comm::kMostRecipients);
    std::vector<std::uint32_t> list;
    const std::vector<Time> at = comm::arrivals(route, count, broadcast.bytes, cost);
    for (const std::size_t number : comm::places_by_priority(at, std::vector<int>(count)))
      list.push_back(first + static_cast<std::uint32_t>(number));
    add_edges(edges, tree, 0, list);
  }
  return fmt::format("broadcast {} {} {}\n{}", broadcast.bytes.value, route.segment, edges.size(),
                     fmt::join(edges, ""));
}

std::vector<Arrivals> by_smpi(const machine::NetworkModel& network,
                              const std::vector<Broadcast>& broadcasts) {
  const comm::DeliveryRules rules;
  std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {} {}\n", sizeof(comm::MessageHeader), sizeof(comm::TreeHeader),
      sizeof(comm::Recipient), sizeof(comm::Channel::value), comm::kMostContentInMessage,
      rules.most_sends, rules.most_sent_at_once, network.send_overhead.ns,
      network.receive_overhead.ns, network.latency_between(0, 1).ns);
  for (const Broadcast& broadcast : broadcasts) text += text_of(network, broadcast);
  std::vector<Arrivals> all = simgrid::broadcast_arrivals(network, text);
  if (all.size() != broadcasts.size()) throw std::runtime_error("SMPI: broadcasts are missing");
  return all;
}

// --- both

class BroadcastOracle : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  static void compare(const machine::ClusterModel& cluster,
                      const std::vector<std::uint64_t>& sizes_in_kib) {
    std::vector<Broadcast> broadcasts;
    for (const char* const tree : {"flat", "chain", "binary", "binomial"}) {
      for (const std::uint64_t kib : sizes_in_kib) broadcasts.push_back({tree, Bytes{kib << 10}});
    }
    const std::vector<Arrivals> theirs = by_smpi(cluster.network, broadcasts);
    fmt::print("{:>10}{:>10}{:>10}{:>16}{:>16}{:>12}{:>22}\n", "ranks", "tree", "KiB",
               "Vicinal, us", "SMPI, us", "ratio", "any rank, at most");
    for (std::size_t b = 0; b < broadcasts.size(); ++b)
      compare(broadcasts[b], simulated(cluster, broadcasts[b]), theirs[b]);
  }

 private:
  // Which of the ranks comes first to which content comes at the same time is left open.
  static void compare(const Broadcast& broadcast, Arrivals ours, Arrivals theirs) {
    ASSERT_EQ(ours.size(), theirs.size());
    std::ranges::sort(ours);
    std::ranges::sort(theirs);
    double most = 0;
    for (std::size_t r = 0; r < ours.size(); ++r)
      most = std::max(most, std::abs(ours[r] / theirs[r] - 1));
    fmt::print("{:>10}{:>10}{:>10}{:>16.3f}{:>16.3f}{:>12.5f}{:>20.4f} %\n", ours.size() + 1,
               broadcast.tree, broadcast.bytes.value >> 10, ours.back() / 1e3, theirs.back() / 1e3,
               ours.back() / theirs.back(), 100 * most);
    EXPECT_LE(most, kTolerance) << broadcast.tree << ", " << broadcast.bytes.value << " bytes";
  }
};

TEST_P(BroadcastOracle, ContentComesAtTheSameTimes) {
  machine::ClusterModel cluster = cluster_of(GetParam());
  cluster.network.send_overhead = {};
  cluster.network.receive_overhead = {};
  compare(cluster, {1, 64, 256, 1024, 8192});
}

TEST_P(BroadcastOracle, ContentComesAtTheSameTimesIfEachMessageCostsRanksTime) {
  const machine::ClusterModel cluster = cluster_of(GetParam());
  EXPECT_GT(cluster.network.send_overhead, Time{});
  EXPECT_GT(cluster.network.receive_overhead, Time{});
  compare(cluster, {1, 64, 256, 1024, 8192});
}

INSTANTIATE_TEST_SUITE_P(Ranks, BroadcastOracle, ::testing::Values(8, 32, 100, 200),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace vicinal::testing
