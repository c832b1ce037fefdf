// Tasks that cores end before any accelerator: those are not for the accelerators.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "graph/task.hpp"
#include "sched/policy.hpp"

namespace vicinal::sched::placement {

// A core, with what must come to RAM first, ends the task before the fastest accelerator would that had all of it
// already. Our own: PaRSEC's cores run what no accelerator can run, and nothing else; where cores are faster that takes 14
// to 29 times a HEFT. False where times are not known.
inline bool cores_end_first(const graph::Task& task, const PolicyContext& context) {
  std::int64_t core = 0;
  std::int64_t accelerator = std::numeric_limits<std::int64_t>::max();
  for (const WorkerDescription& worker : context.machine().workers) {
    const bool in_ram = worker.node == kRam;
    if ((in_ram && core > 0) || !context.can_run(task, worker.id)) continue;
    const std::int64_t ns = context.run_time(task, worker.id).ns;
    if (ns <= 0) return false;
    if (in_ram) {
      core = ns;
    } else {
      accelerator = std::min(accelerator, ns);
    }
  }
  if (core == 0 || core >= accelerator) return false;
  for (const graph::Access& access : task.accesses()) {
    if (reads(access.mode)) core += context.transfer_time(*access.handle, kRam).ns;
  }
  return core < accelerator;
}

}  // namespace vicinal::sched::placement
