// The policy of who names none: the option policy is "default". And of "auto" where nothing can be simulated before the run.
#pragma once

#include <string_view>

#include "vicinal/machine.hpp"
#include "vicinal/options.hpp"

namespace vicinal::sched {

inline constexpr std::string_view kDefault = "default";
// Of commands that know graph and machine: candidates are simulated (play/auto_policy.hpp).
inline constexpr std::string_view kAuto = "auto";

struct DefaultPolicy {
  std::string_view policy;
  std::string_view why;  // "memory is limited"
};

// Where data have to be moved: horizon, which moves least. Where cores work beside accelerators: darts, which shares the
// tasks among both. Equal cores whose memory holds everything: lws, which takes least per task. bench/robustness.py default has what that costs beside the best policy of each
// instance. Under memory_rules a policy that leaves the choice of victims to them.
// A plan is followed by horizon.
// `machine`: null: the one that the options describe.
DefaultPolicy default_policy(const Options& options, const MachineDescription* machine);

}  // namespace vicinal::sched
