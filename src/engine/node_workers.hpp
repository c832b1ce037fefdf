// The workers of one memory node.
#pragma once

#include <vector>

#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::engine {

struct NodeWorkers {
  std::vector<WorkerId> ids;  // none: nothing runs there
  ProcessorKind kind = ProcessorKind::cpu;
  bool alike = true;  // all workers are of one kind: each can run every task that is not bound
  // Other nodes whose workers are all of this kind: tasks may move between them. None if the policy moves none.
  std::vector<NodeId> peers;
};

std::vector<NodeWorkers> workers_by_node(const MachineDescription& machine, bool moves_tasks);

}  // namespace vicinal::engine
