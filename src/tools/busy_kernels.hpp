// Times kernels, or something beside them, while all workers are busy with kernels: shared caches,
// memory and clocks are what a run of the runtime finds.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "tools/calibrate.hpp"

namespace vicinal::tools {

// `threads` run each kernel at the same time, the i-th on processors[i] if there are so many. Throws
// what a kernel throws.
std::vector<MeasuredKernel> measure_busy(const KernelSet& set, std::uint32_t threads,
                                         std::span<const std::uint32_t> processors);

// Calls `what` while the threads run the last kernel of the set, and returns when it has returned. Throws
// what a thread threw, once `what` has ended, or what `what` threw.
void run_beside(const KernelSet& set, std::uint32_t threads,
                std::span<const std::uint32_t> processors, const std::function<void()>& what);

}  // namespace vicinal::tools
