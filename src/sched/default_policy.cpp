#include "sched/default_policy.hpp"

#include <algorithm>

namespace vicinal::sched {

namespace {

struct Machinery {
  bool limited = false;  // memory
  bool accelerators = false;
  bool cores = true;
  bool others_rules = false;
  bool plan = false;  // that is followed
};

DefaultPolicy choose(const Machinery& has) {
  if (has.plan) return {"horizon", "a plan is followed"};
  if (has.others_rules) return {"dmdas", "another runtime's rules for a full memory are asked for"};
  if (has.accelerators && has.cores) return {"darts", "there are accelerators beside cores"};
  if (has.accelerators) return {"horizon", "there are accelerators"};
  if (has.limited) return {"horizon", "memory is limited"};
  return {"lws", "equal cores, memory without a limit"};
}

Machinery machinery_of(const Options& options) {
  const bool accelerators =
      options.accelerators + options.cuda_devices + options.opencl_devices > 0;
  return {.limited = options.memory.has_value(),
          .accelerators = accelerators || !options.devices.empty()};
}

Machinery machinery_of(const MachineDescription& machine) {
  const auto is_core = [](const WorkerDescription& worker) { return worker.node == kRam; };
  return {.limited = machine.nodes[kRam.value].limit.has_value(),
          .accelerators = !std::ranges::all_of(machine.workers, is_core),
          .cores = std::ranges::any_of(machine.workers, is_core)};
}

}  // namespace

DefaultPolicy default_policy(const Options& options, const MachineDescription* machine) {
  Machinery has = machine != nullptr ? machinery_of(*machine) : machinery_of(options);
  has.others_rules = !options.memory_rules.empty();
  has.plan = !options.plan.empty();
  return choose(has);
}

}  // namespace vicinal::sched
