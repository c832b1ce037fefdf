#include "comm/mpi/session.hpp"

#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <string_view>

#include "comm/mpi/mpi_error.hpp"
#include "comm/mpi/process_manager.hpp"

namespace vicinal::comm {

namespace {

// Whether MPI is in this process by us: it is initialised once, and by another thread it cannot be used.
std::atomic<bool> initialised_by_us{false};
std::atomic<bool> ended_by_us{false};

std::string level_name(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    case MPI_THREAD_SERIALIZED:
      return "MPI_THREAD_SERIALIZED";
    default:
      return "MPI_THREAD_MULTIPLE";
  }
}

// The application calls MPI from its own threads while this one does.
void check_level() {
  int level = MPI_THREAD_SINGLE;
  int here = 0;
  MPI_Query_thread(&level);
  MPI_Is_thread_main(&here);
  if (level == MPI_THREAD_MULTIPLE || here != 0) return;
  throw std::runtime_error("the application has initialised MPI with " + level_name(level) +
                           ", and another thread sends its data; ask MPI_Init_thread for "
                           "MPI_THREAD_MULTIPLE, or leave MPI to the library");
}

// MPI_Finalize of MPICH over UCX closes the rank's connections and then waits in the barrier of the process manager, where
// nothing is received. A rank that is still closing its own, over TCP, waits for ever: 65 of 140 runs of a program of
// barriers alone on four ranks (MPICH 4.0.2, UCX 1.13).
bool may_wait_for_ever() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  if (MPI_Get_library_version(version.data(), &length) != MPI_SUCCESS) return false;
  const std::string_view text(version.data());
  return text.find("MPICH") != text.npos && text.find("ucx") != text.npos;
}

}  // namespace

Session::Session() {
  int is = 0;
  MPI_Finalized(&is);
  if (is != 0 || ended_by_us.load()) {
    throw std::runtime_error(
        "MPI has ended in this process, and cannot begin again; keep one runtime over several "
        "ranks until the program ends, or initialise MPI in the program, with "
        "MPI_THREAD_MULTIPLE");
  }
  MPI_Initialized(&is);
  if (is != 0) {
    if (initialised_by_us.load()) {
      throw std::runtime_error(
          "this process has a runtime over several ranks already; end it first, or initialise MPI "
          "in the program, with MPI_THREAD_MULTIPLE");
    }
    check_level();
  } else {
    int level = MPI_THREAD_SINGLE;
    check_mpi("MPI_Init_thread", MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level));
    ours_ = true;
    initialised_by_us.store(true);
    if (level < MPI_THREAD_FUNNELED) {
      throw std::runtime_error(
          "this MPI knows no threads; install one that has "
          "MPI_THREAD_FUNNELED");
    }
    // Of calls that belong to no other communicator, those of types among them.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  check_mpi("MPI_Comm_dup", MPI_Comm_dup(MPI_COMM_WORLD, &communicator_));
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
}

bool Session::alive() {
  int ended = 0;
  MPI_Finalized(&ended);
  return ended == 0 && !ended_by_us.load();
}

void Session::end() {
  MPI_Comm_free(&communicator_);
  if (!ours_) return;
  ended_by_us.store(true);
  // All ranks are here: nothing is lost where MPI is left as it is.
  if (may_wait_for_ever() && tell_process_manager_of_the_end()) return;
  MPI_Finalize();
}

}  // namespace vicinal::comm
