// Runs of a sweep that differ in their seeds alone.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/sweep.hpp"

namespace vicinal::reports {

struct SweepGroup {
  std::vector<std::size_t> at;
  std::string policy;
  std::size_t asked = 0;                     // runs that there are to be
  std::vector<SweepMeasures> measures = {};  // of those that have ended well

  // There is one at least.
  Quartiles of(double SweepMeasures::*measure) const;
};
// In the order of their first runs.
std::vector<SweepGroup> sweep_groups(const Sweep& sweep);

// "512 MiB", "4".
std::string axis_value(const SweepAxis& axis, std::size_t place);

}  // namespace vicinal::reports
