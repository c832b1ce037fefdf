// What a module for an MPI gives to the library: see comm/mpi_module.hpp.
#include <cstring>
#include <exception>
#include <type_traits>

#include "comm/mpi/mpi_transport.hpp"
#include "comm/mpi_module.hpp"

extern "C" __attribute__((visibility("default"))) vicinal::comm::Transport*
vicinal_make_mpi_transport_1(const vicinal::comm::MpiSettings& settings, char* why,
                             std::size_t room) {
  static_assert(
      std::is_same_v<decltype(&vicinal_make_mpi_transport_1), vicinal::comm::MakeMpiTransport*>);
  try {
    return new vicinal::comm::MpiTransport(settings);
  } catch (const std::exception& error) {
    std::strncpy(why, error.what(), room - 1);
    why[room - 1] = '\0';
    return nullptr;
  }
}
