// The kernels of the dense applications on CUDA devices: cuBLAS, and cuSOLVER for the tiles on the diagonal.
#pragma once

#include <string_view>

#include "vicinal/codelet.hpp"

namespace vicinal::linalg {

// For the name of codelets.hpp; none if there is none.
template <typename T>
Kernel cuda_kernel(std::string_view name);

}  // namespace vicinal::linalg
