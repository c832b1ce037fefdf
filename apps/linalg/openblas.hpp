// Makes the serial OpenBLAS fit for tasks: safe to call from several workers, and with the kernels
// of the processor that is there.
#pragma once

#include <string>

namespace vicinal::linalg {

// To be called before the first BLAS call, and best before any thread is started (it may set the
// variable OPENBLAS_CORETYPE). Later calls do nothing. Throws UsageError if several workers cannot
// call this OpenBLAS safely.
void prepare_openblas();

// To be called by each thread before it calls OpenBLAS, which takes a work buffer for granted. Throws CapacityError if
// the system gives none.
void require_work_buffer();

// "OpenBLAS 0.3.21 SkylakeX"
std::string openblas_description();

}  // namespace vicinal::linalg
