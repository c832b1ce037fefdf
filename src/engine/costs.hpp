// What tasks and copies are expected to take.
#pragma once

#include "graph/handle.hpp"
#include "graph/task.hpp"
#include "machine/performance_model.hpp"
#include "memory/residency.hpp"
#include "vicinal/ids.hpp"
#include "vicinal/machine.hpp"
#include "vicinal/units.hpp"

namespace vicinal::engine {

class Costs {
 public:
  // `models`: null where nothing is learned from runs. All outlive it.
  Costs(const MachineDescription& machine, const memory::Residency& residency,
        machine::PerformanceModel* models)
      : machine_(machine), residency_(residency), models_(models) {}

  // See sched::PolicyContext for these three.
  Time run_time(const graph::Task& task, WorkerId worker) const;
  Time transfer_time(const graph::Handle& handle, NodeId node) const;
  Bytes missing_bytes(const graph::Task& task, NodeId node) const;
  // Of all that the task reads and that is not there, one after the other, alone on the links.
  Time copy_time(const graph::Task& task, NodeId node) const;

 private:
  const MachineDescription& machine_;
  const memory::Residency& residency_;
  machine::PerformanceModel* const models_;
};

}  // namespace vicinal::engine
