// What MPI says of a call that has failed.
#pragma once

#include <stdexcept>
#include <string>

#include <mpi.h>

namespace vicinal::comm {

inline std::string describe_mpi(const char* call, int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  return std::string(call) + ": " +
         (length > 0 ? std::string(text, static_cast<std::size_t>(length))
                     : "error " + std::to_string(code));
}

inline void check_mpi(const char* call, int code) {
  if (code != MPI_SUCCESS) throw std::runtime_error(describe_mpi(call, code));
}

}  // namespace vicinal::comm
