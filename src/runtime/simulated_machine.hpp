// What a description of a simulated machine must hold, before anything is built on it.
#pragma once

#include <span>

#include "vicinal/machine.hpp"

namespace vicinal::runtime {

// Throws UsageError that names the segment.
void require_sound(const SegmentDescription& segment);
// Gives it back; throws UsageError that names the part that cannot be. `shared`: the segments of the world that the
// machine will be in.
const MachineDescription& require_sound(const MachineDescription& machine,
                                        std::span<const SegmentDescription> shared);

}  // namespace vicinal::runtime
