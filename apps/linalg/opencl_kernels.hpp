// The kernels of the dense applications on OpenCL devices: CLBlast. It has no factorisations: those stay on cores.
#pragma once

#include <string_view>

#include "vicinal/codelet.hpp"

namespace vicinal::linalg {

// For the name of codelets.hpp; none if there is none, or in a build without CLBlast.
template <typename T>
Kernel opencl_kernel(std::string_view name);

}  // namespace vicinal::linalg
