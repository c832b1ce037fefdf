// What tests of the applications of apps/linalg need.
#pragma once

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "linalg/tile_grid.hpp"
#include "support/policy_names.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

// As the runtime pads a replica.
inline Bytes padded(Bytes bytes) {
  return {(bytes.value + 4095) / 4096 * 4096};
}

inline Options with_policy(const std::string& policy) {
  Options options;
  options.workers = 2;
  options.bind = false;
  options.models = "none";  // of the user who runs the tests
  options.policy = policy;
  return options;
}

inline std::string precision_name(const ::testing::TestParamInfo<linalg::Precision>& test) {
  return std::string(to_string(test.param));
}

inline void expect_within_limit(const Runtime& runtime) {
  const Statistics statistics = runtime.statistics();
  for (std::size_t n = 0; n < statistics.nodes.size(); ++n) {
    if (const auto limit = runtime.machine().nodes[n].limit) {
      EXPECT_LE(statistics.nodes[n].peak, *limit) << runtime.machine().nodes[n].name;
    }
  }
}

// Adds `by` to every element of a tile.
inline void change_elements(Runtime& runtime, Handle tile, linalg::Precision precision, double by) {
  const Acquired held = runtime.acquire(tile, AccessMode::RW);
  const Layout& layout = held.view().layout;
  for (std::uint64_t c = 0; c < layout.columns; ++c) {
    for (std::uint64_t r = 0; r < layout.rows(); ++r) {
      const std::uint64_t at = r + c * layout.leading_dimension();
      if (precision == linalg::Precision::f32) {
        held.data<float>()[at] += static_cast<float>(by);
      } else {
        held.data<double>()[at] += by;
      }
    }
  }
}

}  // namespace vicinal::testing
