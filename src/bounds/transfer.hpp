// How fast bytes can cross from one part of a machine to another.
#pragma once

#include <cstddef>
#include <span>

#include "vicinal/machine.hpp"
#include "vicinal/units.hpp"

namespace vicinal::bounds {

// What the links numbered in `links` carry together, at most: each its own bandwidth, those that pass
// a segment no more than the segment, whichever direction they go, and two that are serialised no
// more than the faster one. 0 if there is no limit, or none is known.
//
// Every link is counted once, alone or in one group; which groups are used is chosen greedily, so the
// result may be more than the truth, never less: bytes / joint_bandwidth is a lower bound on time.
BytesPerSecond joint_bandwidth(const MachineDescription& machine,
                               std::span<const std::size_t> links);

}  // namespace vicinal::bounds
