// What the system leaves to this process: memory and processors, by its control groups (version 1 and 2, the limits
// of a container), by what other processes use, and by what SLURM granted the step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "vicinal/units.hpp"

namespace vicinal::base {

// The files /proc and /sys below `root`: a test has its own. The environment is this process's.
class ProcessLimits {
 public:
  explicit ProcessLimits(std::string root = {}) : root_(std::move(root)) {}

  // Processors' worth of time, rounded up: the least quota of the control group and those around it, and
  // SLURM_CPUS_PER_TASK. None: there is no such limit.
  std::optional<std::uint32_t> processors() const;
  // What can be allocated before the system takes other memory back: the least of MemAvailable, of what each control
  // group leaves, and of SLURM_MEM_PER_NODE or SLURM_MEM_PER_CPU. None: the system does not tell.
  std::optional<Bytes> memory() const;

 private:
  std::string root_;
};

}  // namespace vicinal::base
