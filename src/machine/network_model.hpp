// The network between the hosts of a cluster: its links, and which of them a message passes. Hosts are alike and have
// numbers from 0; links carry one direction each.
//
// Either all hosts hang on one switch, or on leaves of a fat tree of two levels, each leaf joined to each spine. Routes are fixed: a
// message passes the spine of its destination, host modulo spines, as static routing of fat trees chooses it
// (Zahavi, Johnson, Kerbyson, Lang, "Optimized InfiniBand fat-tree routing for shift all-to-all communication
// patterns", 2010); one spine stands for routing that adapts itself without loss. With several NICs
// for each host a message passes the NIC of number (from + to) modulo NICs at both ends.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "vicinal/units.hpp"

namespace vicinal::machine {

using NetworkLink = std::uint32_t;

struct FatTree {
  std::uint32_t hosts_per_leaf = 1;
  std::uint32_t spines = 1;
  BytesPerSecond uplink;  // from each leaf to each spine, and as much back
  friend bool operator==(const FatTree&, const FatTree&) = default;
};

// The links that a message passes, in their order; none from a host to itself.
struct NetworkRoute {
  std::array<NetworkLink, 4> passed{};
  std::uint32_t count = 0;
  std::span<const NetworkLink> links() const { return {passed.data(), count}; }
};

struct NetworkModel {
  std::uint32_t hosts = 1;
  std::uint32_t nics = 1;      // of each host
  BytesPerSecond nic;          // of each, out and in
  Time latency = {};           // of a message but for the switches
  Time hop_latency = {};       // of each switch that it passes
  Time send_overhead = {};     // time of the sending host for each message, whatever its size
  Time receive_overhead = {};  // and of the receiving one: both are the o of LogP
  std::optional<BytesPerSecond> backplane =
      {};                            // of the one switch, all messages together; none: enough
  std::optional<FatTree> tree = {};  // none: one switch

  std::uint32_t leaves() const;  // 1 without a tree
  std::uint32_t links() const;
  BytesPerSecond bandwidth(NetworkLink link) const;
  std::string name(NetworkLink link) const;  // "host 3 out", "leaf 0 to spine 1"
  // Both hosts are less than `hosts`.
  NetworkRoute route(std::uint32_t from, std::uint32_t to) const;
  // Before the first byte, overheads apart.
  Time latency_between(std::uint32_t from, std::uint32_t to) const;
  friend bool operator==(const NetworkModel&, const NetworkModel&) = default;

 private:
  std::uint32_t switches_between(std::uint32_t from, std::uint32_t to) const;
  NetworkLink nic_link(std::uint32_t host, std::uint32_t number, bool in) const {
    return 2 * (host * nics + number) + (in ? 1 : 0);
  }
  NetworkLink nic_links() const { return 2 * hosts * nics; }
  NetworkLink tree_link(std::uint32_t leaf, std::uint32_t spine, bool down) const {
    return nic_links() + 2 * (leaf * tree->spines + spine) + (down ? 1 : 0);
  }
};

}  // namespace vicinal::machine
