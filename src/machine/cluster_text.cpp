#include "machine/cluster_text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "machine/toml_reader.hpp"

namespace vicinal::machine {
namespace {

constexpr std::uint64_t kMostLinks = 1 << 20;

void refuse_without_leaves(const TomlTable& table) {
  for (const std::string_view key : {"spines", "uplink", "oversubscription"}) {
    if (table.has(key)) {
      table.value(key).refuse(
          "is of a fat tree: write hosts_per_leaf, how many hosts hang on each leaf switch");
    }
  }
}

BytesPerSecond read_uplink(const TomlTable& table, const NetworkModel& network) {
  if (table.has("uplink") == table.has("oversubscription")) {
    table.refuse(
        "needs either \"uplink\", the bandwidth from a leaf to a spine, or \"oversubscription\", "
        "as in 2.0");
  }
  if (table.has("uplink")) return table.value("uplink").bandwidth();
  return uplink_of_leaf(network, table.value("oversubscription").number(0.01, 1000));
}

void read_switches(const TomlTable& table, NetworkModel& network) {
  if (!table.has("hosts_per_leaf")) {
    refuse_without_leaves(table);
    if (const auto backplane = table.find("backplane")) network.backplane = backplane->bandwidth();
    return;
  }
  if (table.has("backplane")) {
    table.value("backplane").refuse("is of one switch for all hosts: leave out hosts_per_leaf");
  }
  FatTree& tree = network.tree.emplace();
  tree.hosts_per_leaf = table.value("hosts_per_leaf").count(1, kMostHosts);
  if (const auto spines = table.find("spines")) tree.spines = spines->count(1, kMostSpines);
  tree.uplink = read_uplink(table, network);
}

void refuse_too_many_links(const TomlTable& table, const NetworkModel& network) {
  const std::uint64_t of_nics = std::uint64_t{2} * network.hosts * network.nics;
  const std::uint64_t of_tree =
      network.tree ? std::uint64_t{2} * network.leaves() * network.tree->spines : 0;
  if (std::max(of_nics, of_tree) <= kMostLinks) return;
  table.refuse(fmt::format(
      "{} links of NICs and {} between switches are more than {} of each: write fewer {}", of_nics,
      of_tree, kMostLinks,
      of_nics > kMostLinks ? "hosts or nics" : "spines, or more hosts_per_leaf"));
}

// In the greatest unit that says it exactly.
std::string bandwidth_text(BytesPerSecond bandwidth) {
  constexpr std::array<std::pair<double, const char*>, 3> kUnits{
      {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}}};
  for (const auto& [factor, unit] : kUnits) {
    const double count = bandwidth.value / factor;
    if (count >= 1 && count * factor == bandwidth.value)
      return fmt::format("\"{} {}\"", count, unit);
  }
  return fmt::format("\"{} B/s\"", bandwidth.value);
}

std::string time_text(Time time) {
  return time.ns % 1000 == 0 ? fmt::format("\"{} us\"", time.ns / 1000)
                             : fmt::format("\"{} ns\"", time.ns);
}

}  // namespace

BytesPerSecond uplink_of_leaf(const NetworkModel& network, double oversubscription) {
  const double all = network.nic.value * network.nics * network.tree->hosts_per_leaf;
  return {all / oversubscription / network.tree->spines};
}

ClusterText read_cluster(const TomlTable& table) {
  table.allow({"machine", "hosts", "nics", "nic", "latency", "hop_latency", "send_overhead",
               "receive_overhead", "backplane", "hosts_per_leaf", "spines", "uplink",
               "oversubscription"});
  ClusterText cluster;
  cluster.line = table.line();
  if (const auto machine = table.find("machine")) cluster.machine = machine->text();
  NetworkModel& network = cluster.network;
  network.hosts = table.value("hosts").count(1, kMostHosts);
  if (const auto nics = table.find("nics")) network.nics = nics->count(1, kMostNics);
  network.nic = table.value("nic").bandwidth();
  network.latency = table.time_or_zero("latency");
  network.hop_latency = table.time_or_zero("hop_latency");
  network.send_overhead = table.time_or_zero("send_overhead");
  network.receive_overhead = table.time_or_zero("receive_overhead");
  read_switches(table, network);
  refuse_too_many_links(table, network);
  return cluster;
}

std::string cluster_table(const ClusterText& cluster) {
  const NetworkModel& network = cluster.network;
  std::string text = "[cluster]\n";
  const auto line = [&](std::string_view key, const auto& value) {
    text += fmt::format("{} = {}\n", key, value);
  };
  const auto time = [&](std::string_view key, Time value) {
    if (value.ns > 0) line(key, time_text(value));
  };
  if (!cluster.machine.empty()) line("machine", fmt::format("\"{}\"", cluster.machine));
  line("hosts", network.hosts);
  if (network.nics > 1) line("nics", network.nics);
  line("nic", bandwidth_text(network.nic));
  time("latency", network.latency);
  time("hop_latency", network.hop_latency);
  time("send_overhead", network.send_overhead);
  time("receive_overhead", network.receive_overhead);
  if (network.backplane) line("backplane", bandwidth_text(*network.backplane));
  if (!network.tree) return text;
  line("hosts_per_leaf", network.tree->hosts_per_leaf);
  if (network.tree->spines > 1) line("spines", network.tree->spines);
  line("uplink", bandwidth_text(network.tree->uplink));
  return text;
}

}  // namespace vicinal::machine
