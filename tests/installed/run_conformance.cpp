#include <cstdio>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/policy.hpp"
#include "support/cuda_library.hpp"
#include "support/tested.hpp"
#include "vicinal/conformance.hpp"

namespace vicinal {

// An installed package brings no CUDA for tests.
const testing::StandIn testing::kStandIn{};

int run_conformance(int argc, char** argv) {
  if (sched::registered_policies().empty() && !testing::devices_are_registered()) {
    std::fputs(
        "run_conformance: nothing is registered: call register_policy or register_device_kind "
        "before\n",
        stderr);
    return 2;
  }
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace vicinal
