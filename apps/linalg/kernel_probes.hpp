// The tile kernels as probes for machine files.
#pragma once

#include <cstdint>
#include <vector>

#include "calibration/calibrate.hpp"

namespace vicinal::linalg {

// The kernels of all applications on whole tiles, in double and in float, for calibration::calibrate: as the
// tasks call them, on operands that lie as in the runtime's memory and are not in cache, as in a run on
// data that are larger than it.
std::vector<calibration::KernelSet> kernel_sets(std::uint64_t tile);

}  // namespace vicinal::linalg
