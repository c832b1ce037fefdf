// The errors of matrices that cannot be factorised.
#pragma once

#include "linalg/kernel_operands.hpp"

namespace vicinal::linalg {

// Throw TaskError, naming tile and row, unless `minor` is 0: the order of the first leading minor of the tile that
// is not positive (potrf), or is singular (getrf), as LAPACK tells it.
void require_potrf(const TaskIndex& task, int minor);
void require_getrf(const TaskIndex& task, int minor);

}  // namespace vicinal::linalg
