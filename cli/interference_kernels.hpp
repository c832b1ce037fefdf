// Kernels of the applications, to be run beside transfers.
#pragma once

#include <map>
#include <string>

#include "calibration/interference/kernels.hpp"

namespace vicinal::cli {

// "gemm", where there is BLAS, and "cg", its product of a matrix and a vector.
std::map<std::string, interference::PreparedKernel> kernels_of_applications();

}  // namespace vicinal::cli
