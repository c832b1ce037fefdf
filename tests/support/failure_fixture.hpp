// What the tests of failures share: a folder for the disk, and a watchdog, for no failure may hang.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

class Failure : public ::testing::Test {
 protected:
  TemporaryFolder folder_{"failure"};
  Watchdog watchdog_{::testing::UnitTest::GetInstance()->current_test_info()->name(), 60};

  Options out_of_core(std::uint64_t pages) const {
    Options options = small_options();
    options.memory = kPage * pages;
    options.disk = folder_.path();
    return options;
  }
};

// A page each: "tile0", "tile1", ...
inline std::vector<Handle> empty_tiles(Runtime& runtime, int count) {
  std::vector<Handle> tiles;
  for (int i = 0; i < count; ++i) {
    tiles.push_back(runtime.register_empty(kPage, "tile" + std::to_string(i)));
  }
  return tiles;
}

}  // namespace vicinal::testing
