// The ways that every TEST_P(Every, ...) of this folder runs.
#include "support/every_way.hpp"

#include <cctype>
#include <string>

#include <gtest/gtest.h>

namespace vicinal::testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Way, Every,
    ::testing::Values(Way{"submitter alone", 1, true, 0, 0, "lws"},
                      Way{"one thread", 1, false, 0, 0, "eager"},
                      Way{"three", 3, true, 0, 0, "lws"},
                      Way{"out of core", 2, true, 8, 0, "darts"},
                      Way{"devices out of core", 2, false, 8, 2, "lws"},
                      Way{"devices out of core, darts", 2, true, 8, 2, "darts"},
                      Way{"CUDA", 1, true, 0, 3, "dmdas", "cuda"},
                      Way{"CUDA out of core", 2, false, 8, 2, "darts", "cuda"},
#if VICINAL_HAVE_OPENCL
                      Way{"OpenCL", 1, true, 0, 2, "lws", "opencl"},
                      Way{"OpenCL out of core", 2, true, 8, 2, "dmda", "opencl"},
#endif
                      Way{"devices", 1, true, 0, 2, "prio"}),
    [](const ::testing::TestParamInfo<Way>& way) {
      std::string name = way.param.name;
      std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
      return name;
    });

}  // namespace
}  // namespace vicinal::testing
