#include "sched/automatic.hpp"

#include <algorithm>

namespace vicinal::sched {

namespace {

Automatic choose(bool limited, bool accelerators, bool others_rules) {
  if (others_rules) return {"dmdas", "another runtime's rules for a full memory are asked for"};
  if (accelerators) return {"darts", "there are accelerators"};
  if (limited) return {"darts", "memory is limited"};
  return {"lws", "equal cores, memory without a limit"};
}

}  // namespace

Automatic automatic_policy(const MachineDescription& machine, std::string_view memory_rules) {
  const bool accelerators = std::ranges::any_of(
      machine.workers, [](const WorkerDescription& worker) { return worker.node != kRam; });
  return choose(machine.nodes[kRam.value].limit.has_value(), accelerators, !memory_rules.empty());
}

Automatic automatic_policy(const Options& options) {
  const bool accelerators =
      options.accelerators + options.cuda_devices + options.opencl_devices > 0;
  return choose(options.memory.has_value(), accelerators || !options.devices.empty(),
                !options.memory_rules.empty());
}

}  // namespace vicinal::sched
