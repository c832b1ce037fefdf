// The tile kernels as probes for machine files.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/calibrate.hpp"

namespace vicinal::linalg {

// The tile kernels in double and in float, for tools::calibrate. What they read is not in cache, as in
// a factorisation that is larger than it.
std::vector<tools::KernelSet> kernel_sets(std::uint64_t tile);

}  // namespace vicinal::linalg
