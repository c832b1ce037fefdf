#include "engine/node_workers.hpp"

#include <cstddef>

namespace vicinal::engine {

std::vector<NodeWorkers> workers_by_node(const MachineDescription& machine, bool moves_tasks) {
  std::vector<NodeWorkers> nodes(machine.nodes.size());
  for (const WorkerDescription& worker : machine.workers) {
    NodeWorkers& node = nodes[worker.node.value];
    if (node.ids.empty()) node.kind = worker.kind;
    node.ids.push_back(worker.id);
    node.alike &= worker.kind == node.kind;
  }
  const auto has_peers = [](const NodeWorkers& node) { return !node.ids.empty() && node.alike; };
  if (!moves_tasks) return nodes;
  for (NodeWorkers& node : nodes) {
    if (!has_peers(node)) continue;
    for (std::size_t other = 0; other < nodes.size(); ++other) {
      if (&nodes[other] == &node || !has_peers(nodes[other])) continue;
      if (nodes[other].kind == node.kind) {
        node.peers.push_back(NodeId{static_cast<std::uint32_t>(other)});
      }
    }
  }
  return nodes;
}

}  // namespace vicinal::engine
