// The machine as the runtime sees it: memory nodes, links between them, workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vicinal/codelet.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/units.hpp"

namespace vicinal {

enum class NodeKind : std::uint8_t { ram, disk, device };

struct NodeDescription {
  NodeId id;
  std::string name;  // "ram", "disk", "device0"
  NodeKind kind = NodeKind::ram;
  std::optional<Bytes> limit;  // none: not limited
};

// One direction between two nodes.
struct LinkDescription {
  NodeId from;
  NodeId to;
  BytesPerSecond bandwidth;  // 0: not known
  Time latency;
  std::uint32_t copies_in_flight = 1;  // started and not ended, at most
};

struct WorkerDescription {
  WorkerId id;
  ProcessorKind kind = ProcessorKind::cpu;
  NodeId node;  // where its operands must be
};

struct MachineDescription {
  std::vector<NodeDescription> nodes;  // nodes[i].id == i; nodes[0] is RAM
  std::vector<LinkDescription> links;
  std::vector<WorkerDescription> workers;

  std::optional<NodeId> disk() const {
    for (const auto& node : nodes) {
      if (node.kind == NodeKind::disk) return node.id;
    }
    return std::nullopt;
  }
};

}  // namespace vicinal
