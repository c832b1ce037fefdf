// Short names of kinds of processors.
#pragma once

#include "vicinal/machine.hpp"

namespace vicinal::testing {

inline constexpr ProcessorKind kCpu = ProcessorKind::cpu;

}  // namespace vicinal::testing
