// Where the operands of a task lie: what a driver asks before it runs a kernel. Implemented by the
// engine.
#pragma once

#include "graph/handle.hpp"
#include "vicinal/codelet.hpp"
#include "vicinal/ids.hpp"

namespace vicinal::engine {

class OperandPlaces {
 public:
  virtual ~OperandPlaces() = default;
  // Address and layout of the access's replica on the node, which is pinned there for the task that
  // runs. Called by the worker's thread under no lock, once per operand of every task: it must
  // neither lock nor allocate.
  virtual OperandView view(const graph::Access& access, NodeId node) const = 0;
};

}  // namespace vicinal::engine
