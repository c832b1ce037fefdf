// Kernels that load memory, cores or neither, to be run beside a transfer.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "calibration/calibrate.hpp"
#include "calibration/interference/machine_facts.hpp"
#include "drivers/mapped_memory.hpp"

namespace vicinal::interference {

struct PreparedKernel {
  calibration::KernelSet set;  // of one kernel
  double bytes = 0;  // that a run moves, by the program: without what stores read before they write
};

struct KernelDemand {
  std::string_view name;  // see kernel_words
  std::uint32_t repeats = 1;
  std::uint32_t node = 0;  // of its data
  Bytes memory;            // of each thread
};

// None: there is no such kernel here.
std::optional<PreparedKernel> prepare_kernel(const KernelDemand& demand);
bool has_wide_vectors();
bool has_streaming_stores();

// Memory that lies on the node, resident; on whichever node the system gives if it refuses. Throws CapacityError.
drivers::MappedMemory memory_on(std::uint32_t node, Bytes bytes);

}  // namespace vicinal::interference
