// Whether a launcher has started this process beside others, whose MPI they speak, and the transport between them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/function_ref.hpp"
#include "comm/mpi_module.hpp"
#include "comm/transport.hpp"

namespace vicinal::comm {

enum class Mpi { none, openmpi, mpich };

struct Launch {
  Mpi mpi = Mpi::none;        // none: this process runs alone
  std::uint32_t rank = 0;     // as the launcher says; MPI has the last word
  std::uint32_t ranks = 0;    // likewise; 0: it does not say
  std::string launcher = {};  // for messages: "mpirun of Open MPI"; empty: none
  bool chosen = false;        // by the option mpi, not by the launcher
};

// A variable's value; null: not set.
using Environment = base::FunctionRef<const char*(const char*)>;

// `option` is the value of the option mpi: auto, openmpi, mpich or none. `linked`: the MPI that the program itself has.
// Throws UsageError for another value, and where a launcher has started several processes and none of the MPIs.
Launch find_launch(std::string_view option, Environment variable, Mpi linked);
// Of this process.
Launch find_launch(std::string_view option);

// How many ranks the launcher has started on this host; 1: it does not say.
std::uint32_t ranks_on_this_host(Environment variable);
// Of this process.
std::uint32_t ranks_on_this_host();

// Loads the module of `launch.mpi` (not none) and makes the transport, on the thread that will use and delete it. MPI is
// initialised there, once in a process. Throws UsageError: the module or MPI is missing, MPI cannot be used, or the
// launcher has started several processes and MPI knows of one.
std::unique_ptr<Transport> make_transport(const Launch& launch, const MpiSettings& settings = {});

}  // namespace vicinal::comm
