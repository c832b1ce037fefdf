// What the tests of the public interface share, each promise of include/vicinal/runtime.hpp once: the
// ways to run that the results must not depend on.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/cuda_library.hpp"
#include "support/small_runs.hpp"
#include "support/temporary_folder.hpp"
#include "support/tested.hpp"
#include "support/watchdog.hpp"
#include "vicinal/runtime.hpp"

namespace vicinal::testing {

using Values = std::vector<std::int64_t>;

struct Way {
  std::string name;
  std::uint32_t workers;
  bool submitter_works;
  std::uint64_t pages;  // of RAM; 0: no limit and no disk
  std::uint32_t accelerators;
  std::string policy;
  const char* accelerator_api = "threads";
};
inline void PrintTo(const Way& way, std::ostream* out) {
  *out << way.name;
}

// One suite for all files: conformance/every_way.cpp instantiates it, once.
class Every : public ::testing::TestWithParam<Way> {
 protected:
  Options options() const {
    Options options = small_options(GetParam().workers);
    options.submitter_works = GetParam().submitter_works;
    use_accelerators(options, GetParam().accelerators, kPage * 8);
    options.accelerator_api = GetParam().accelerator_api;
    options.cuda_library = cuda_library();
    set_stand_in({.devices = 2});
    options.policy = GetParam().policy;
    if (GetParam().pages > 0) {
      options.memory = kPage * GetParam().pages;
      options.disk = folder_.path();
    }
    return options;
  }
  TemporaryFolder folder_{"runtime"};
  Watchdog watchdog_{::testing::UnitTest::GetInstance()->current_test_info()->name(), 20};
};

}  // namespace vicinal::testing
