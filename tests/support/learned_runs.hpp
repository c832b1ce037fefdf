// Run times of a codelet "f" on cores, for a model to learn.
#pragma once

#include <cstdint>

#include "machine/performance_model.hpp"
#include "support/processor_kinds.hpp"

namespace vicinal::testing {

inline machine::Footprint footprint(std::uint64_t bytes, AccessMode mode = AccessMode::RW) {
  machine::Footprint result;
  result.add(Bytes{bytes}, mode);
  return result;
}

inline void add(machine::PerformanceModel& model, std::uint64_t bytes, std::int64_t ns,
                int times = 1) {
  const Time run{ns};
  for (int i = 0; i < times; ++i) model.add("f", kCpu, footprint(bytes), {&run, 1});
}

}  // namespace vicinal::testing
