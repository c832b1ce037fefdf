// The ways that every TEST_P(Every, ...) of this folder runs.
#include "support/every_way.hpp"

#include <cctype>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sched/policy.hpp"
#include "support/tested.hpp"

namespace vicinal::testing {
namespace {

std::vector<Way> ways_of_the_library() {
  return {
    {"submitter alone", 1, true, 0, 0, "lws"}, {"one thread", 1, false, 0, 0, "eager"},
        {"three", 3, true, 0, 0, "lws"}, {"out of core", 2, true, 8, 0, "darts"},
        {"devices out of core", 2, false, 8, 2, "lws"},
        {"devices out of core, darts", 2, true, 8, 2, "darts"},
        {"CUDA", 1, true, 0, 3, "dmdas", "cuda"},
        {"CUDA out of core", 2, false, 8, 2, "darts", "cuda"},
#if VICINAL_HAVE_OPENCL
        {"OpenCL", 1, true, 0, 2, "lws", "opencl"},
        {"OpenCL out of core", 2, true, 8, 2, "dmda", "opencl"},
#endif
    {
      "devices", 1, true, 0, 2, "prio"
    }
  };
}

// Each policy in its turn, with the devices that are registered where there are some.
std::vector<Way> ways_of_an_extension() {
  std::vector<Way> ways;
  for (const sched::PolicyEntry& entry : tested_policies()) {
    const std::string policy(entry.name);
    ways.push_back({policy + " submitter alone", 1, true, 0, 0, policy});
    ways.push_back({policy + " three", 3, false, 0, 0, policy});
    ways.push_back({policy + " out of core", 2, true, 8, 0, policy});
    ways.push_back({policy + " devices", 1, true, 0, 2, policy});
    ways.push_back({policy + " devices out of core", 2, false, 8, 2, policy});
  }
  return ways;
}

std::vector<Way> ways() {
  const bool extended = devices_are_registered() || !sched::registered_policies().empty();
  return extended ? ways_of_an_extension() : ways_of_the_library();
}

INSTANTIATE_TEST_SUITE_P(Way, Every, ::testing::ValuesIn(ways()),
                         [](const ::testing::TestParamInfo<Way>& way) {
                           std::string name = way.param.name;
                           std::erase_if(name, [](char c) {
                             return c != '_' && std::isalnum(static_cast<unsigned char>(c)) == 0;
                           });
                           return name;
                         });

}  // namespace
}  // namespace vicinal::testing
