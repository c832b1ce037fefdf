// What the links of emulated accelerators give: for machine files.
#pragma once

#include <cstdint>

#include "vicinal/units.hpp"

namespace vicinal::drivers {

struct LinkBandwidth {
  BytesPerSecond alone;     // one direction of one link
  BytesPerSecond together;  // all directions of all links at once, their sum
  Time latency;             // of a copy of one page, beyond its time
};

// Copies of 4 MiB between memory that no cache holds, through the copy engines of so many emulated
// accelerators, each at most at `bandwidth` (0: as fast as memory). Throws CapacityError.
LinkBandwidth measure_links(std::uint32_t accelerators, BytesPerSecond bandwidth);

}  // namespace vicinal::drivers
