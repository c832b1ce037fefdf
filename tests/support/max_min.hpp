// Max-min fair rates as the textbook has them: what tests hold the library's beside.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/fair_rates.hpp"

namespace vicinal::testing {

struct DrawingFlow {
  std::vector<sim::Demand> demands;
  double most = sim::kNever;
  bool active = false;
};

// Progressive filling as the textbook has it (Bertsekas and Gallager 1992, section 6.5.2): all rates grow alike until a
// resource or a flow can take no more. -1: the flow is not active.
inline std::vector<double> max_min_rates(const std::vector<double>& capacities,
                                         const std::vector<DrawingFlow>& flows) {
  std::vector<double> rates(flows.size(), -1);
  const auto is_open = [&](std::size_t f) { return flows[f].active && rates[f] < 0; };
  for (;;) {
    std::vector<double> left = capacities;
    std::vector<double> weights(capacities.size(), 0);
    double level = sim::kNever;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (!flows[f].active) continue;
      for (const sim::Demand& demand : flows[f].demands) {
        if (is_open(f)) {
          weights[demand.resource] += demand.weight;
        } else {
          left[demand.resource] -= demand.weight * rates[f];
        }
      }
      if (is_open(f)) level = std::min(level, flows[f].most);
    }
    std::vector<double> shares(capacities.size(), sim::kNever);
    for (std::size_t r = 0; r < shares.size(); ++r) {
      if (weights[r] > 0) shares[r] = std::max(0.0, left[r]) / weights[r];
      level = std::min(level, shares[r]);
    }
    bool any = false;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (!is_open(f)) continue;
      any = true;
      const auto full = [&](const sim::Demand& demand) {
        return shares[demand.resource] <= level * (1 + 1e-13);
      };
      if (flows[f].most <= level || std::ranges::any_of(flows[f].demands, full)) rates[f] = level;
    }
    if (!any) return rates;
  }
}

}  // namespace vicinal::testing
