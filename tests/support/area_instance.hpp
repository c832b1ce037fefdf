// Random tasks and workers for tests of the area bound.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "bounds/area.hpp"

namespace vicinal::testing {

struct AreaInstance {
  std::vector<bounds::TaskType> types;
  bounds::WorkersPerKind workers{};
};

// Durations from 10 us to 1 s, some kinds missing, workers of the first `kinds` kinds.
inline AreaInstance random_area_instance(base::Random& random, std::size_t kinds,
                                         std::size_t most_types) {
  AreaInstance instance;
  for (std::size_t w = 0; w < kinds; ++w) {
    instance.workers[w] = 1 + static_cast<std::uint32_t>(random.below(8));
  }
  const std::size_t types = 1 + random.below(most_types);
  for (std::size_t t = 0; t < types; ++t) {
    bounds::TaskType type{.count = 1 + random.below(10'000)};
    for (std::size_t w = 0; w < kinds; ++w) {
      const double decades = static_cast<double>(random.below(5000)) / 1000;
      type.seconds[w] = random.below(5) == 0 ? 0 : 1e-5 * std::pow(10, decades);
    }
    instance.types.push_back(type);
  }
  return instance;
}

}  // namespace vicinal::testing
