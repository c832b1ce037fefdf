// Machines to simulate, as values.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "vicinal/machine.hpp"

namespace vicinal::testing {

// Each direction of what joins two nodes.
struct Wire {
  BytesPerSecond bandwidth{1e9};
  Time latency{};
  std::uint32_t copies_in_flight = 1;
};

inline void join(MachineDescription& machine, NodeId a, NodeId b, const Wire& wire = {}) {
  machine.links.push_back({a, b, wire.bandwidth, wire.latency, wire.copies_in_flight});
  machine.links.push_back({b, a, wire.bandwidth, wire.latency, wire.copies_in_flight});
}

// RAM comes first, and is joined with every other node.
inline MachineDescription around_ram(std::vector<NodeDescription> nodes,
                                     std::vector<WorkerDescription> workers,
                                     const Wire& wire = {}) {
  MachineDescription machine;
  machine.nodes = std::move(nodes);
  machine.workers = std::move(workers);
  for (std::size_t n = 1; n < machine.nodes.size(); ++n) {
    join(machine, machine.nodes[0].id, machine.nodes[n].id, wire);
  }
  return machine;
}

}  // namespace vicinal::testing
