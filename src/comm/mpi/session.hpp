// MPI in this process: initialised by us or by the application, and its own communicator for a transport.
#pragma once

#include <mpi.h>

namespace vicinal::comm {

class Session {
 public:
  // Initialises MPI if nobody has, and waits for all ranks to do the same. Throws std::runtime_error, which names the
  // remedy.
  Session();
  // Leaves MPI as it is unless `end` was called.
  ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  MPI_Comm communicator() const { return communicator_; }
  // Whether MPI can still be called: the application may have ended its own.
  static bool alive();
  // Ends what the constructor has begun. Waits for all ranks to do the same.
  void end();

 private:
  MPI_Comm communicator_ = MPI_COMM_NULL;
  bool ours_ = false;
};

}  // namespace vicinal::comm
