// What a description of a simulated machine must hold, before anything is built on it, and a task, before it is submitted.
#pragma once

#include <span>

#include "graph/task.hpp"
#include "vicinal/machine.hpp"

namespace vicinal::runtime {

// Throws UsageError that names the segment.
void require_sound(const SegmentDescription& segment);
// Gives it back; throws UsageError that names the part that cannot be. `shared`: the segments of the world that the
// machine will be in.
const MachineDescription& require_sound(const MachineDescription& machine,
                                        std::span<const SegmentDescription> shared);

// Seconds that a byte takes at most on all segments together on which kernels draw; 0: kernels draw on none.
double seconds_per_byte(const MachineDescription& machine);
// What a task takes at most beside others that draw on the same segments. Throws UsageError that names the codelet if it
// demands what cannot be.
Time longest_time(const graph::Task& task, double seconds_per_byte);

}  // namespace vicinal::runtime
