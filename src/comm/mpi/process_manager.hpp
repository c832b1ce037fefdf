// The process manager that has started this rank, spoken to without MPI.
#pragma once

namespace vicinal::comm {

// Tells it that the rank has ended as it should, so that the rank may exit without MPI_Finalize and the others go on. By
// the wire protocol PMI-1, which MPICH's launchers give a file descriptor for (PMI_FD). False: there is none, or it has
// not agreed in time.
bool tell_process_manager_of_the_end();

}  // namespace vicinal::comm
