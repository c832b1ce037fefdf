// What a description of a simulated machine must hold, before anything is built on it.
#pragma once

#include "vicinal/machine.hpp"

namespace vicinal::runtime {

// Gives it back; throws UsageError that names the part that cannot be.
const MachineDescription& require_sound(const MachineDescription& machine);

}  // namespace vicinal::runtime
