// The text of the option `machine`: a name, and what is to be other than the machine says.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/text.hpp"
#include "machine/cluster_text.hpp"
#include "machine/machine_model.hpp"
#include "machine/machine_text.hpp"
#include "machine/quantity.hpp"
#include "vicinal/error.hpp"

namespace vicinal::machine {

namespace {

constexpr std::array<std::string_view, 7> kChoices{
    "gpus", "cpus", "cuda_devices", "opencl_devices", "memory", "ram", "ranks"};
// Of generated clusters, beside these.
constexpr std::array<std::string_view, 13> kOfClusters{
    "gpus", "cpus", "cuda_devices", "opencl_devices", "memory",          "ram", "ranks", "machine",
    "nic",  "nics", "latency",      "hosts_per_leaf", "oversubscription"};

std::string meant(std::string_view name, std::span<const std::string_view> names) {
  const std::string_view near = base::nearest(name, names);
  return near.empty() ? "" : fmt::format(", did you mean {}=?", near);
}

void read_choice(MachineChoice& choice, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view name = text.substr(0, equals);
  try {
    if (equals != std::string_view::npos && choose(choice, name, text.substr(equals + 1))) return;
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("option machine: {}: {}", name, error.what()));
  }
  throw UsageError(fmt::format(
      "option machine: \"{}\" is no choice{}; write gpus=2, cpus=4, memory=1GiB (of each GPU) or "
      "ram=8GiB, with commas behind the name of the machine",
      text, meant(name, kChoices)));
}

// Calls with each part between the commas of `text`.
void for_each_part(std::string_view text, const std::function<void(std::string_view)>& part) {
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    part(text.substr(at, comma - at));
    at = comma + 1;
  }
}

}  // namespace

bool choose(MachineChoice& choice, std::string_view name, std::string_view value) {
  const auto count = [&](std::uint32_t least, std::uint32_t most) {
    return static_cast<std::uint32_t>(base::parse_count(value, least, most));
  };
  if (name == "gpus") {
    choice.gpus = count(0, kMostGpus);
  } else if (name == "cpus") {
    choice.cpu_workers = count(0, kMostCpuWorkers);
  } else if (name == "cuda_devices") {
    choice.cuda_devices = count(0, kMostGpus);
  } else if (name == "opencl_devices") {
    choice.opencl_devices = count(0, kMostGpus);
  } else if (name == "memory") {
    choice.gpu_memory = base::parse_bytes(value);
  } else if (name == "ram") {
    choice.ram = base::parse_bytes(value);
  } else if (name == "ranks") {
    choice.ranks = count(1, kMostHosts);
  } else {
    return false;
  }
  return true;
}

// --- Generated clusters ---------------------------------------------------------------------------

namespace {

// What the text says of the network. False: the name is none of these.
bool set_network(ClusterText& cluster, std::string_view name, std::string_view value,
                 double& oversubscription) {
  const auto count = [&](std::uint32_t most) {
    return static_cast<std::uint32_t>(base::parse_count(value, 1, most));
  };
  NetworkModel& network = cluster.network;
  if (name == "machine") {
    cluster.machine = value;
  } else if (name == "nic") {
    network.nic = parse_bandwidth(value);
  } else if (name == "nics") {
    network.nics = count(kMostNics);
  } else if (name == "latency") {
    network.latency = {std::llround(parse_seconds(value) * 1e9)};
  } else if (name == "hosts_per_leaf") {
    network.tree.emplace().hosts_per_leaf = count(kMostHosts);
  } else if (name == "oversubscription") {
    oversubscription = static_cast<double>(count(1000));
  } else {
    return false;
  }
  return true;
}

void check_network(const NetworkModel& network, bool has_oversubscription) {
  // As those of a machine file.
  if (!(network.nic.value >= 1e3 && network.nic.value <= 1e15)) {
    throw UsageError("nic: expected 1 kB/s to 1000 TB/s");
  }
  if (!(network.latency.ns >= 0 && network.latency.ns <= 86'400'000'000'000)) {
    throw UsageError("latency: expected 0 to 86400 s");
  }
  if (has_oversubscription && !network.tree) {
    throw UsageError("oversubscription is of a fat tree: write hosts_per_leaf=32, too");
  }
  if (std::uint64_t{network.hosts} * network.nics > (1U << 19U)) {
    throw UsageError("there are more than 524288 NICs: write fewer ranks or nics");
  }
}

}  // namespace

ClusterText generated_cluster(std::string_view text) {
  ClusterText cluster;
  // Either kind of worker, and up to eight GPUs. The network: EDR InfiniBand of 100 Gb/s with the times of machines/henri.toml.
  cluster.machine = "guyot";
  cluster.network.nic = {12.5e9};
  cluster.network.latency = {700};
  cluster.network.hop_latency = {100};
  cluster.network.send_overhead = {500};
  cluster.network.receive_overhead = {500};
  double oversubscription = 0;
  const auto refuse = [&](std::string_view why) {
    throw UsageError(fmt::format("{}: {}", text, why));
  };
  for_each_part(text.substr(kGenerated.size()), [&](std::string_view part) {
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string_view name = part.substr(0, equals);
    const std::string_view value = part.substr(std::min(equals + 1, part.size()));
    try {
      if (choose(cluster.choice, name, value)) return;
      if (set_network(cluster, name, value, oversubscription)) return;
    } catch (const UsageError& error) {
      refuse(fmt::format("{}: {}", name, error.what()));
    }
    refuse(fmt::format("\"{}\" is no choice{}; write cluster:ranks=64,gpus=4 or others of {}", part,
                       meant(name, kOfClusters), fmt::join(kOfClusters, ", ")));
  });
  if (!cluster.choice.ranks)
    refuse("write how many hosts there are, as in cluster:ranks=64,gpus=4");
  cluster.network.hosts = *cluster.choice.ranks;
  cluster.choice.ranks.reset();
  try {
    check_network(cluster.network, oversubscription > 0);
  } catch (const UsageError& error) {
    refuse(error.what());
  }
  if (cluster.network.tree) {
    cluster.network.tree->uplink = uplink_of_leaf(cluster.network, std::max(oversubscription, 1.0));
  }
  return cluster;
}

// --- The option -----------------------------------------------------------------------------------

namespace {

// The name of the machine; the rest goes to `choice`.
std::string read_option(const std::string& text, MachineChoice& choice) {
  if (text.starts_with(kGenerated)) return text;
  const std::size_t comma = std::min(text.find(','), text.size());
  if (comma < text.size()) {
    for_each_part(std::string_view(text).substr(comma + 1),
                  [&](std::string_view part) { read_choice(choice, part); });
  }
  return text.substr(0, comma);
}

template <typename Load>
auto load_option(const std::string& text, Load load) {
  MachineChoice choice;
  const std::string name = read_option(text, choice);
  try {
    return load(name, choice);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("option machine: {}", error.what()));
  }
}

}  // namespace

MachineModel load_machine_of_option(const std::string& text) {
  return load_option(text, load_machine);
}

std::optional<ClusterModel> load_cluster_of_option(const std::string& text) {
  return load_option(text, load_cluster);
}

}  // namespace vicinal::machine
