// The tile kernels as probes for machine files.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "calibration/calibrate.hpp"

namespace vicinal::linalg {

// The kernels of all applications on whole tiles, in double and in float, for calibration::calibrate: as the
// tasks call them, on operands that lie as in the runtime's memory, in turn all over it: so they are in a cache only if
// all of it is. `memory`: the limit on it; none: more than caches hold.
std::vector<calibration::KernelSet> kernel_sets(std::uint64_t tile,
                                                std::optional<Bytes> memory = {});

}  // namespace vicinal::linalg
