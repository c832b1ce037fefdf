// The memories of nodes as the planner of horizon counts on them: room, links, and the bridges that links share.
#pragma once

#include <span>
#include <vector>

#include "sched/nodes.hpp"
#include "sched/orders/horizon/memories.hpp"

namespace vicinal::sched::packaged {

// Its limit; without one more than there can be.
Bytes memory_of(const MachineDescription& machine, NodeId node);

// The first worker of the node.
const WorkerDescription& worker_of(const Nodes& nodes, NodeIndex node);

// Of the nodes, which are alike or count as the first.
orders::horizon::Memories memories_of(const Nodes& nodes, std::span<const NodeIndex> indices);

// By turns from those that hang on one bridge, so that few memories have as many bridges as they can.
void spread_over_bridges(std::vector<NodeIndex>& indices, const Nodes& nodes);

}  // namespace vicinal::sched::packaged
