// The library that stands in for CUDA, for programs of tests that bring it.
#include "support/cuda_library.hpp"

namespace vicinal::testing {

const StandIn kStandIn{VICINAL_CUDA_STAND_IN, vicinal_stand_in_set, vicinal_stand_in_left};

}  // namespace vicinal::testing
