// Times kernels while all workers are busy with them: shared caches, memory and clocks are what a run
// of the runtime finds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tools/calibrate.hpp"

namespace vicinal::tools {

// `threads` run each kernel at the same time, the i-th on processors[i] if there are so many. Throws
// what a kernel throws.
std::vector<MeasuredKernel> measure_busy(const KernelSet& set, std::uint32_t threads,
                                         std::span<const std::uint32_t> processors);

}  // namespace vicinal::tools
