#include "machine/network_model.hpp"

#include <fmt/format.h>

namespace vicinal::machine {

std::uint32_t NetworkModel::leaves() const {
  return tree ? (hosts + tree->hosts_per_leaf - 1) / tree->hosts_per_leaf : 1;
}

std::uint32_t NetworkModel::links() const {
  if (tree) return nic_links() + 2 * leaves() * tree->spines;
  return nic_links() + (backplane ? 1 : 0);
}

BytesPerSecond NetworkModel::bandwidth(NetworkLink link) const {
  if (link < nic_links()) return nic;
  return tree ? tree->uplink : *backplane;
}

std::string NetworkModel::name(NetworkLink link) const {
  const char* const direction = link % 2 == 0 ? "out" : "in";
  if (link < nic_links()) {
    const std::uint32_t host = link / 2 / nics;
    if (nics == 1) return fmt::format("host {} {}", host, direction);
    return fmt::format("host {} NIC {} {}", host, link / 2 % nics, direction);
  }
  if (!tree) return "backplane";
  const std::uint32_t pair = (link - nic_links()) / 2;
  const std::uint32_t leaf = pair / tree->spines;
  const std::uint32_t spine = pair % tree->spines;
  return link % 2 == 0 ? fmt::format("leaf {} to spine {}", leaf, spine)
                       : fmt::format("spine {} to leaf {}", spine, leaf);
}

NetworkRoute NetworkModel::route(std::uint32_t from, std::uint32_t to) const {
  NetworkRoute route;
  if (from == to) return route;
  const auto pass = [&](NetworkLink link) { route.passed[route.count++] = link; };
  const std::uint32_t number = (from + to) % nics;
  pass(nic_link(from, number, false));
  if (!tree) {
    if (backplane) pass(nic_links());
  } else if (from / tree->hosts_per_leaf != to / tree->hosts_per_leaf) {
    const std::uint32_t spine = to % tree->spines;
    pass(tree_link(from / tree->hosts_per_leaf, spine, false));
    pass(tree_link(to / tree->hosts_per_leaf, spine, true));
  }
  pass(nic_link(to, number, true));
  return route;
}

std::uint32_t NetworkModel::switches_between(std::uint32_t from, std::uint32_t to) const {
  if (from == to) return 0;
  return tree && from / tree->hosts_per_leaf != to / tree->hosts_per_leaf ? 3 : 1;
}

Time NetworkModel::latency_between(std::uint32_t from, std::uint32_t to) const {
  if (from == to) return {};
  return {latency.ns + hop_latency.ns * switches_between(from, to)};
}

}  // namespace vicinal::machine
