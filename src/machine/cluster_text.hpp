// [cluster] of a machine file: how many hosts there are, what each is, and the network between them.
// docs/machine-file.md describes the keys.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "machine/network_model.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::machine {

class TomlTable;

inline constexpr std::uint32_t kMostHosts = 100'000;
inline constexpr std::uint32_t kMostNics = 64;
inline constexpr std::uint32_t kMostSpines = 4096;

struct ClusterText {
  std::uint32_t line = 0;
  std::string machine = {};   // that each host is; empty: what the rest of the file describes
  MachineChoice choice = {};  // of it, from the text of a generated cluster
  NetworkModel network = {};
};

// Throws UsageError that names file, line and key.
ClusterText read_cluster(const TomlTable& table);
// Of a network with a tree: what all hosts of a leaf can send is so many times what its uplinks take together.
BytesPerSecond uplink_of_leaf(const NetworkModel& network, double oversubscription);
// The table as read_cluster() reads it; `machine` is left out if it is empty.
std::string cluster_table(const ClusterText& cluster);

// "cluster:ranks=64,gpus=4": 64 hosts on one switch, each one of the shipped machines, but for what the text says.
inline constexpr std::string_view kGenerated = "cluster:";
// Throws UsageError that names the key and what to write.
ClusterText generated_cluster(std::string_view text);

// One of "gpus=2", "memory=1GiB", ...: what is to be other than a machine says. False: the name is none of these.
// Throws UsageError for a value that cannot be.
bool choose(MachineChoice& choice, std::string_view name, std::string_view value);

}  // namespace vicinal::machine
