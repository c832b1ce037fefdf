#include "sched/automatic.hpp"

#include <algorithm>

namespace vicinal::sched {

namespace {

struct Machinery {
  bool limited = false;  // memory
  bool accelerators = false;
  bool cores = true;
  bool others_rules = false;
};

Automatic choose(const Machinery& has) {
  if (has.others_rules) return {"dmdas", "another runtime's rules for a full memory are asked for"};
  if (has.accelerators && has.cores) return {"darts", "there are accelerators beside cores"};
  if (has.accelerators) return {"horizon", "there are accelerators"};
  if (has.limited) return {"horizon", "memory is limited"};
  return {"lws", "equal cores, memory without a limit"};
}

}  // namespace

Automatic automatic_policy(const MachineDescription& machine, std::string_view memory_rules) {
  const auto is_core = [](const WorkerDescription& worker) { return worker.node == kRam; };
  const bool accelerators = !std::ranges::all_of(machine.workers, is_core);
  return choose({.limited = machine.nodes[kRam.value].limit.has_value(),
                 .accelerators = accelerators,
                 .cores = std::ranges::any_of(machine.workers, is_core),
                 .others_rules = !memory_rules.empty()});
}

Automatic automatic_policy(const Options& options) {
  const bool accelerators =
      options.accelerators + options.cuda_devices + options.opencl_devices > 0;
  return choose({.limited = options.memory.has_value(),
                 .accelerators = accelerators || !options.devices.empty(),
                 .others_rules = !options.memory_rules.empty()});
}

}  // namespace vicinal::sched
